//! Generates a pcap of a VLP-16: slightly more than one rotation, and other frames.

use crate::files::packet::packet;

/// The time of the first packet in seconds of Unix time: 2024-06-01 10:00:00 UTC.
const START_SECONDS: u32 = 1_717_236_000;

/// The microseconds between packets.
const PERIOD_MICROS: f64 = 1_327.104;

/// Returns the capture.
pub(crate) fn capture() -> Vec<u8> {
    let mut file = Vec::from(0xa1b2_c3d4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0]);
    let mut add = |micros: u32, frame: &[u8]| {
        let len = frame.len() as u32;
        for word in [START_SECONDS, micros, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    };
    for index in 0..42_u32 {
        let micros = (f64::from(index) * PERIOD_MICROS) as u32;
        // Twenty rotations per second: 0.72 hundredths of a degree per microsecond.
        let mut blocks = [(0xeeff, 0); 12];
        for (block, slot) in (0..).zip(&mut blocks) {
            let elapsed = f64::from(index) * PERIOD_MICROS + 110.592 * f64::from(block);
            slot.1 = (30_000.0 + elapsed * 0.72) as u32;
        }
        let data = packet(blocks, micros, [0x37, 0x22]);
        add(micros + 200, &ethernet(&ip(index, 0, &udp(2368, &data))));
        if index == 9 {
            // An ARP request.
            add(micros + 300, &[&[0xff; 12][..], &[8, 6], &[0; 46]].concat());
        }
        if index == 20 {
            let datagram = udp(8308, &position(micros));
            let (first, second) = datagram.split_at(256);
            add(micros + 400, &ethernet(&ip(77, 0x2000, first)));
            add(micros + 410, &ethernet(&ip(77, 256 / 8, second)));
        }
    }
    file
}

/// Returns a position packet with a sentence of the receiver.
fn position(micros: u32) -> [u8; 512] {
    let sentence =
        b"$GPRMC,100000,A,5021.8167,N,00733.5167,E,000.0,000.0,010624,001.2,E,A*01\r\n";
    let mut bytes = [0; 512];
    bytes[198..202].copy_from_slice(&micros.to_le_bytes());
    bytes[202] = 2;
    bytes[206..206 + sentence.len()].copy_from_slice(sentence);
    // Replace the two digits of the checksum by the correct ones.
    let summed = sentence[1..].split(|byte| *byte == b'*').next().unwrap_or_default();
    let checksum = summed.iter().fold(0, |sum, byte| sum ^ byte);
    let digits = 206 + sentence.len() - 4;
    bytes[digits..digits + 2].copy_from_slice(format!("{checksum:02X}").as_bytes());
    bytes
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let len = 8 + payload.len() as u16;
    let mut bytes =
        [port.to_be_bytes(), port.to_be_bytes(), len.to_be_bytes()].concat();
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

fn ip(id: u32, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let total = 20 + payload.len() as u16;
    let mut bytes = vec![0x45, 0];
    bytes.extend(total.to_be_bytes());
    bytes.extend((id as u16).to_be_bytes());
    bytes.extend(fragment.to_be_bytes());
    bytes.extend([64, 17, 0, 0, 192, 168, 1, 201, 255, 255, 255, 255]);
    bytes.extend(payload);
    bytes
}

fn ethernet(packet: &[u8]) -> Vec<u8> {
    [&[0xff; 6][..], &[0x60, 0x76, 0x88, 0, 0, 1], &[8, 0], packet].concat()
}
