//! Converting ROS 1 to CDR.

use logtool_core::ByteReader;

use crate::transcode::{
    CDR_LE, max_output_bytes,
    program::{LOG_LEVELS, Program, Repetition, Step},
};

/// The state of a conversion.
struct ToCdr<'w> {
    program: &'w Program,
    input: ByteReader<'w>,
    out: &'w mut Vec<u8>,
    /// The position of the first field in `out`.
    start: usize,
    /// The maximum length of `out`.
    limit: usize,
    /// The number of times that ROS 2 cannot represent.
    times_after_2038: u64,
}

/// Appends `payload` as CDR to `out`. Returns the number of times that ROS 2 cannot represent, or
/// `None` if `payload` does not match `program` up to its last byte; then a part of the message may
/// be appended.
pub(super) fn run(program: &Program, payload: &[u8], out: &mut Vec<u8>) -> Option<u64> {
    let limit = out.len().saturating_add(max_output_bytes(payload.len()));
    out.extend_from_slice(&CDR_LE);
    let start = out.len();
    let input = ByteReader::new(payload);
    let mut conversion =
        ToCdr { program, input, out, start, limit, times_after_2038: 0 };
    conversion.run_steps(0, program.steps.len())?;
    conversion.input.remaining().is_empty().then_some(conversion.times_after_2038)
}

impl ToCdr<'_> {
    /// Executes the steps `index..end`. Repetitions are nested as deep as the layout: at most 64
    /// levels.
    fn run_steps(&mut self, mut index: usize, end: usize) -> Option<()> {
        while index < end {
            let step = *self.program.steps.get(index)?;
            index += 1;
            match step {
                Step::Numbers { size, count } => self.numbers(size, count)?,
                Step::NumberList { size } => {
                    let count = self.input.u32()?;
                    self.u32(count);
                    self.numbers(size, count)?;
                }
                Step::Time { is_signed } => self.time(is_signed)?,
                Step::Text => self.text()?,
                Step::Seq => drop(self.input.u32()?),
                Step::Dummy => {
                    // This step does not consume input, so the output is limited.
                    (self.out.len() < self.limit).then_some(())?;
                    self.out.push(0);
                }
                Step::AddedText => {
                    self.u32(1);
                    self.out.push(0);
                }
                Step::AddedNumbers(count) => (0..count).for_each(|_| self.u32(0)),
                Step::AddedList { .. } => self.u32(0),
                Step::AbsentText => self.skip_text()?,
                Step::AbsentTexts => {
                    for _ in 0..self.input.u32()? {
                        self.skip_text()?;
                    }
                }
                Step::LogLevel => {
                    let level = self.input.u8()?;
                    let ros2_level = LOG_LEVELS.iter().find(|(ros1, _)| *ros1 == level);
                    self.out.push(ros2_level.map_or(level, |(_, ros2)| *ros2));
                }
                Step::Repeat { times, end } => {
                    let count = match times {
                        Repetition::Fixed(count) => count,
                        Repetition::Listed => {
                            let count = self.input.u32()?;
                            self.u32(count);
                            count
                        }
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

    fn numbers(&mut self, size: u32, count: u32) -> Option<()> {
        let len = usize::try_from(u64::from(size) * u64::from(count)).ok()?;
        let bytes = self.input.bytes(len)?;
        if count > 0 {
            self.align(size as usize);
            self.out.extend_from_slice(bytes);
        }
        Some(())
    }

    /// Converts a time. In ROS 2, seconds are signed, and nanoseconds are less than a second, so
    /// other times of ROS 1 are normalized. The bits of times that ROS 2 cannot represent are
    /// copied.
    fn time(&mut self, is_signed: bool) -> Option<()> {
        const SECOND: i64 = 1_000_000_000;
        let (secs, nanos) = (self.input.u32()?, self.input.u32()?);
        let number = |bits: u32| {
            if is_signed { i64::from(bits.cast_signed()) } else { i64::from(bits) }
        };
        let total_nanos = number(secs) * SECOND + number(nanos);
        match i32::try_from(total_nanos.div_euclid(SECOND)) {
            Ok(whole_secs) => {
                self.u32(whole_secs.cast_unsigned());
                self.u32(total_nanos.rem_euclid(SECOND) as u32);
            }
            Err(_) => {
                self.times_after_2038 += 1;
                self.u32(secs);
                self.u32(nanos);
            }
        }
        Some(())
    }

    fn skip_text(&mut self) -> Option<()> {
        let len = self.input.u32()?;
        self.input.bytes(usize::try_from(len).ok()?).map(drop)
    }

    fn text(&mut self) -> Option<()> {
        let len = self.input.u32()?;
        let bytes = self.input.bytes(usize::try_from(len).ok()?)?;
        self.u32(len.checked_add(1)?);
        self.out.extend_from_slice(bytes);
        self.out.push(0);
        Some(())
    }

    fn u32(&mut self, value: u32) {
        self.align(4);
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends zeros, so that a number of `size` bytes can follow.
    fn align(&mut self, size: usize) {
        let len = (self.out.len() - self.start).next_multiple_of(size);
        self.out.resize(self.start + len, 0);
    }
}
