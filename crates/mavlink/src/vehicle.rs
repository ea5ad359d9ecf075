//! The conversation with a vehicle that streams its log.
//!
//! It has no sockets and no clock: frames and times in microseconds are passed to it.

use std::fmt::{self, Display};

use mavlink::{
    MavHeader,
    dialects::common::{
        COMMAND_LONG_DATA, HEARTBEAT_DATA, LOGGING_ACK_DATA, MavAutopilot, MavCmd,
        MavComponent, MavMessage, MavResult, MavState, MavType,
    },
};

use crate::{
    frame::{self, Content, Frame},
    packet::StreamPacket,
};

/// Our system: that of ground stations.
const OUR_SYSTEM: u8 = 255;

/// Time between heartbeats, in microseconds (MAVLink, "Heartbeat Protocol": generally 1 Hz).
const HEARTBEAT_MICROS: u64 = 1_000_000;
/// Time between commands that are not answered, in microseconds.
const COMMAND_MICROS: u64 = 500_000;

/// A vehicle and the state of its log stream.
#[derive(Debug)]
pub struct Vehicle {
    /// The system that is wanted; if `None`, the first autopilot is.
    wanted: Option<u8>,
    /// The system and component of the autopilot.
    target: Option<(u8, u8)>,
    phase: Phase,
    next_heartbeat: u64,
    next_command: u64,
    /// How often the command was sent.
    attempts: u8,
    sequence: u8,
    outgoing: Vec<Vec<u8>>,
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
        /// Its system.
        system: u8,
    },
    /// The vehicle answered the command that starts the stream.
    Start(CommandResult),
    /// A part of the log.
    Packet(StreamPacket),
    /// A part of the log that contradicts itself.
    MalformedPacket,
    /// The vehicle answered the command that stops the stream.
    Stopped,
}

/// The answer to a command (`MAV_RESULT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommandResult {
    /// The command is done.
    Accepted,
    /// The vehicle cannot do it now.
    TemporarilyRejected,
    /// The command is being done.
    InProgress,
    /// The vehicle does not do it.
    Denied,
    /// The vehicle does not know the command.
    Unsupported,
    /// The vehicle tried and failed.
    Failed,
    /// Another answer.
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
    /// Creates the conversation with the vehicle `system`, or else with the first autopilot that
    /// sends a heartbeat.
    pub fn new(system: Option<u8>) -> Self {
        Self {
            wanted: system,
            target: None,
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

    /// Queues the heartbeat and the command that are due at `now`.
    pub fn advance(&mut self, now: u64) {
        if now >= self.next_heartbeat {
            self.next_heartbeat = now + HEARTBEAT_MICROS;
            // Not as a ground station: a vehicle would take its end for the loss of one.
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
        if now >= self.next_command {
            self.next_command = now + COMMAND_MICROS;
            self.send_command(command, self.attempts);
            self.attempts = self.attempts.saturating_add(1);
        }
    }

    /// Returns the meaning of `frame`, which arrived at `now`, if it is part of the conversation.
    pub fn receive(&mut self, frame: Frame, now: u64) -> Option<VehicleEvent> {
        let sender = (frame.system, frame.component);
        if self.target.is_none() {
            let is_wanted = self.wanted.is_none_or(|system| system == frame.system);
            if is_wanted && frame.content == (Content::Heartbeat { is_autopilot: true })
            {
                self.target = Some(sender);
                self.next_command = now;
                return Some(VehicleEvent::Found { system: frame.system });
            }
            return None;
        }
        if self.target != Some(sender) {
            return None;
        }
        match frame.content {
            Content::Stream { sequence, needs_answer, packet } => {
                if needs_answer {
                    // Each time: the vehicle repeats the packet if the answer was lost.
                    self.send_answer(sequence);
                }
                Some(packet.map_or(VehicleEvent::MalformedPacket, VehicleEvent::Packet))
            }
            Content::Answer { command: MavCmd::MAV_CMD_LOGGING_START, result }
                if self.phase == Phase::Starting =>
            {
                let result = command_result(result);
                if result == CommandResult::Accepted {
                    self.phase = Phase::Streaming;
                }
                Some(VehicleEvent::Start(result))
            }
            // PX4 first answers that it is in progress, and sends its last counters before the end.
            Content::Answer { command: MavCmd::MAV_CMD_LOGGING_STOP, result }
                if self.phase == Phase::Stopping
                    && result != MavResult::MAV_RESULT_IN_PROGRESS =>
            {
                self.phase = Phase::Stopped;
                Some(VehicleEvent::Stopped)
            }
            _ => None,
        }
    }

    /// States that the log arrives from its start on: the command that starts it is not repeated,
    /// even if its answer was lost.
    pub fn confirm_start(&mut self) {
        if self.phase == Phase::Starting {
            self.phase = Phase::Streaming;
        }
    }

    /// Stops the stream: the command is sent from `now` on, until the vehicle answers.
    pub fn stop(&mut self, now: u64) {
        self.phase = Phase::Stopping;
        self.attempts = 0;
        self.next_command = now;
    }

    /// Sends one command that stops a stream which runs already, before the next command that starts
    /// one.
    pub fn stop_earlier_stream(&mut self) {
        self.send_command(MavCmd::MAV_CMD_LOGGING_STOP, 0);
    }

    /// Returns the frames that are to be sent, in order.
    pub fn take_outgoing(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.outgoing)
    }

    fn send_command(&mut self, command: MavCmd, confirmation: u8) {
        let Some((target_system, target_component)) = self.target else { return };
        // Parameter 1 of the start is the format: 0 is ULog.
        self.send(&MavMessage::COMMAND_LONG(COMMAND_LONG_DATA {
            command,
            target_system,
            target_component,
            confirmation,
            ..COMMAND_LONG_DATA::DEFAULT
        }));
    }

    fn send_answer(&mut self, sequence: u16) {
        let Some((target_system, target_component)) = self.target else { return };
        self.send(&MavMessage::LOGGING_ACK(LOGGING_ACK_DATA {
            sequence,
            target_system,
            target_component,
        }));
    }

    fn send(&mut self, message: &MavMessage) {
        let header = MavHeader {
            system_id: OUR_SYSTEM.into(),
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
