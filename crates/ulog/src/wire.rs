//! Parses the bytes of a ULog, without I/O and without state.
//!
//! All functions convert bytes to values, and return `None` if the bytes are malformed.
//! The names and numbers are those of the PX4 User Guide, "ULog File Format".

#![deny(clippy::indexing_slicing)]

use logtool_core::ByteReader;

/// The first bytes of every ULog.
pub(crate) const MAGIC: [u8; 7] = [0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35];
/// The first bytes of an encrypted ULog, as PX4 1.16 writes it.
pub(crate) const ENCRYPTED_MAGIC: &[u8; 7] = b"ULogEnc";
/// The payload of a sync message.
pub(crate) const SYNC: [u8; 8] = [0x2f, 0x73, 0x13, 0x20, 0x25, 0x0c, 0xbb, 0x12];
/// The length of the file header.
pub(crate) const FILE_HEADER_LEN: usize = 16;
/// The length of a message header: its size and its type.
pub(crate) const HEADER_LEN: usize = 3;
/// The length of the longest message, including its header.
pub(crate) const MAX_MESSAGE_LEN: usize = HEADER_LEN + u16::MAX as usize;

/// The types of messages.
pub(crate) mod kind {
    pub(crate) const FLAG_BITS: u8 = b'B';
    pub(crate) const FORMAT: u8 = b'F';
    pub(crate) const INFO: u8 = b'I';
    pub(crate) const INFO_MULTIPLE: u8 = b'M';
    pub(crate) const PARAMETER: u8 = b'P';
    pub(crate) const DEFAULT_PARAMETER: u8 = b'Q';
    pub(crate) const SUBSCRIPTION: u8 = b'A';
    pub(crate) const UNSUBSCRIPTION: u8 = b'R';
    pub(crate) const DATA: u8 = b'D';
    pub(crate) const STRING: u8 = b'L';
    pub(crate) const TAGGED_STRING: u8 = b'C';
    pub(crate) const SYNC: u8 = b'S';
    pub(crate) const DROPOUT: u8 = b'O';
}

/// The header of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FixedHeader {
    pub(crate) version: u8,
    /// The start of logging, in microseconds.
    pub(crate) start: u64,
}

/// The payload of a flag bits message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlagBits {
    pub(crate) compatible: [u8; 8],
    pub(crate) incompatible: [u8; 8],
    /// The offsets of sections that were appended to the file; 0 if unused.
    pub(crate) appended: [u64; 3],
}

/// A value with a typed key: an information or a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyedValue<'b> {
    /// The type, e.g. `char[5]` of `char[5] sys_name`.
    pub(crate) type_name: &'b str,
    /// The name, e.g. `sys_name`: all characters after the first space.
    pub(crate) name: &'b str,
    pub(crate) value: &'b [u8],
}

/// A subscription, which assigns a message id to a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subscription<'b> {
    pub(crate) instance: u8,
    pub(crate) id: u16,
    pub(crate) name: &'b str,
}

/// A logged string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoggedString<'b> {
    pub(crate) level: u8,
    pub(crate) tag: Option<u16>,
    /// The time in microseconds.
    pub(crate) time: u64,
    pub(crate) text: &'b [u8],
}

/// Parses the file header at the start of `bytes`.
pub(crate) fn file_header(bytes: &[u8]) -> Option<FixedHeader> {
    let mut reader = ByteReader::new(bytes);
    if reader.bytes(MAGIC.len())? != MAGIC {
        return None;
    }
    Some(FixedHeader { version: reader.u8()?, start: reader.u64()? })
}

/// Returns the payload size and the type of the message at the start of `bytes`.
#[inline]
pub(crate) fn header(bytes: &[u8]) -> Option<(usize, u8)> {
    let &[low, high, kind] = bytes.first_chunk::<HEADER_LEN>()?;
    Some((u16::from_le_bytes([low, high]).into(), kind))
}

/// Parses the payload of a flag bits message. Trailing bytes are ignored.
pub(crate) fn flag_bits(payload: &[u8]) -> Option<FlagBits> {
    let mut reader = ByteReader::new(payload);
    let compatible = *reader.bytes(8)?.first_chunk()?;
    let incompatible = *reader.bytes(8)?.first_chunk()?;
    let appended = [reader.u64()?, reader.u64()?, reader.u64()?];
    Some(FlagBits { compatible, incompatible, appended })
}

/// Parses the payload of a format message: the name of a type, and the text of its
/// fields.
pub(crate) fn format(payload: &[u8]) -> Option<(&str, &str)> {
    let (name, fields) = str::from_utf8(payload).ok()?.split_once(':')?;
    (!name.is_empty()).then_some((name, fields))
}

/// Parses the payload of an information or parameter message.
pub(crate) fn keyed_value(payload: &[u8]) -> Option<KeyedValue<'_>> {
    let mut reader = ByteReader::new(payload);
    let key_len = reader.u8()?;
    let key = str::from_utf8(reader.bytes(key_len.into())?).ok()?;
    let (type_name, name) = key.split_once(' ')?;
    let is_valid = !type_name.is_empty() && !name.is_empty();
    is_valid.then_some(KeyedValue { type_name, name, value: reader.remaining() })
}

/// Like [`keyed_value`], but with a preceding flag byte: whether a multi information continues the
/// previous value, or the bits of a default parameter.
pub(crate) fn flagged_keyed_value(payload: &[u8]) -> Option<(u8, KeyedValue<'_>)> {
    let (flag, remaining) = payload.split_first()?;
    Some((*flag, keyed_value(remaining)?))
}

/// Parses the payload of a subscription message.
pub(crate) fn subscription(payload: &[u8]) -> Option<Subscription<'_>> {
    let mut reader = ByteReader::new(payload);
    let (instance, id) = (reader.u8()?, reader.u16()?);
    let name = str::from_utf8(reader.remaining()).ok()?;
    (!name.is_empty()).then_some(Subscription { instance, id, name })
}

/// Parses the payload of a data message: the id of its topic, and the record.
#[inline]
pub(crate) fn data(payload: &[u8]) -> Option<(u16, &[u8])> {
    let (id, record) = payload.split_first_chunk::<2>()?;
    Some((u16::from_le_bytes(*id), record))
}

/// Parses the payload of a logged string, which has a tag if `kind` is `TAGGED_STRING`.
pub(crate) fn logged_string(kind: u8, payload: &[u8]) -> Option<LoggedString<'_>> {
    let mut reader = ByteReader::new(payload);
    let level = reader.u8()?;
    let tag = match kind {
        kind::TAGGED_STRING => Some(reader.u16()?),
        _ => None,
    };
    Some(LoggedString { level, tag, time: reader.u64()?, text: reader.remaining() })
}

/// Parses the payload of a dropout: its duration in milliseconds.
pub(crate) fn dropout(payload: &[u8]) -> Option<u16> {
    ByteReader::new(payload).u16()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_header_has_magic_version_and_time() {
        let bytes = b"\x55\x4c\x6f\x67\x01\x12\x35\x01\x10\x27\0\0\0\0\0\0rest";
        assert_eq!(file_header(bytes), Some(FixedHeader { version: 1, start: 10_000 }));
        assert_eq!(file_header(&bytes[..15]), None);
        assert_eq!(
            file_header(b"\x55\x4c\x6f\x67\x01\x12\x36\x01\x10\x27\0\0\0\0\0\0"),
            None
        );
    }

    #[test]
    fn key_is_split_at_first_space() {
        let keyed = keyed_value(b"\x0echar[4] a name1.14").unwrap();
        assert_eq!((keyed.type_name, keyed.name), ("char[4]", "a name"));
        assert_eq!(keyed.value, b"1.14");
    }

    #[test]
    fn key_longer_than_message_is_malformed() {
        assert_eq!(keyed_value(b"\xffint32_t A\0\0\0\0"), None);
        assert_eq!(keyed_value(b"\x05Build\0\0\0\0"), None);
        assert_eq!(keyed_value(b""), None);
    }

    #[test]
    fn tagged_string_has_tag_before_time() {
        let payload = b"4\x01\x02\x07\0\0\0\0\0\0\0hi";
        let string = logged_string(kind::TAGGED_STRING, payload).unwrap();
        let want = LoggedString { level: b'4', tag: Some(0x201), time: 7, text: b"hi" };
        assert_eq!(string, want);
        assert_eq!(logged_string(kind::STRING, &payload[..8]), None);
    }

    #[test]
    fn trailing_bytes_of_flag_bits_are_ignored() {
        let mut payload = vec![0; 56];
        payload[8] = 1;
        payload[16] = 99;
        let flags = flag_bits(&payload).unwrap();
        assert_eq!((flags.incompatible[0], flags.appended), (1, [99, 0, 0]));
        assert_eq!(flag_bits(&payload[..39]), None);
    }
}
