//! Logs made by hand, byte by byte, after the ULog specification.

/// A message: its size, its type, its payload.
pub(crate) fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u16).to_le_bytes().to_vec();
    bytes.push(kind);
    bytes.extend_from_slice(payload);
    bytes
}

pub(crate) fn keyed_message(kind: u8, key: &str, value: &[u8]) -> Vec<u8> {
    let mut payload = vec![key.len() as u8];
    payload.extend_from_slice(key.as_bytes());
    payload.extend_from_slice(value);
    message(kind, &payload)
}

fn default_parameter(which: u8, key: &str, value: &[u8]) -> Vec<u8> {
    let mut payload = vec![which, key.len() as u8];
    payload.extend_from_slice(key.as_bytes());
    payload.extend_from_slice(value);
    message(b'Q', &payload)
}

pub(crate) fn subscription(instance: u8, id: u8, name: &str) -> Vec<u8> {
    message(b'A', &[&[instance, id, 0], name.as_bytes()].concat())
}

/// A row of `att`: when, in microseconds, and its `x`.
pub(crate) fn att(id: u8, time: u64, x: f32) -> Vec<u8> {
    message(b'D', &[&[id, 0][..], &time.to_le_bytes(), &x.to_le_bytes()].concat())
}

fn string(level: u8, time: u64, text: &str) -> Vec<u8> {
    let time = time.to_le_bytes();
    message(b'L', &[&[level][..], &time, text.as_bytes()].concat())
}

/// The definitions: a topic `att` in two instances, a topic `bat` without records, two
/// parameters.
pub(crate) fn definitions() -> Vec<u8> {
    let mut log = vec![0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35, 1];
    log.extend(1_000_000_u64.to_le_bytes());
    log.extend(message(b'B', &[0; 40]));
    log.extend(message(b'F', b"att:uint64_t timestamp;float x;"));
    log.extend(message(b'F', b"bat:uint64_t timestamp;float[2] v;bool ok;"));
    log.extend(keyed_message(b'I', "char[3] sys_name", b"PX4"));
    log.extend(keyed_message(b'P', "int32_t COUNT", &5_i32.to_le_bytes()));
    log.extend(keyed_message(b'P', "float GAIN", &0.5_f32.to_le_bytes()));
    log.extend(default_parameter(1, "float GAIN", &0.25_f32.to_le_bytes()));
    log.extend(subscription(0, 0, "att"));
    log.extend(subscription(1, 1, "att"));
    log.extend(subscription(0, 2, "bat"));
    log
}

/// Five records at 1 s, 1.5 s and so on; two strings; a parameter that changes.
pub(crate) fn log() -> Vec<u8> {
    let mut log = definitions();
    log.extend(att(0, 1_000_000, 0.5));
    log.extend(string(b'6', 1_100_000, "ready, \"set\""));
    log.extend(att(1, 1_500_000, -1.0));
    log.extend(att(0, 2_000_000, 1.5));
    log.extend(keyed_message(b'P', "int32_t COUNT", &6_i32.to_le_bytes()));
    log.extend(string(b'4', 2_100_000, "low battery"));
    log.extend(att(0, 2_500_000, f32::NAN));
    log.extend(att(1, 3_000_001, 0.1));
    log
}

/// The same log, truncated within the last record.
pub(crate) fn cut_log() -> Vec<u8> {
    let mut log = log();
    log.truncate(log.len() - 3);
    log
}

/// A log of one record, of a number that is called `field`.
pub(crate) fn log_of_field(field: &str) -> Vec<u8> {
    let mut log = vec![0x55, 0x4c, 0x6f, 0x67, 0x01, 0x12, 0x35, 1];
    log.extend(1_000_000_u64.to_le_bytes());
    log.extend(message(b'B', &[0; 40]));
    let format = format!("one:uint64_t timestamp;float {field};");
    log.extend(message(b'F', format.as_bytes()));
    log.extend(subscription(0, 0, "one"));
    log.extend(att(0, 1_000_000, 0.5));
    log
}

/// A log of `count` records, a microsecond apart, alternately of two instances. The value of
/// each record is its index. There is a string before every ten-thousandth record.
pub(crate) fn mixed_log(count: u32) -> Vec<u8> {
    let mut log = definitions();
    for row in 0..count {
        let time = 1_000_000 + u64::from(row);
        if row % 10_000 == 0 {
            log.extend(string(b'6', time, &format!("now {row}")));
        }
        log.extend(att((row % 2) as u8, time, row as f32));
    }
    log
}

/// A log of `count` records of one topic.
pub(crate) fn long_log(count: u64) -> Vec<u8> {
    let mut log = definitions();
    for row in 0..count {
        log.extend(att(0, 1_000_000 + row, row as f32));
    }
    log
}
