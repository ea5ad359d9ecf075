//! The positions of the fields in records of the topic `event`.

use logtool_core::{Layout, LayoutField, LayoutKind, Primitive};

use crate::{
    events::{Event, RawEvent},
    topics::registry::DeclaredTopic,
    wire,
};

/// The type of the topic that holds events.
const EVENT_TYPE: &str = "event";
/// The multi information that contains the definitions of events, compressed with xz.
pub const EVENT_DEFINITIONS: &str = "metadata_events";

/// The byte offsets of the fields of an event record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventLayout {
    id: usize,
    sequence: usize,
    arguments: (usize, usize),
    levels: usize,
}

impl EventLayout {
    /// Returns the layout of the records of `topic` if they are events.
    pub(crate) fn for_topic(topic: &DeclaredTopic) -> Option<Self> {
        let layout = topic.layout.as_ref().ok();
        layout.filter(|_| topic.type_name == EVENT_TYPE).and_then(|l| Self::find(l))
    }

    fn find(layout: &Layout) -> Option<Self> {
        let field = |name: &str, primitive| -> Option<&LayoutField> {
            let is_match = |field: &&LayoutField| {
                field.name == name && field.kind == LayoutKind::Primitive(primitive)
            };
            layout.fields.iter().find(is_match)
        };
        let arguments = field("arguments", Primitive::U8)?;
        Some(Self {
            id: field("id", Primitive::U32)?.offset as usize,
            sequence: field("event_sequence", Primitive::U16)?.offset as usize,
            arguments: (arguments.offset as usize, arguments.count? as usize),
            levels: field("log_levels", Primitive::U8)?.offset as usize,
        })
    }

    /// Reads an event from the bytes of a record. Returns `None` if the record is too
    /// short.
    pub(crate) fn read<'r>(&self, record: &'r [u8]) -> Option<RawEvent<'r>> {
        let (start, len) = self.arguments;
        Some(RawEvent {
            id: u32::from_le_bytes(*record.get(self.id..)?.first_chunk()?),
            sequence: u16::from_le_bytes(*record.get(self.sequence..)?.first_chunk()?),
            arguments: record.get(start..start.checked_add(len)?)?,
            log_levels: *record.get(self.levels)?,
        })
    }
}

impl super::EventReader {
    /// Reads the event from a data message that starts with its message type. Returns
    /// `None` if its topic does not hold events.
    pub(crate) fn event<'r>(&self, message: &'r [u8]) -> Option<RawEvent<'r>> {
        let (id, record) = wire::data(message.get(1..)?)?;
        self.layouts.get(&id)?.read(record)
    }

    /// Returns an event with its texts, or `None` if no catalog defines it.
    pub(crate) fn describe(&self, raw: &RawEvent<'_>) -> Option<Event<'_>> {
        self.catalogs.iter().find_map(|catalog| catalog.describe(raw))
    }
}
