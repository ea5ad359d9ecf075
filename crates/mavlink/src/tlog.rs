//! Reads telemetry logs (`.tlog`), which contain the MAVLink frames that a ground station received.
//!
//! ```text
//! record  time u64, big-endian, in microseconds of UTC | MAVLink frame
//! ```
//! (QGroundControl Developer Guide, "MAVLink Log Format".)

use std::{
    io::{self, Read},
    ops::Range,
};

use crate::frame::{Frame, Scan, scan};

const TIME_BYTES: usize = 8;

/// The number of bytes that are needed to recognize a record: two times, the longest frame, and the
/// start of the next frame.
const LOOK_AHEAD: usize = 2 * TIME_BYTES + 512;

/// The number of bytes that are read at once.
const BLOCK_BYTES: usize = 1 << 16;

/// A part of a telemetry log.
#[derive(Clone, Debug, PartialEq)]
pub enum TlogPart {
    /// The time at which a frame was received, in microseconds of UTC, and the frame.
    Frame(u64, Frame),
    /// A message that is not in the common message set.
    Unknown,
    /// A range of bytes that are not records.
    Damage(Range<u64>),
}

/// Reads the records of a telemetry log, and skips damaged bytes.
#[derive(Debug)]
pub struct TlogReader<R> {
    source: R,
    buffer: Vec<u8>,
    /// The number of consumed bytes at the start of the buffer.
    consumed: usize,
    /// The offset of the buffer in the log.
    offset: u64,
    is_at_end: bool,
}

impl<R: Read> TlogReader<R> {
    /// Creates a reader of the log in `source`.
    pub fn new(source: R) -> Self {
        Self { source, buffer: Vec::new(), consumed: 0, offset: 0, is_at_end: false }
    }

    /// Returns the next part, or `None` at the end.
    ///
    /// # Errors
    /// Errors of the source.
    pub fn read_part(&mut self) -> io::Result<Option<TlogPart>> {
        let start = self.position();
        loop {
            self.fill()?;
            let damage = start..self.position();
            let bytes = self.buffer.get(self.consumed..).unwrap_or_default();
            let (Some(time), Some(frame)) =
                (bytes.first_chunk(), bytes.get(TIME_BYTES..))
            else {
                // The remaining bytes are shorter than a time.
                self.consumed = self.buffer.len();
                let damage = start..self.position();
                return Ok((!damage.is_empty()).then_some(TlogPart::Damage(damage)));
            };
            let time = u64::from_be_bytes(*time);
            let (part, length) = match scan(frame) {
                // A valid frame after damage is returned by the next call.
                Scan::Frame(..) if !damage.is_empty() => {
                    return Ok(Some(TlogPart::Damage(damage)));
                }
                Scan::Frame(frame, length) => (TlogPart::Frame(time, frame), length),
                // The checksum cannot be verified, so the next record must follow.
                Scan::Unknown(length)
                    if damage.is_empty() && is_record_or_end(frame, length) =>
                {
                    (TlogPart::Unknown, length)
                }
                _ => {
                    self.consumed += 1;
                    continue;
                }
            };
            self.consumed += TIME_BYTES + length;
            return Ok(Some(part));
        }
    }

    fn position(&self) -> u64 {
        self.offset + self.consumed as u64
    }

    /// Fills the buffer with enough bytes to recognize the next record.
    fn fill(&mut self) -> io::Result<()> {
        if self.is_at_end || self.buffer.len() - self.consumed >= LOOK_AHEAD {
            return Ok(());
        }
        self.buffer.drain(..self.consumed);
        self.offset += self.consumed as u64;
        self.consumed = 0;
        let block = (&mut self.source)
            .take(BLOCK_BYTES as u64)
            .read_to_end(&mut self.buffer)?;
        self.is_at_end = block < BLOCK_BYTES;
        Ok(())
    }
}

/// Returns whether the end of the log follows after `length` bytes, or a time and the start of a
/// frame.
fn is_record_or_end(bytes: &[u8], length: usize) -> bool {
    match bytes.get(length..) {
        Some([]) => true,
        Some(next) => matches!(
            next.get(TIME_BYTES),
            Some(&(mavlink::MAV_STX | mavlink::MAV_STX_V2))
        ),
        None => false,
    }
}

#[cfg(test)]
mod tests;
