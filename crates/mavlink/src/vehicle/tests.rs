//! Conversations with hand-made frames.

use super::*;
use crate::frame::{Scan, scan};

const SECOND: u64 = 1_000_000;

fn frame(component: u8, content: Content) -> ReceivedFrame {
    ReceivedFrame { frame: Frame { system: 3, component, content }, address: None }
}

fn heartbeat() -> ReceivedFrame {
    frame(1, Content::Heartbeat { is_autopilot: true })
}

fn answer(command: MavCmd, result: MavResult) -> ReceivedFrame {
    frame(1, Content::CommandAck { command, result })
}

fn stream(sequence: u16, needs_ack: bool) -> ReceivedFrame {
    let packet = StreamPacket::new(sequence, None, vec![1]);
    frame(1, Content::Stream { sequence, needs_ack, packet })
}

/// Returns the ids of the messages that are to be sent, which are sound frames.
fn sent(vehicle: &mut Vehicle) -> Vec<u8> {
    let frames = vehicle.take_outgoing();
    let id = |frame: &Vec<u8>| {
        assert!(matches!(scan(frame), Scan::Frame(_, length) if length == frame.len()));
        assert_eq!(frame[5..7], [255, 155]);
        frame[7]
    };
    frames.iter().map(id).collect()
}

/// The low bytes of the ids of HEARTBEAT, COMMAND_LONG and LOGGING_ACK (268).
const BEAT: u8 = 0;
const COMMAND: u8 = 76;
const ACK: u8 = 12;

#[test]
fn stream_is_started_when_an_autopilot_is_heard_until_it_answers() {
    let mut vehicle = Vehicle::new(None);
    vehicle.advance(0);
    assert_eq!(sent(&mut vehicle), [BEAT]);
    let camera = frame(100, Content::Heartbeat { is_autopilot: false });
    assert_eq!(vehicle.receive(camera, 0), None);
    let early = vehicle.receive(stream(0, true), 0);
    assert_eq!(early, Some(VehicleEvent::EarlyPacket), "not found yet");
    let found = VehicleEvent::Found { system: 3, address: None };
    assert_eq!(vehicle.receive(heartbeat(), 10), Some(found));
    vehicle.advance(10);
    vehicle.advance(SECOND / 2);
    assert_eq!(sent(&mut vehicle), [COMMAND]);
    vehicle.advance(SECOND);
    assert_eq!(sent(&mut vehicle), [BEAT, COMMAND]);
    let start = MavCmd::MAV_CMD_LOGGING_START;
    let event = vehicle.receive(answer(start, MavResult::MAV_RESULT_ACCEPTED), SECOND);
    assert_eq!(event, Some(VehicleEvent::Start(CommandResult::Accepted)));
    vehicle.advance(3 * SECOND);
    assert_eq!(sent(&mut vehicle), [BEAT], "no further command");
}

#[test]
fn each_acknowledged_packet_is_answered_also_a_repeated_one() {
    let mut vehicle = Vehicle::new(Some(3));
    vehicle.receive(heartbeat(), 0);
    for _ in 0..2 {
        let event = vehicle.receive(stream(0x0102, true), 0);
        assert!(matches!(event, Some(VehicleEvent::Packet(_))));
        let frames = vehicle.take_outgoing();
        // Sequence, target system and component.
        assert_eq!(frames[0][7..14], [ACK, 1, 0, 2, 1, 3, 1]);
    }
    vehicle.receive(stream(0x0103, false), 0);
    let broken = Content::Stream { sequence: 9, needs_ack: true, packet: None };
    let event = vehicle.receive(frame(1, broken), 0);
    assert_eq!(event, Some(VehicleEvent::MalformedPacket));
    assert_eq!(sent(&mut vehicle), [ACK]);
    vehicle.advance(0);
    assert_eq!(sent(&mut vehicle), [BEAT, COMMAND], "it may be another stream");
    vehicle.confirm_start();
    vehicle.advance(SECOND);
    assert_eq!(sent(&mut vehicle), [BEAT]);
}

#[test]
fn other_systems_and_components_are_not_listened_to() {
    let mut vehicle = Vehicle::new(Some(4));
    assert_eq!(vehicle.receive(heartbeat(), 0), None);
    let mut vehicle = Vehicle::new(None);
    vehicle.receive(heartbeat(), 0);
    let mut other = stream(0, true);
    other.frame.system = 4;
    assert_eq!(vehicle.receive(other, 0), Some(VehicleEvent::OtherPacket));
    let camera = frame(100, Content::Heartbeat { is_autopilot: false });
    assert_eq!(vehicle.receive(camera, 0), None);
    assert_eq!(vehicle.other_senders(), 1);
    assert!(sent(&mut vehicle).is_empty());
}

#[test]
fn vehicle_with_the_same_ids_at_another_address_is_another_one() {
    let from = |port: u16, mut frame: ReceivedFrame| {
        frame.address = Some(([127, 0, 0, 1], port).into());
        frame
    };
    let mut vehicle = Vehicle::new(None);
    let found = vehicle.receive(from(7, heartbeat()), 0);
    let address = Some(([127, 0, 0, 1], 7).into());
    assert_eq!(found, Some(VehicleEvent::Found { system: 3, address }));
    assert_eq!(vehicle.receive(from(8, heartbeat()), 0), None);
    let packet = vehicle.receive(from(8, stream(0, true)), 0);
    assert_eq!(packet, Some(VehicleEvent::OtherPacket));
    let packet = vehicle.receive(from(7, stream(0, false)), 0);
    assert!(matches!(packet, Some(VehicleEvent::Packet(_))));
    assert_eq!((vehicle.other_senders(), sent(&mut vehicle)), (1, vec![]));
}

#[test]
fn stop_is_repeated_until_it_is_answered() {
    let mut vehicle = Vehicle::new(None);
    vehicle.receive(heartbeat(), 0);
    vehicle.receive(stream(0, false), 0);
    vehicle.advance(0);
    vehicle.take_outgoing();
    vehicle.stop(10);
    vehicle.advance(10);
    vehicle.advance(10 + SECOND / 2);
    let frames = vehicle.take_outgoing();
    // The command, 2511, follows seven parameters; then system, component and confirmation, of
    // which MAVLink 2 omits a zero at the end.
    assert_eq!(frames[0][38..42], [0xcf, 9, 3, 1]);
    assert_eq!(frames[1][38..43], [0xcf, 9, 3, 1, 1]);
    let stop = MavCmd::MAV_CMD_LOGGING_STOP;
    let in_progress = answer(stop, MavResult::MAV_RESULT_IN_PROGRESS);
    assert_eq!(vehicle.receive(in_progress, SECOND), None);
    assert!(matches!(
        vehicle.receive(stream(1, true), SECOND),
        Some(VehicleEvent::Packet(_))
    ));
    assert_eq!(sent(&mut vehicle), [ACK]);
    let event = vehicle.receive(answer(stop, MavResult::MAV_RESULT_ACCEPTED), SECOND);
    assert_eq!(event, Some(VehicleEvent::Stopped));
    vehicle.advance(9 * SECOND);
    assert_eq!(sent(&mut vehicle), [BEAT]);
}
