//! Converting ROS 1 to CDR.

use logtool_core::ByteReader;

use crate::transcode::{
    CDR_LE, most_bytes,
    program::{LOG_LEVELS, Op, Program, Repetition},
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
    times_out_of_range: u64,
}

/// Appends `payload` as CDR to `out`, if it matches `program` to its last byte. Returns the number
/// of times that ROS 2 cannot represent.
pub(super) fn run(program: &Program, payload: &[u8], out: &mut Vec<u8>) -> Option<u64> {
    let limit = out.len().saturating_add(most_bytes(payload.len()));
    out.extend_from_slice(&CDR_LE);
    let start = out.len();
    let input = ByteReader::new(payload);
    let mut conversion =
        ToCdr { program, input, out, start, limit, times_out_of_range: 0 };
    conversion.steps(0, program.ops.len())?;
    conversion.input.remaining().is_empty().then_some(conversion.times_out_of_range)
}

impl ToCdr<'_> {
    /// Executes the steps `at..end`, which are nested as deep as the layout.
    fn steps(&mut self, mut at: usize, end: usize) -> Option<()> {
        while at < end {
            let op = *self.program.ops.get(at)?;
            at += 1;
            match op {
                Op::Numbers { size, count } => self.numbers(size, count)?,
                Op::NumberList { size } => {
                    let count = self.input.u32()?;
                    self.u32(count);
                    self.numbers(size, count)?;
                }
                Op::Time { is_signed } => self.time(is_signed)?,
                Op::Text => self.text()?,
                Op::Seq => drop(self.input.u32()?),
                Op::Dummy => {
                    (self.out.len() < self.limit).then_some(())?;
                    self.out.push(0);
                }
                Op::AddedText => {
                    self.u32(1);
                    self.out.push(0);
                }
                Op::AddedNumbers(count) => (0..count).for_each(|_| self.u32(0)),
                Op::AddedList { .. } => self.u32(0),
                Op::AbsentText => self.skip_text()?,
                Op::AbsentTexts => {
                    let count = self.input.u32()?;
                    (0..count).try_for_each(|_| self.skip_text().ok_or(())).ok()?;
                }
                Op::LogLevel => {
                    let level = self.input.u8()?;
                    let level_of_log =
                        LOG_LEVELS.iter().find(|(ros1, _)| *ros1 == level);
                    self.out.push(level_of_log.map_or(level, |(_, ros2)| *ros2));
                }
                Op::Repeat { times, end } => {
                    let count = match times {
                        Repetition::Fixed(count) => count,
                        Repetition::Listed => {
                            let count = self.input.u32()?;
                            self.u32(count);
                            count
                        }
                    };
                    // Every round consumes or produces a byte, and stops at the end.
                    if at < end {
                        (0..count)
                            .try_for_each(|_| self.steps(at, end).ok_or(()))
                            .ok()?;
                    }
                    at = end;
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

    /// In ROS 2, seconds are signed, and nanoseconds are less than a second: other times of ROS 1
    /// are normalized. Times that are out of range keep their bits.
    fn time(&mut self, is_signed: bool) -> Option<()> {
        const SECOND: i64 = 1_000_000_000;
        let (secs, nanos) = (self.input.u32()?, self.input.u32()?);
        let number = |bits: u32| match is_signed {
            true => i64::from(bits.cast_signed()),
            false => i64::from(bits),
        };
        let nanos_sum = number(secs) * SECOND + number(nanos);
        let part = nanos_sum.rem_euclid(SECOND) as u32;
        match i32::try_from(nanos_sum.div_euclid(SECOND)) {
            Ok(whole) => {
                self.u32(whole.cast_unsigned());
                self.u32(part);
            }
            Err(_) => {
                self.times_out_of_range += 1;
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

    fn align(&mut self, size: usize) {
        let len = (self.out.len() - self.start).next_multiple_of(size);
        self.out.resize(self.start + len, 0);
    }
}
