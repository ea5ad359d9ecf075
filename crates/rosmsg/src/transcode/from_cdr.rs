//! From CDR to the layout.

use crate::transcode::{
    HEAD_LEN, most_bytes,
    program::{Op, Program, Times},
};

/// As many bytes more than its fields a message has less than.
const FILLING: usize = 8;

/// A message on its way.
struct Reading<'r> {
    program: &'r Program,
    /// The fields.
    bytes: &'r [u8],
    at: usize,
    is_big_endian: bool,
    /// Numbers are aligned to their size, and to no more than this.
    most_aligned: usize,
    /// Whether the length of lists and arrays whose elements are no numbers is told.
    has_lengths: bool,
    out: &'r mut Vec<u8>,
    /// As long as `out` may become.
    limit: usize,
}

/// Adds to `out` what `payload` is in CDR, if it is what `program` says.
pub(super) fn run(program: &Program, payload: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let limit = out.len().saturating_add(most_bytes(payload.len()));
    let (head, bytes) = payload.split_at_checked(HEAD_LEN)?;
    // DDS-XTypes 1.3, table 59: CDR_BE, CDR_LE, CDR2_BE, CDR2_LE. What follows are
    // options.
    let (is_big_endian, is_version_2) = match head.first_chunk()? {
        [0, 0] => (true, false),
        [0, 1] => (false, false),
        [0, 6] => (true, true),
        [0, 7] => (false, true),
        _ => return None,
    };
    let most_aligned = if is_version_2 { 4 } else { 8 };
    let has_lengths = is_version_2;
    let mut reading = Reading {
        program,
        bytes,
        at: 0,
        is_big_endian,
        most_aligned,
        has_lengths,
        out,
        limit,
    };
    reading.steps(0, program.ops.len())?;
    (bytes.len() - reading.at < FILLING).then_some(())
}

impl<'r> Reading<'r> {
    /// Takes the steps `at..end`; they are as deep in each other as the layout is.
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
                Op::Text => self.text()?,
                Op::Seq => {
                    (self.out.len() < self.limit).then_some(())?;
                    self.out.extend_from_slice(&[0; 4]);
                }
                Op::Dummy => drop(self.take(1, 1)?),
                Op::Repeat { times, end } => {
                    if self.has_lengths {
                        self.u32()?;
                    }
                    let count = match times {
                        Times::Fixed(count) => count,
                        Times::Listed => self.count()?,
                    };
                    // Every round takes or gives a byte, and ends where there are none.
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
        if count == 0 {
            return Some(());
        }
        let size = size as usize;
        let bytes = self.take(size, size.checked_mul(usize::try_from(count).ok()?)?)?;
        if self.is_big_endian && size > 1 {
            for number in bytes.chunks_exact(size) {
                self.out.extend(number.iter().rev());
            }
        } else {
            self.out.extend_from_slice(bytes);
        }
        Some(())
    }

    /// A text, which ends with a NUL; some writers leave that out of an empty one.
    fn text(&mut self) -> Option<()> {
        let len = usize::try_from(self.u32()?).ok()?;
        let bytes = self.take(1, len)?;
        let text = match bytes.split_last() {
            None => bytes,
            Some((0, text)) => text,
            Some(_) => return None,
        };
        self.out.extend_from_slice(&u32::try_from(text.len()).ok()?.to_le_bytes());
        self.out.extend_from_slice(text);
        Some(())
    }

    /// The number of elements of a list, which is written too.
    fn count(&mut self) -> Option<u32> {
        let count = self.u32()?;
        self.out.extend_from_slice(&count.to_le_bytes());
        Some(count)
    }

    fn u32(&mut self) -> Option<u32> {
        let bytes = *self.take(4, 4)?.first_chunk()?;
        Some(match self.is_big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        })
    }

    /// The next `len` bytes, which are aligned to `size`.
    fn take(&mut self, size: usize, len: usize) -> Option<&'r [u8]> {
        let start = self.at.checked_next_multiple_of(size.min(self.most_aligned))?;
        let end = start.checked_add(len)?;
        let bytes = self.bytes.get(start..end)?;
        self.at = end;
        Some(bytes)
    }
}
