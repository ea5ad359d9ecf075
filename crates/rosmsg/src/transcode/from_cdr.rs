//! Converting CDR to the encoding of ROS 1.

use crate::{
    field_reader::{Encoding, FieldReader},
    transcode::{
        CdrRemainder, max_output_bytes,
        program::{LOG_LEVELS, Program, Repetition, Step},
    },
};

/// The state of a conversion.
struct FromCdr<'r> {
    program: &'r Program,
    reader: FieldReader<'r>,
    out: &'r mut Vec<u8>,
    /// The maximum length of `out`.
    limit: usize,
    /// The number of times that ROS 1 cannot represent.
    unrepresentable_times: u64,
    /// The number of bytes in dropped fields, which exist in CDR only.
    dropped_bytes: usize,
}

/// Appends the message in `payload`, in CDR, to `out`. Returns `None` if `payload` does not match
/// `program`; then a part of the message may be appended.
pub(super) fn run(
    program: &Program,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Option<CdrRemainder> {
    let limit = out.len().saturating_add(max_output_bytes(payload.len()));
    let reader = FieldReader::new(payload, Encoding::Cdr)?;
    let mut conversion = FromCdr {
        program,
        reader,
        out,
        limit,
        unrepresentable_times: 0,
        dropped_bytes: 0,
    };
    conversion.run_steps(0, program.steps.len())?;
    let FromCdr { reader, unrepresentable_times, dropped_bytes, .. } = conversion;
    let extra_bytes = reader.extra_bytes().saturating_add(dropped_bytes);
    Some(CdrRemainder { unrepresentable_times, extra_bytes })
}

impl FromCdr<'_> {
    /// Executes the steps `index..end`. Repetitions are nested as deep as the layout: at most 64
    /// levels.
    fn run_steps(&mut self, mut index: usize, end: usize) -> Option<()> {
        while index < end {
            let step = *self.program.steps.get(index)?;
            index += 1;
            match step {
                Step::Numbers { size, count } => self.numbers(size, count)?,
                Step::NumberList { size } => {
                    let count = self.count()?;
                    self.numbers(size, count)?;
                }
                Step::Time { is_signed } => self.time(is_signed)?,
                Step::Text => self.text()?,
                Step::LogLevel => {
                    let level = self.reader.u8()?;
                    let ros1_level = LOG_LEVELS.iter().find(|(_, ros2)| *ros2 == level);
                    self.out.push(ros1_level.map_or(level, |(ros1, _)| *ros1));
                }
                Step::Seq | Step::AbsentText | Step::AbsentTexts => {
                    // These steps do not consume input, so the output is limited.
                    (self.out.len() < self.limit).then_some(())?;
                    self.out.extend_from_slice(&[0; 4]);
                }
                Step::AddedText => self.dropped_bytes += self.reader.text()?.len(),
                Step::AddedNumbers(count) => {
                    for _ in 0..count {
                        let is_empty = self.reader.u32()? == 0;
                        self.dropped_bytes += if is_empty { 0 } else { 4 };
                    }
                }
                Step::AddedList { size, numbers } => {
                    let are_elements_numbers = numbers == 1;
                    let count = if are_elements_numbers {
                        self.reader.u32()?
                    } else {
                        self.reader.count()?
                    };
                    let (size, numbers) = (size as usize, numbers as usize);
                    let len =
                        usize::try_from(count).ok()?.checked_mul(size * numbers)?;
                    if len > 0 {
                        self.reader.take(size, len)?;
                        self.dropped_bytes += len;
                    }
                }
                Step::Dummy => drop(self.reader.u8()?),
                Step::Repeat { times, end } => {
                    self.reader.skip_length()?;
                    let count = match times {
                        Repetition::Fixed(count) => count,
                        Repetition::Listed => self.count()?,
                    };
                    // Each repetition consumes or produces a byte, so that their number is limited.
                    if index < end {
                        for _ in 0..count {
                            self.run_steps(index, end)?;
                        }
                    }
                    index = end;
                }
            }
        }
        Some(())
    }

    /// Copies a time. In ROS 1, the seconds of a time are unsigned, and the nanoseconds of a
    /// duration are signed, so that a number with the highest bit set has another meaning.
    fn time(&mut self, is_signed: bool) -> Option<()> {
        let (secs, nanos) = (self.reader.u32()?, self.reader.u32()?);
        let reinterpreted = if is_signed { nanos } else { secs };
        self.unrepresentable_times += u64::from(reinterpreted.cast_signed() < 0);
        self.out.extend_from_slice(&secs.to_le_bytes());
        self.out.extend_from_slice(&nanos.to_le_bytes());
        Some(())
    }

    fn numbers(&mut self, size: u32, count: u32) -> Option<()> {
        if count == 0 {
            return Some(());
        }
        let size = size as usize;
        let bytes =
            self.reader.take(size, size.checked_mul(usize::try_from(count).ok()?)?)?;
        if self.reader.is_big() && size > 1 {
            for number in bytes.chunks_exact(size) {
                self.out.extend(number.iter().rev());
            }
        } else {
            self.out.extend_from_slice(bytes);
        }
        Some(())
    }

    fn text(&mut self) -> Option<()> {
        let text = self.reader.text()?;
        self.out.extend_from_slice(&u32::try_from(text.len()).ok()?.to_le_bytes());
        self.out.extend_from_slice(text);
        Some(())
    }

    /// Copies the number of elements of a list, and returns it.
    fn count(&mut self) -> Option<u32> {
        let count = self.reader.u32()?;
        self.out.extend_from_slice(&count.to_le_bytes());
        Some(count)
    }
}
