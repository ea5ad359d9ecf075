//! Extracts the packets from the messages of a log.

use logtool_core::{Manifest, Record, Result, TopicId};

use crate::{
    model::{Model, ReturnMode, Sensor},
    vel::{decode::points, format_state},
};

/// Extracts the packets from the messages of a `.vel` log.
#[derive(Clone, Copy, Debug)]
pub struct PacketReader {
    topic: Option<TopicId>,
    valid: u8,
    sensor: Sensor,
}

impl PacketReader {
    /// Creates a reader for the log with this manifest.
    ///
    /// # Errors
    /// `Malformed` if the manifest is not from a `.vel` log.
    pub fn new(manifest: &Manifest) -> Result<Self> {
        let (topic, valid, lidar) = format_state::packets_topic(manifest)?;
        let unknown = Sensor { model: Model::Hdl64eS2, returns: ReturnMode::Strongest };
        Ok(Self { topic, valid, sensor: lidar.unwrap_or(unknown) })
    }

    /// Returns the topic of the messages of packets, if there is one.
    pub fn topic(&self) -> Option<TopicId> {
        self.topic
    }

    /// Returns whether `message` is marked valid.
    pub fn is_valid(&self, message: &Record<'_>) -> bool {
        message.payload.first() == Some(&self.valid)
    }

    /// Returns the packets of `message` as records, each with the time of its arrival.
    pub fn packets<'r>(
        &self,
        message: Record<'r>,
    ) -> impl Iterator<Item = Record<'r>> + use<'r> {
        points::packets(self.sensor, message)
    }
}
