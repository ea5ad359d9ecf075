//! Parses the ULog messages from which the times of a stream are read.
//!
//! Source: PX4 User Guide, "ULog File Format".

use std::collections::HashSet;

/// The first bytes of a ULog.
pub(crate) const MAGIC: [u8; 7] = [0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35];
/// The length of the header of a ULog: the magic, the version and the start.
pub(crate) const HEADER_BYTES: usize = 16;
/// The length of the header of a message: the size and the type.
const MESSAGE_HEADER_BYTES: usize = 3;

/// The maximum number of formats that are retained.
const MAX_DECLARATIONS: usize = 1 << 16;

/// The start of the fields of a format whose first field is the time.
const TIME_FIELD: &[u8] = b"uint64_t timestamp;";

/// Returns the length of the message at the start of `bytes`, including its header. Returns `None`
/// if the header is incomplete.
pub(crate) fn message_bytes(bytes: &[u8]) -> Option<usize> {
    let &[low, high, _] = bytes.first_chunk::<MESSAGE_HEADER_BYTES>()?;
    Some(MESSAGE_HEADER_BYTES + usize::from(u16::from_le_bytes([low, high])))
}

/// Returns a dropout message of this duration.
pub(crate) fn dropout(milliseconds: u16) -> [u8; 5] {
    let [low, high] = milliseconds.to_le_bytes();
    [2, 0, b'O', low, high]
}

/// Reads the times of messages.
#[derive(Debug, Default)]
pub(crate) struct MessageTimes {
    /// The names of the formats that start with the time.
    formats: HashSet<Vec<u8>>,
    /// The ids of the topics whose records start with the time.
    topics: HashSet<u16>,
}

impl MessageTimes {
    /// Returns the time of a complete message in microseconds, if it has one.
    ///
    /// The time of a record is its field `timestamp`. Only records with this field at their start
    /// are supported, as PX4 writes them: the times of other records are not needed.
    pub(crate) fn read(&mut self, message: &[u8]) -> Option<u64> {
        let (&[_, _, kind], payload) = message.split_first_chunk()?;
        match kind {
            b'F' => {
                let colon = payload.iter().position(|byte| *byte == b':')?;
                let (name, fields) = payload.split_at_checked(colon)?;
                let has_time = fields.strip_prefix(b":")?.starts_with(TIME_FIELD);
                if has_time && self.formats.len() < MAX_DECLARATIONS {
                    self.formats.insert(name.to_vec());
                }
                None
            }
            b'A' => {
                let (&[_, low, high], name) = payload.split_first_chunk()?;
                let id = u16::from_le_bytes([low, high]);
                if self.formats.contains(name) {
                    self.topics.insert(id);
                } else {
                    self.topics.remove(&id);
                }
                None
            }
            b'D' => {
                let (id, record) = payload.split_first_chunk()?;
                let id = u16::from_le_bytes(*id);
                if self.topics.contains(&id) { time_at(record, 0) } else { None }
            }
            // The time follows the level, and for `C` also the tag.
            b'L' => time_at(payload, 1),
            b'C' => time_at(payload, 3),
            _ => None,
        }
    }
}

/// Returns the time in microseconds at `offset`.
fn time_at(payload: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*payload.get(offset..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_records_and_strings_are_read() {
        let mut times = MessageTimes::default();
        assert_eq!(times.read(b"\x1f\0Fimu:uint64_t timestamp;float x;"), None);
        assert_eq!(times.read(b"\x0f\0Fraw:uint8_t x;"), None);
        assert_eq!(times.read(b"\x06\0A\0\x07\0imu"), None);
        assert_eq!(times.read(b"\x06\0A\0\x08\0raw"), None);
        assert_eq!(times.read(b"\x0e\0D\x07\0\x01\x02\0\0\0\0\0\0xxxx"), Some(0x201));
        assert_eq!(times.read(b"\x0e\0D\x08\0\x01\x02\0\0\0\0\0\0xxxx"), None);
        assert_eq!(times.read(b"\x06\0D\x07\0\x01\x02\0\0"), None, "too short");
        assert_eq!(times.read(b"\x0b\0L6\x05\0\0\0\0\0\0\0hi"), Some(5));
        assert_eq!(times.read(b"\x0d\0C6\x09\x09\x06\0\0\0\0\0\0\0hi"), Some(6));
    }

    #[test]
    fn dropout_is_a_message_with_milliseconds() {
        assert_eq!(dropout(300), [2, 0, 0x4f, 0x2c, 0x01]);
    }
}
