//! Messages that are compressed individually, or in an encapsulation that is not supported.
//!
//! With `--compression-mode message`, rosbag2 replaces each message in CDR by a zstd frame, and
//! records this only in the metadata of the file (`rosbag2_compression_zstd`, `ZstdCompressor`). No
//! CDR encapsulation has the first four bytes of a zstd frame, so they show whether a message is
//! compressed.

use std::{borrow::Cow, io::Read as _};

use logtool_core::{Damage, DamageKind, Record};

use crate::field_reader::Encoding;

/// The first bytes of a zstd frame (RFC 8878, 3.1.1).
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The maximum size in bytes of a decompressed message, and of all messages that are decompressed
/// into one buffer.
pub const MAX_DECOMPRESSED_BYTES: usize = 256 << 20;

/// Memory for the declared size is allocated at once if it is at most this multiple of the
/// compressed size.
const MAX_TRUSTED_RATIO: u64 = 1024;

/// The reason why the fields of a message cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableMessage {
    /// Whether the message is damaged, too long, or not supported.
    pub kind: DamageKind,
    /// The reason, if the kind does not explain it.
    pub reason: Option<String>,
}

impl UnreadableMessage {
    /// Returns the damage of `record`, whose message cannot be read for this reason.
    pub fn damage(self, record: &Record<'_>) -> Damage {
        let Self { kind, reason } = self;
        Damage { reason, ..record.undecodable_damage().with_kind(kind) }
    }
}

impl From<DamageKind> for UnreadableMessage {
    fn from(kind: DamageKind) -> Self {
        Self { kind, reason: None }
    }
}

/// Returns the name of the CDR encapsulation of `message` that is valid, but not supported.
/// Version 2 has two sets of identifiers: those up to 11 (DDS-XTypes 1.3, table 59), and those from
/// 16 on (DDS-XTypes 1.3, 7.4.3.4; DDSI-RTPS 2.3, table 10.2).
fn unsupported_encapsulation(message: &[u8]) -> Option<&'static str> {
    match message.first_chunk()? {
        [0, 2 | 3] => Some("a parameter list (PL_CDR)"),
        [0, 4] => Some("XML"),
        [0, 8 | 9 | 20 | 21] => Some("delimited CDR of version 2 (DELIMITED_CDR2)"),
        [0, 10 | 11 | 18 | 19] => Some("a parameter list of version 2 (PL_CDR2)"),
        _ => None,
    }
}

impl Encoding {
    /// Returns the message in `payload`, decompressed if it is compressed, of at most `max_bytes`
    /// bytes.
    ///
    /// # Errors
    /// `OverLimit` if the message is longer than `max_bytes`; `Undecodable` if it cannot be
    /// decompressed; `Unsupported` if its encapsulation is not supported.
    pub fn message(
        self,
        payload: &[u8],
        max_bytes: usize,
    ) -> Result<Cow<'_, [u8]>, UnreadableMessage> {
        let message = self.decompress(payload, max_bytes)?;
        match unsupported_encapsulation(&message).filter(|_| self == Self::Cdr) {
            None => Ok(message),
            Some(name) => {
                let [first, second] =
                    message.first_chunk().copied().unwrap_or_default();
                let reason =
                    format!("its encapsulation {first:02x} {second:02x} is {name}");
                Err(UnreadableMessage {
                    kind: DamageKind::Unsupported,
                    reason: Some(reason),
                })
            }
        }
    }

    fn decompress(
        self,
        payload: &[u8],
        max_bytes: usize,
    ) -> Result<Cow<'_, [u8]>, DamageKind> {
        if self != Self::Cdr || !payload.starts_with(&MAGIC) {
            return Ok(Cow::Borrowed(payload));
        }
        let size = zstd::zstd_safe::get_frame_content_size(payload);
        let size = size.map_err(|_| DamageKind::Undecodable)?;
        if size.is_some_and(|size| size > max_bytes as u64) {
            return Err(DamageKind::OverLimit);
        }
        if let Some(size) = size
            && size <= MAX_TRUSTED_RATIO * payload.len() as u64
            && let Ok(message) = zstd::bulk::decompress(payload, size as usize)
        {
            return Ok(Cow::Owned(message));
        }
        let decoder = zstd::stream::read::Decoder::with_buffer(payload);
        let decoder = decoder.map_err(|_| DamageKind::Undecodable)?;
        let mut message = Vec::new();
        let read = decoder.take(max_bytes as u64 + 1).read_to_end(&mut message);
        match read {
            Ok(len) if len > max_bytes => Err(DamageKind::OverLimit),
            Ok(_) => Ok(Cow::Owned(message)),
            Err(_) => Err(DamageKind::Undecodable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of the 12 bytes of `int32 x = 7` and `int32 y = 8` in CDR, made by hand from RFC
    /// 8878: a single segment, its size, and one raw block, which is the last.
    const FRAME: &[u8] =
        b"\x28\xb5\x2f\xfd\x20\x0c\x61\0\0\0\x01\0\0\x07\0\0\0\x08\0\0\0";

    #[test]
    fn only_messages_in_cdr_are_decompressed() {
        let message = Encoding::Cdr.decompress(FRAME, 12).unwrap();
        assert_eq!(&*message, b"\0\x01\0\0\x07\0\0\0\x08\0\0\0");
        assert_eq!(&*Encoding::Ros1.decompress(FRAME, 12).unwrap(), FRAME);
        let uncompressed = b"\0\x01\0\0\x07\0\0\0";
        assert_eq!(&*Encoding::Cdr.decompress(uncompressed, 0).unwrap(), uncompressed);
    }

    #[test]
    fn unsupported_encapsulations_are_named() {
        let message = |payload: &'static [u8]| Encoding::Cdr.message(payload, 99);
        for (payload, identifier, name) in [
            (b"\0\x09\0\0", "00 09", "DELIMITED_CDR2"),
            (b"\0\x15\0\0", "00 15", "DELIMITED_CDR2"),
            (b"\0\x0b\0\0", "00 0b", "PL_CDR2"),
            (b"\0\x12\0\0", "00 12", "PL_CDR2"),
        ] {
            let unsupported = message(payload).unwrap_err();
            assert_eq!(unsupported.kind, DamageKind::Unsupported);
            let reason = unsupported.reason.unwrap();
            assert!(reason.contains(identifier) && reason.contains(name), "{reason}");
        }
        // Other bytes are no encapsulation; readers report a damaged message.
        for payload in
            [b"\0\x07\0\0", b"\0\x11\0\0", b"\x09\0\0\0", b"\0\x05\0\0", b"\0\x16\0\0"]
        {
            assert_eq!(&*message(payload).unwrap(), payload);
        }
        assert!(Encoding::Ros1.message(b"\0\x09\0\0", 99).is_ok());
    }

    #[test]
    fn sizes_are_bounded_and_broken_frames_are_undecodable() {
        assert_eq!(Encoding::Cdr.decompress(FRAME, 11), Err(DamageKind::OverLimit));
        for len in 4..FRAME.len() {
            let truncated = Encoding::Cdr.decompress(&FRAME[..len], 12);
            assert_eq!(truncated, Err(DamageKind::Undecodable), "{len}");
        }
        // A frame that declares 2^62 bytes, and one of 32 KiB of one byte that declares no size
        // (RFC 8878, 3.1.1.2: a window of 32 KiB, an RLE block).
        let huge = b"\x28\xb5\x2f\xfd\xe0\0\0\0\0\0\0\0\x40\x01\0\0";
        assert_eq!(Encoding::Cdr.decompress(huge, 1 << 20), Err(DamageKind::OverLimit));
        let long = b"\x28\xb5\x2f\xfd\0\x28\x03\0\x04\x07";
        assert_eq!(Encoding::Cdr.decompress(long, 32 << 10).unwrap().len(), 32 << 10);
        assert_eq!(Encoding::Cdr.decompress(long, 1000), Err(DamageKind::OverLimit));
    }
}
