//! Hand-made frames of MAVLink 2 (MAVLink Developer Guide, "Packet Serialization").

/// The ids and the extra bytes of messages of the common set.
const HEARTBEAT: (u16, u8) = (0, 50);
const COMMAND_ACK: (u16, u8) = (77, 143);
const LOGGING_DATA: (u16, u8) = (266, 193);

/// `MAV_CMD_LOGGING_STOP`.
const LOGGING_STOP: u16 = 2511;

/// The checksum of a MAVLink frame: CRC-16/MCRF4XX of the frame without its first byte, and of the
/// extra byte of the message (MAVLink Developer Guide, "Checksum").
fn checksum(bytes: &[u8], extra: u8) -> [u8; 2] {
    let mut crc = 0xffff_u16;
    for byte in bytes.iter().chain(&[extra]) {
        let mut low = byte ^ (crc & 0xff) as u8;
        low ^= low << 4;
        let low = u16::from(low);
        crc = (crc >> 8) ^ (low << 8) ^ (low << 3) ^ (low >> 4);
    }
    crc.to_le_bytes()
}

/// The sender of frames: its system and its component.
pub(crate) type Sender = (u8, u8);

fn frame(
    (system, component): Sender,
    (id, extra): (u16, u8),
    payload: &[u8],
) -> Vec<u8> {
    let [low, high] = id.to_le_bytes();
    let mut frame =
        vec![0xfd, payload.len() as u8, 0, 0, 0, system, component, low, high, 0];
    frame.extend(payload);
    let checksum = checksum(&frame[1..], extra);
    [frame.as_slice(), &checksum].concat()
}

/// A heartbeat of a quadrotor with PX4.
pub(crate) fn heartbeat(sender: Sender) -> Vec<u8> {
    frame(sender, HEARTBEAT, &[0, 0, 0, 0, 2, 12, 81, 4, 3])
}

/// The answer that the log stream is stopped.
pub(crate) fn stopped(sender: Sender) -> Vec<u8> {
    let [low, high] = LOGGING_STOP.to_le_bytes();
    frame(sender, COMMAND_ACK, &[low, high, 0])
}

/// A packet of a log stream to component 155 of system 255. `first_message` is the place of the
/// first message that starts in `data`.
pub(crate) fn packet(
    sender: Sender,
    sequence: u16,
    first_message: u8,
    data: &[u8],
) -> Vec<u8> {
    let mut payload = sequence.to_le_bytes().to_vec();
    payload.extend([255, 155, data.len() as u8, first_message]);
    payload.extend(data);
    frame(sender, LOGGING_DATA, &payload)
}

/// Frames as a telemetry log, 20 ms apart.
pub(crate) fn telemetry_log(frames: &[Vec<u8>]) -> Vec<u8> {
    let times = (1_700_000_000_000_000_u64..).step_by(20_000);
    let record =
        |(time, frame): (u64, &Vec<u8>)| [&time.to_be_bytes(), &**frame].concat();
    times.zip(frames).flat_map(record).collect()
}

/// The packets of a log: `start` in the first one, and each of `rows` in one of its own.
pub(crate) fn stream(sender: Sender, start: &[u8], rows: &[Vec<u8>]) -> Vec<Vec<u8>> {
    assert!(start.len() < 250);
    let first = packet(sender, 0, 0, start);
    let rows = (1..).zip(rows).map(|(number, row)| packet(sender, number, 0, row));
    [first].into_iter().chain(rows).collect()
}
