//! Extracts the packets from the messages of a log.

use logtool_core::{Manifest, Record, Result, TopicId};

use crate::{
    model::{Model, ReturnMode, Sensor},
    vel::{
        decode::{points, topics::TopicKind},
        format_state::{FORMAT_NAME, FormatState},
    },
};

/// Extracts the packets from the messages of a `.vel` log.
#[derive(Clone, Copy, Debug)]
pub struct PacketReader {
    topic: Option<TopicId>,
    /// The validity byte of valid messages.
    valid: u8,
    sensor: Sensor,
}

impl PacketReader {
    /// Creates a reader for the log with this manifest.
    ///
    /// # Errors
    /// `Malformed` if the manifest is not from a `.vel` log.
    pub fn new(manifest: &Manifest) -> Result<Self> {
        let state: FormatState = manifest.decode_state(FORMAT_NAME)?;
        let topic = state.topics.iter().position(|kind| *kind == TopicKind::Packets);
        let topic = topic.map(|index| TopicId(index as u32));
        // The sensor only determines the times of packets without a valid timestamp.
        let default = Sensor { model: Model::Hdl64eS2, returns: ReturnMode::Strongest };
        let sensor = state.lidar.map_or(default, |lidar| lidar.sensor);
        Ok(Self { topic, valid: state.valid, sensor })
    }

    /// Returns the topic of the messages of packets, if there is one.
    pub fn topic(&self) -> Option<TopicId> {
        self.topic
    }

    /// Returns whether `message` is marked valid.
    pub fn is_valid(&self, message: &Record<'_>) -> bool {
        message.payload.first() == Some(&self.valid)
    }

    /// Returns the packets of `message` as records, each with its own arrival time.
    pub fn packets<'r>(
        &self,
        message: Record<'r>,
    ) -> impl Iterator<Item = Record<'r>> + use<'r> {
        points::packets(self.sensor, message)
    }
}
