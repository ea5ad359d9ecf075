//! ULogs made byte by byte.

/// Microseconds of a second.
pub(crate) const SECOND: u64 = 1_000_000;

pub(crate) fn message(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let payload = parts.concat();
    let size = (payload.len() as u16).to_le_bytes();
    [&size[..], &[kind], &payload].concat()
}

/// Returns a log with the header timestamp `start` and topics `t0`, `t1`, ... of these types of
/// timestamps, each with a field `x`.
pub(crate) fn head(start: u64, timestamps: &[&str]) -> Vec<u8> {
    let mut log = [&b"ULog\x01\x12\x35\x01"[..], &start.to_le_bytes()].concat();
    log.extend(message(b'B', &[&[0; 40]]));
    for (id, timestamp) in timestamps.iter().enumerate() {
        let format = format!("t{id}:{timestamp} timestamp;float x;");
        log.extend(message(b'F', &[format.as_bytes()]));
    }
    for id in 0..timestamps.len() {
        let name = format!("t{id}");
        log.extend(message(b'A', &[&[0, id as u8, 0], name.as_bytes()]));
    }
    log
}

/// Returns a record of `t{id}` with a timestamp of `bytes` bytes.
pub(crate) fn record(id: u8, time: u64, bytes: usize, x: f32) -> Vec<u8> {
    message(b'D', &[&[id, 0], &time.to_le_bytes()[..bytes], &x.to_le_bytes()])
}

/// Ten records of `t0`, a second apart, from `start` on.
pub(crate) fn ten(start: u64) -> Vec<u8> {
    (0..10).flat_map(|i| record(0, start + i * SECOND, 8, i as f32)).collect()
}
