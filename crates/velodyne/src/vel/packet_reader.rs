//! The packets in the messages of a log.

use logtool_core::{Manifest, Record, Result, TopicId};

use crate::{
    model::{Model, ReturnMode, Sensor},
    vel::{notes, points},
};

/// Takes the packets out of the messages of a `.vel` log.
#[derive(Clone, Copy, Debug)]
pub struct PacketReader {
    topic: Option<TopicId>,
    valid: u8,
    sensor: Sensor,
}

impl PacketReader {
    /// For the log that `manifest` is of.
    ///
    /// # Errors
    /// `Malformed` if that is no `.vel` log.
    pub fn new(manifest: &Manifest) -> Result<Self> {
        let (topic, valid, lidar) = notes::packets_topic(manifest)?;
        let unknown = Sensor { model: Model::Hdl64eS2, returns: ReturnMode::Strongest };
        Ok(Self { topic, valid, sensor: lidar.unwrap_or(unknown) })
    }

    /// The topic of the messages of packets, if there is one.
    pub fn topic(&self) -> Option<TopicId> {
        self.topic
    }

    /// Whether `message` is marked valid.
    pub fn is_valid(&self, message: &Record<'_>) -> bool {
        message.payload.first() == Some(&self.valid)
    }

    /// The packets of `message`, each as if it was a record, of the time when it came.
    pub fn packets<'r>(
        &self,
        message: Record<'r>,
    ) -> impl Iterator<Item = Record<'r>> + use<'r> {
        points::packets(self.sensor, message)
    }
}
