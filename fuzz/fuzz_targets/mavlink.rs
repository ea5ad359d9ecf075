//! Any bytes as a telemetry log, or packets of a stream in any order with losses: the ULog made of
//! them consists of whole messages.

#![no_main]

use std::collections::BTreeMap;

use arbitrary::{Arbitrary, Unstructured};
use libfuzzer_sys::fuzz_target;
use logtool_mavlink::{
    ReceivedFrame, Scan, StreamPacket, UlogStream, Vehicle, scan,
    tlog::{TlogPart, TlogReader},
};

/// The header of a ULog, and the definitions of a topic with times.
const START: &[u8] = b"ULog\x01\x12\x35\x01\x10\x27\0\0\0\0\0\0\
    \x1f\0Fimu:uint64_t timestamp;float x;\x06\0A\0\x07\0imu";
const HEADER_LEN: usize = 16;
const DROPOUT_LEN: u64 = 5;
/// The time between two frames that a vehicle receives, in microseconds.
const PERIOD: u64 = 100_000;

fuzz_target!(|input: &[u8]| {
    match input.split_first() {
        Some((b'p', rest)) => packets(rest),
        Some((b't', rest)) => telemetry_log(rest),
        _ => telemetry_log(input),
    }
});

/// Reads a telemetry log, and makes ULogs of the streams of all systems in it.
fn telemetry_log(bytes: &[u8]) {
    let mut reader = TlogReader::new(bytes);
    let mut streams: BTreeMap<(u8, u8), (UlogStream, Vec<u8>, u64)> = BTreeMap::new();
    let mut vehicle = Vehicle::new(None);
    let (mut now, mut parts, mut last_damage) = (0, 0, 0);
    while let Some(part) = reader.read_part().expect("memory does not fail") {
        parts += 1;
        assert!(parts <= bytes.len(), "the reader makes progress");
        match part {
            TlogPart::Frame(time, frame) => {
                let received = ReceivedFrame { frame: frame.clone(), address: None };
                vehicle.receive(received, now);
                talk(&mut vehicle, &mut now);
                let sender = (frame.system, frame.component);
                if let Some(Some(packet)) = frame.into_packet() {
                    let (stream, ulog, last) = streams.entry(sender).or_default();
                    *last = time;
                    // Another log is not added.
                    let _ = stream.push(packet, time, ulog);
                }
            }
            TlogPart::Unknown => {}
            TlogPart::Damage(range) => {
                assert!(last_damage <= range.start && range.start < range.end);
                assert!(range.end <= bytes.len() as u64);
                last_damage = range.end;
            }
        }
    }
    vehicle.stop(now);
    talk(&mut vehicle, &mut now);
    for (stream, ulog, last) in streams.into_values() {
        finish(stream, ulog, last);
    }
}

/// Advances the time, and checks that the receiver sends only sound frames.
fn talk(vehicle: &mut Vehicle, now: &mut u64) {
    *now += PERIOD;
    vehicle.advance(*now);
    for bytes in vehicle.take_outgoing() {
        let Scan::Frame(_, len) = scan(&bytes) else { panic!("an unknown message") };
        assert_eq!(len, bytes.len());
    }
}

/// A packet of a stream that starts with [`START`].
#[derive(Debug, Arbitrary)]
struct Packet {
    /// The difference of its number from the one before, less 1.
    skipped: i8,
    first_message: Option<u8>,
    /// The time since the packet before, in units of 2 ms.
    pause: u8,
    data: Vec<u8>,
}

/// Pushes packets after a sound first one.
fn packets(bytes: &[u8]) {
    let mut unstructured = Unstructured::new(bytes);
    let mut stream = UlogStream::default();
    let (mut ulog, mut sequence, mut now) = (Vec::new(), 0_u16, 0);
    let first = StreamPacket::new(sequence, Some(0), START.to_vec());
    stream
        .push(first.expect("a valid packet"), now, &mut ulog)
        .expect("it is the first");
    while !unstructured.is_empty()
        && let Ok(packet) = Packet::arbitrary(&mut unstructured)
    {
        sequence = sequence.wrapping_add(1).wrapping_add_signed(packet.skipped.into());
        now += u64::from(packet.pause) * 2_000;
        let packet = StreamPacket::new(sequence, packet.first_message, packet.data);
        if let Some(packet) = packet {
            let _ = stream.push(packet, now, &mut ulog);
        }
    }
    assert!(stream.has_header());
    finish(stream, ulog, now);
}

/// Ends a stream, and checks its ULog.
fn finish(mut stream: UlogStream, mut ulog: Vec<u8>, now: u64) {
    stream.finish(now, &mut ulog);
    let statistics = stream.statistics();
    assert_eq!(statistics.bytes, ulog.len() as u64);
    if !stream.has_header() {
        assert!(ulog.is_empty());
        return;
    }
    assert!(ulog.starts_with(&START[..7]));
    let (mut at, mut messages, mut dropout_millis) = (HEADER_LEN, 0_u64, 0_u64);
    while at < ulog.len() {
        let size = usize::from(u16::from_le_bytes([ulog[at], ulog[at + 1]]));
        messages += 1;
        if ulog[at + 2] == b'O' && size == 2 {
            dropout_millis +=
                u64::from(u16::from_le_bytes([ulog[at + 3], ulog[at + 4]]));
        }
        at += 3 + size;
    }
    assert_eq!(at, ulog.len(), "the last message is whole");
    // Each dropout has at least one message; the vehicle may have sent some as well.
    assert!(messages >= statistics.messages + statistics.dropouts);
    assert!(dropout_millis >= statistics.dropout_millis);
    assert!(statistics.dropouts * DROPOUT_LEN <= statistics.bytes);
    assert!(statistics.has_losses() || statistics.dropouts == 0);
}
