//! Converting CDR to the layout.

use crate::{
    field_reader::{Encoding, FieldReader},
    transcode::{
        CdrRemainder, most_bytes,
        program::{LOG_LEVELS, Op, Program, Repetition},
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
    times_out_of_range: u64,
    /// The number of bytes in fields that exist in CDR only.
    left_out: usize,
}

/// Appends the message in `payload`, in CDR, to `out`. Returns `None` if `payload` does not match
/// the fields of `program`.
pub(super) fn run(
    program: &Program,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Option<CdrRemainder> {
    let limit = out.len().saturating_add(most_bytes(payload.len()));
    let reader = FieldReader::new(payload, Encoding::Cdr)?;
    let mut conversion =
        FromCdr { program, reader, out, limit, times_out_of_range: 0, left_out: 0 };
    conversion.steps(0, program.ops.len())?;
    let extra_bytes =
        conversion.reader.extra_bytes().saturating_add(conversion.left_out);
    Some(CdrRemainder {
        unrepresentable_times: conversion.times_out_of_range,
        extra_bytes,
    })
}

impl FromCdr<'_> {
    /// Executes the steps `at..end`, which are nested as deep as the layout.
    fn steps(&mut self, mut at: usize, end: usize) -> Option<()> {
        while at < end {
            let op = *self.program.ops.get(at)?;
            at += 1;
            match op {
                Op::Numbers { size, count } => self.numbers(size, count)?,
                Op::NumberList { size } => {
                    let count = self.count()?;
                    self.numbers(size, count)?;
                }
                Op::Time { is_signed } => self.time(is_signed)?,
                Op::Text => self.text()?,
                Op::LogLevel => {
                    let level = self.reader.u8()?;
                    let level_of_log =
                        LOG_LEVELS.iter().find(|(_, ros2)| *ros2 == level);
                    self.out.push(level_of_log.map_or(level, |(ros1, _)| *ros1));
                }
                Op::Seq | Op::AbsentText | Op::AbsentTexts => {
                    (self.out.len() < self.limit).then_some(())?;
                    self.out.extend_from_slice(&[0; 4]);
                }
                Op::AddedText => self.left_out += self.reader.text()?.len(),
                Op::AddedNumbers(count) => {
                    for _ in 0..count {
                        let is_empty = self.reader.u32()? == 0;
                        self.left_out += if is_empty { 0 } else { 4 };
                    }
                }
                Op::AddedList { size, numbers } => {
                    let is_of_numbers = numbers == 1;
                    let count = match is_of_numbers {
                        true => self.reader.u32()?,
                        false => self.reader.count()?,
                    };
                    let (size, numbers) = (size as usize, numbers as usize);
                    let len =
                        usize::try_from(count).ok()?.checked_mul(size * numbers)?;
                    if len > 0 {
                        self.reader.take(size, len)?;
                        self.left_out += len;
                    }
                }
                Op::Dummy => drop(self.reader.u8()?),
                Op::Repeat { times, end } => {
                    self.reader.length()?;
                    let count = match times {
                        Repetition::Fixed(count) => count,
                        Repetition::Listed => self.count()?,
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

    /// In ROS 1, times are unsigned, and the nanoseconds of durations are signed: a number with the
    /// highest bit set has another meaning. Its bits are kept.
    fn time(&mut self, is_signed: bool) -> Option<()> {
        let (secs, nanos) = (self.reader.u32()?, self.reader.u32()?);
        let changes = if is_signed { nanos } else { secs };
        self.times_out_of_range += u64::from(changes.cast_signed() < 0);
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

    /// Reads the number of elements of a list, and writes it.
    fn count(&mut self) -> Option<u32> {
        let count = self.reader.u32()?;
        self.out.extend_from_slice(&count.to_le_bytes());
        Some(count)
    }
}
