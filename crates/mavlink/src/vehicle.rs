//! The protocol for receiving the log stream of a vehicle.
//!
//! It does not use sockets or a clock: frames and times in microseconds are passed by the caller.

use std::{
    collections::BTreeSet,
    fmt::{self, Display},
    net::SocketAddr,
};

use mavlink::{
    MavHeader,
    dialects::common::{
        COMMAND_LONG_DATA, HEARTBEAT_DATA, LOGGING_ACK_DATA, MavAutopilot, MavCmd,
        MavComponent, MavMessage, MavResult, MavState, MavType,
    },
};

use crate::{
    frame::{self, Content, Frame, ReceivedFrame},
    packet::StreamPacket,
};

/// The system id of the receiver: that of ground stations.
const SYSTEM_ID: u8 = 255;

/// The time between heartbeats in microseconds (MAVLink, "Heartbeat Protocol": generally 1 Hz).
const HEARTBEAT_MICROS: u64 = 1_000_000;
/// The time after which an unacknowledged command is repeated, in microseconds.
const COMMAND_MICROS: u64 = 500_000;

/// The maximum number of other senders that are distinguished.
const MAX_OTHERS: usize = 1000;

/// A vehicle and the state of its log stream.
#[derive(Debug)]
pub struct Vehicle {
    /// The id of the requested system; `None` for the first autopilot.
    requested_system: Option<u8>,
    /// The autopilot.
    target: Option<Sender>,
    /// The other autopilots, and the other senders of log streams.
    others: BTreeSet<Sender>,
    phase: Phase,
    next_heartbeat: u64,
    next_command: u64,
    /// The number of times that the current command was sent.
    attempts: u8,
    sequence: u8,
    outgoing: Vec<Vec<u8>>,
}

/// The sender of a frame. Two vehicles may have the same ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Sender {
    system: u8,
    component: u8,
    /// The UDP address; `None` for other connections.
    address: Option<SocketAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Starting,
    Streaming,
    Stopping,
    Stopped,
}

/// The meaning of a frame from a vehicle.
#[derive(Clone, Debug, PartialEq)]
pub enum VehicleEvent {
    /// The autopilot was found.
    Found {
        /// The id of its system.
        system: u8,
        /// Its UDP address; `None` for other connections.
        address: Option<SocketAddr>,
    },
    /// The vehicle acknowledged the command that starts the stream, with this result.
    Start(CommandResult),
    /// A packet of the log stream.
    Packet(StreamPacket),
    /// A packet of the log stream whose fields contradict each other.
    MalformedPacket,
    /// A packet of a log stream that arrived before the autopilot was found.
    EarlyPacket,
    /// A packet of a log stream of another sender.
    OtherPacket,
    /// The vehicle acknowledged the command that stops the stream.
    Stopped,
}

/// The result of a command (`MAV_RESULT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandResult {
    /// The command was executed.
    Accepted,
    /// The command is valid, but cannot be executed now.
    TemporarilyRejected,
    /// The command is being executed.
    InProgress,
    /// The command was denied.
    Denied,
    /// The vehicle does not support the command.
    Unsupported,
    /// The command was executed, but failed.
    Failed,
    /// Any other result.
    Other,
}

impl Display for CommandResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted => "accepted",
            Self::TemporarilyRejected => "temporarily rejected",
            Self::InProgress => "in progress",
            Self::Denied => "denied",
            Self::Unsupported => "unsupported",
            Self::Failed => "failed",
            Self::Other => "refused",
        })
    }
}

impl Vehicle {
    /// Creates the receiver for the vehicle with the system id `system`, or for the first autopilot
    /// that sends a heartbeat.
    pub fn new(system: Option<u8>) -> Self {
        Self {
            requested_system: system,
            target: None,
            others: BTreeSet::new(),
            phase: Phase::Starting,
            next_heartbeat: 0,
            next_command: 0,
            attempts: 0,
            sequence: 0,
            outgoing: Vec::new(),
        }
    }

    /// Returns whether the autopilot was found.
    pub fn is_found(&self) -> bool {
        self.target.is_some()
    }

    /// Returns the number of other autopilots and other senders of log streams, up to 1000, which
    /// were ignored since the autopilot was found.
    pub fn other_senders(&self) -> u64 {
        self.others.len() as u64
    }

    /// Queues the heartbeat and the command that are due at `now_micros`.
    pub fn advance(&mut self, now_micros: u64) {
        if now_micros >= self.next_heartbeat {
            self.next_heartbeat = now_micros + HEARTBEAT_MICROS;
            // The type is not a ground station: otherwise, the vehicle would detect the loss of its
            // data link after the end of the recording.
            self.send(&MavMessage::HEARTBEAT(HEARTBEAT_DATA {
                mavtype: MavType::MAV_TYPE_LOG,
                autopilot: MavAutopilot::MAV_AUTOPILOT_INVALID,
                system_status: MavState::MAV_STATE_ACTIVE,
                mavlink_version: 3,
                ..HEARTBEAT_DATA::DEFAULT
            }));
        }
        let command = match self.phase {
            Phase::Starting => MavCmd::MAV_CMD_LOGGING_START,
            Phase::Stopping => MavCmd::MAV_CMD_LOGGING_STOP,
            Phase::Streaming | Phase::Stopped => return,
        };
        if now_micros >= self.next_command {
            self.next_command = now_micros + COMMAND_MICROS;
            self.send_command(command, self.attempts);
            self.attempts = self.attempts.saturating_add(1);
        }
    }

    /// Processes a frame, which arrived at `now_micros`. Returns its meaning, or `None` if it is
    /// not relevant for the log stream.
    pub fn receive(
        &mut self,
        received: ReceivedFrame,
        now_micros: u64,
    ) -> Option<VehicleEvent> {
        let ReceivedFrame { frame: Frame { system, component, content }, address } =
            received;
        let sender = Sender { system, component, address };
        let is_stream = matches!(content, Content::Stream { .. });
        let is_autopilot = content == (Content::Heartbeat { is_autopilot: true });
        let Some(target) = self.target else {
            let is_requested =
                self.requested_system.is_none_or(|requested| requested == system);
            if is_requested && is_autopilot {
                self.target = Some(sender);
                self.next_command = now_micros;
                return Some(VehicleEvent::Found { system, address });
            }
            return is_stream.then_some(VehicleEvent::EarlyPacket);
        };
        if target != sender {
            if (is_stream || is_autopilot) && self.others.len() < MAX_OTHERS {
                self.others.insert(sender);
            }
            return is_stream.then_some(VehicleEvent::OtherPacket);
        }
        match content {
            Content::Stream { sequence, needs_ack, packet } => {
                if needs_ack {
                    // Repeated packets are acknowledged, too: the previous acknowledgement was
                    // lost.
                    self.send_ack(sequence);
                }
                Some(packet.map_or(VehicleEvent::MalformedPacket, VehicleEvent::Packet))
            }
            Content::CommandAck { command: MavCmd::MAV_CMD_LOGGING_START, result }
                if self.phase == Phase::Starting =>
            {
                let result = command_result(result);
                if result == CommandResult::Accepted {
                    self.phase = Phase::Streaming;
                }
                Some(VehicleEvent::Start(result))
            }
            // PX4 first reports that the command is in progress, and sends its last data before the
            // end.
            Content::CommandAck { command: MavCmd::MAV_CMD_LOGGING_STOP, result }
                if self.phase == Phase::Stopping
                    && result != MavResult::MAV_RESULT_IN_PROGRESS =>
            {
                self.phase = Phase::Stopped;
                Some(VehicleEvent::Stopped)
            }
            _ => None,
        }
    }

    /// Declares that the start of the log has arrived. The start command is no longer repeated,
    /// even if its acknowledgement was lost.
    pub fn confirm_start(&mut self) {
        if self.phase == Phase::Starting {
            self.phase = Phase::Streaming;
        }
    }

    /// Stops the stream: the stop command is sent from `now_micros` on, until the vehicle
    /// acknowledges it.
    pub fn stop(&mut self, now_micros: u64) {
        self.phase = Phase::Stopping;
        self.attempts = 0;
        self.next_command = now_micros;
    }

    /// Queues one stop command, which stops a stream that is already running before a new stream is
    /// started.
    pub fn stop_earlier_stream(&mut self) {
        self.send_command(MavCmd::MAV_CMD_LOGGING_STOP, 0);
    }

    /// Removes and returns the queued frames, in the order in which they must be sent.
    pub fn take_outgoing(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.outgoing)
    }

    fn send_command(&mut self, command: MavCmd, confirmation: u8) {
        let Some(Sender { system, component, .. }) = self.target else { return };
        // Parameter 1 of the start is the format: 0 is ULog.
        self.send(&MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
            command,
            target_system: system,
            target_component: component,
            confirmation,
            ..COMMAND_LONG_DATA::DEFAULT
        }));
    }

    fn send_ack(&mut self, sequence: u16) {
        let Some(Sender { system, component, .. }) = self.target else { return };
        self.send(&MavMessage::LOGGING_ACK(LOGGING_ACK_DATA {
            sequence,
            target_system: system,
            target_component: component,
        }));
    }

    fn send(&mut self, message: &MavMessage) {
        let header = MavHeader {
            system_id: SYSTEM_ID.into(),
            component_id: MavComponent::MAV_COMP_ID_LOG as u8,
            sequence: self.sequence,
        };
        self.sequence = self.sequence.wrapping_add(1);
        self.outgoing.push(frame::encode(header, message));
    }
}

fn command_result(result: MavResult) -> CommandResult {
    match result {
        MavResult::MAV_RESULT_ACCEPTED => CommandResult::Accepted,
        MavResult::MAV_RESULT_TEMPORARILY_REJECTED => {
            CommandResult::TemporarilyRejected
        }
        MavResult::MAV_RESULT_IN_PROGRESS => CommandResult::InProgress,
        MavResult::MAV_RESULT_DENIED => CommandResult::Denied,
        MavResult::MAV_RESULT_UNSUPPORTED => CommandResult::Unsupported,
        MavResult::MAV_RESULT_FAILED => CommandResult::Failed,
        _ => CommandResult::Other,
    }
}

#[cfg(test)]
mod tests;
