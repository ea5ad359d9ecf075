//! The topics of a `.vel` log.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use logtool_core::{Columns, Decoder, Result, Topic, View};
use serde::{Deserialize, Serialize};

use crate::{
    PACKETS_TOPIC,
    packet::definition,
    rows,
    vel::{
        classifier::MessageExtent,
        decode::{image, layouts, packet_rows, raw_messages},
        wire::{self, PREFIX_LEN, kind},
    },
};

/// The kind of messages of one topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TopicKind {
    Obd,
    Gps,
    Image,
    Pose,
    Packets,
    /// A message with an unknown type, or without the length of its type.
    Raw {
        kind: u32,
        version: i32,
    },
    /// Raw messages beyond the maximum number of topics.
    OtherRaw,
}

/// The encoding of the payloads: messages without their size fields.
pub(crate) const ENCODING: &str = "vel";

/// The type of the messages with images.
const IMAGE_TYPE: &str = "ImageM";

/// Returns whether the records of `topic` are images of the cameras.
pub fn is_image_topic(topic: &Topic) -> bool {
    topic.encoding == ENCODING && topic.type_name == IMAGE_TYPE
}

impl TopicKind {
    /// Returns the topic of `message`.
    pub(crate) fn for_message(message: &MessageExtent) -> Self {
        let header = &message.header;
        let has_possible_len = wire::is_possible_len(header.kind, message.data_len());
        match header.kind {
            kind::OBD if message.fits => Self::Obd,
            kind::GPS if message.fits => Self::Gps,
            kind::IMAGE if message.fits || has_possible_len => Self::Image,
            kind::POSE if message.fits => Self::Pose,
            kind::VELODYNE if message.fits || has_possible_len => Self::Packets,
            kind => Self::Raw { kind, version: header.version },
        }
    }

    /// Returns the topic of these messages, without records.
    pub(crate) fn topic(self) -> Result<Topic> {
        let (name, type_name, definition) = match self {
            Self::Obd => ("obd", "OBDDataM", layouts::definition(layouts::OBD)),
            Self::Gps => ("gps", "GPSTDataM", layouts::definition(layouts::GPS)),
            Self::Image => ("image", IMAGE_TYPE, layouts::IMAGE.to_owned()),
            Self::Pose => ("pose", "RobotPoseM", layouts::definition(layouts::POSE)),
            Self::Packets => {
                let definition = [layouts::PACKETS, definition::DATA].join("\n");
                (PACKETS_TOPIC, "VelodyneRawDataM", definition)
            }
            Self::Raw { .. } | Self::OtherRaw => ("", "", String::new()),
        };
        let name = match self {
            Self::Raw { kind, version } => format!("message_{kind:#010x}_v{version}"),
            Self::OtherRaw => "messages_of_other_types".to_owned(),
            _ => name.to_owned(),
        };
        Ok(Topic {
            encoding: ENCODING.to_owned(),
            type_name: type_name.to_owned(),
            definition,
            records: Some(0),
            bytes: Some(0),
            ..Topic::new(name, self.schema()?)
        })
    }

    fn schema(self) -> Result<SchemaRef> {
        let fields = match self {
            Self::Image => image::fields(),
            Self::Packets => packet_rows::fields(),
            Self::Raw { .. } | Self::OtherRaw => raw_messages::fields(),
            _ => {
                let decoder = self.decoder(&Columns::new(View::Nested))?;
                return Ok(Arc::clone(decoder.schema()));
            }
        };
        Ok(rows::schema(fields))
    }

    /// Returns a decoder of the topic.
    pub(crate) fn decoder(self, columns: &Columns) -> Result<Box<dyn Decoder>> {
        Ok(match self {
            Self::Obd => Box::new(layouts::decoder(layouts::OBD, columns)?),
            Self::Gps => Box::new(layouts::decoder(layouts::GPS, columns)?),
            Self::Pose => Box::new(layouts::decoder(layouts::POSE, columns)?),
            Self::Image => image::decoder(columns)?,
            Self::Packets => packet_rows::decoder(columns)?,
            Self::Raw { .. } | Self::OtherRaw => raw_messages::decoder(columns)?,
        })
    }
}

/// Returns the length of the payload of `message`.
pub(crate) fn payload_len(message: &MessageExtent) -> u64 {
    message.len - (wire::HEADER_LEN - PREFIX_LEN) as u64
}
