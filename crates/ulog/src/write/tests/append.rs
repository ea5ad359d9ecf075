//! Tests of appending, with a crash after every written byte.

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use super::*;

/// A log of three records; the last record lacks its last byte. The length of the log
/// does not fit into one byte, so that an offset can be written incompletely.
fn cut_log() -> Vec<u8> {
    let mut bytes = written(|log| {
        log.info_text("about", &"x".repeat(300))?;
        log.format("t", "uint8_t[5] v;")?;
        let topic = log.subscribe(Subscription::new("t"))?;
        for value in 1..=3 {
            log.data(topic, 0, &[value; 5])?;
        }
        Ok(())
    });
    bytes.pop();
    bytes
}

/// Reads the records of a log according to the specification: section by section, each
/// up to its last complete message.
fn records(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut ends = vec![bytes.len()];
    if bytes[27] & 1 == 1 {
        let read_offset = |position: usize| {
            u64::from_le_bytes(bytes[position..position + 8].try_into().unwrap())
        };
        ends.extend([35, 43, 51].map(|position| read_offset(position) as usize));
        ends.retain(|end| *end > 0);
        ends.sort();
    }
    let (mut records, mut offset) = (vec![], 16);
    for end in ends {
        while offset + 3 <= end {
            let size =
                usize::from(u16::from_le_bytes([bytes[offset], bytes[offset + 1]]));
            let Some(payload) = bytes[..end].get(offset + 3..offset + 3 + size) else {
                break;
            };
            if bytes[offset + 2] == b'D' {
                records.push(payload[2..].to_vec());
            }
            offset += 3 + size;
        }
        offset = end;
    }
    records
}

#[test]
fn appended_section_is_declared_in_flag_bits() {
    let before = cut_log();
    let mut log = Writer::append(Cursor::new(before.clone())).unwrap();
    log.info_multiple_text("hardfault_plain", "ouch").unwrap();
    let topic = log.topic_by_id(0);
    log.data(topic, 9, &[4; 5]).unwrap();
    let bytes = log.finish().unwrap().into_inner();

    let mut expected = before.clone();
    expected[27] = 1;
    expected[35..43].copy_from_slice(&(before.len() as u64).to_le_bytes());
    expected.extend(b"\x1D\x00M\x00\x17char[4] hardfault_plainouch");
    expected.extend(b"\x08\x00S\x2F\x73\x13\x20\x25\x0C\xBB\x12");
    expected.extend(b"\x07\x00D\x00\x00\x04\x04\x04\x04\x04");
    assert_eq!(bytes, expected);
    assert_eq!(records(&bytes), [[1; 5], [2; 5], [4; 5]]);
}

#[test]
fn three_sections_can_be_appended() {
    let mut file = Cursor::new(cut_log());
    for value in 11..=13 {
        let mut log = Writer::append(file).unwrap();
        let topic = log.topic_by_id(0);
        log.data(topic, 0, &[value; 5]).unwrap();
        file = log.finish().unwrap();
    }
    let bytes = file.get_ref().clone();
    assert_eq!(records(&bytes), [[1; 5], [2; 5], [11; 5], [12; 5], [13; 5]]);
    assert_eq!(kind_of(Writer::append(&mut file)), ErrorKind::Limit);
    assert_eq!(file.into_inner(), bytes, "a rejected section changes nothing");
}

#[test]
fn crash_after_any_byte_does_not_invent_records() {
    let whole = [vec![1; 5], vec![2; 5], vec![4; 5], vec![5; 5]];
    for budget in 0..150 {
        let mut file = CrashingFile { file: Cursor::new(cut_log()), budget };
        let result = Writer::append(&mut file).and_then(|mut log| {
            let topic = log.topic_by_id(0);
            log.data(topic, 0, &[4; 5])?;
            log.data(topic, 0, &[5; 5])?;
            log.finish().map(drop)
        });
        let records = records(file.file.get_ref());
        assert!(records.len() >= 2, "after {budget} bytes");
        assert_eq!(records, whole[..records.len()], "after {budget} bytes");
        assert_eq!(result.is_ok(), records.len() == 4);
    }
}

#[test]
fn invalid_offsets_are_cleared() {
    let mut bytes = cut_log();
    bytes[43] = 77;
    let bytes = Writer::append(Cursor::new(bytes)).unwrap().finish().unwrap();
    assert_eq!(bytes.into_inner()[43..59], [0; 16]);
}

#[test]
fn invalid_log_cannot_be_appended_to() {
    let refused = |bytes: Vec<u8>| kind_of(Writer::append(Cursor::new(bytes)));
    let changed = |at: usize, to: u8| {
        let mut bytes = cut_log();
        bytes[at] = to;
        refused(bytes)
    };
    assert_eq!(changed(0, b'X'), ErrorKind::Unrecognized);
    assert_eq!(changed(16, 39), ErrorKind::Malformed);
    assert_eq!(changed(17, 200), ErrorKind::Malformed);
    assert_eq!(changed(18, b'F'), ErrorKind::Unsupported);
    assert_eq!(changed(27, 2), ErrorKind::Unsupported);
    assert_eq!(changed(34, 1), ErrorKind::Unsupported);
    assert_eq!(refused(cut_log()[..58].to_vec()), ErrorKind::Malformed);
    assert_eq!(refused(vec![]), ErrorKind::Unrecognized);
    let mut section_after_end = cut_log();
    (section_after_end[27], section_after_end[42]) = (1, 1);
    assert_eq!(refused(section_after_end), ErrorKind::Malformed);
}

#[test]
fn format_version_is_not_changed() {
    let mut bytes = cut_log();
    bytes[7] = 0;
    let after = Writer::append(Cursor::new(bytes)).unwrap().finish().unwrap();
    assert_eq!(after.into_inner()[7], 0);
}

/// A file that accepts a limited number of bytes.
#[derive(Debug)]
struct CrashingFile {
    file: Cursor<Vec<u8>>,
    budget: usize,
}

impl Read for CrashingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

impl Write for CrashingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = bytes.len().min(self.budget);
        if written == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.budget -= written;
        self.file.write(&bytes[..written])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for CrashingFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
