//! PX4 events: what the autopilot said, told as numbers and put into words offline.
//!
//! A log carries its own dictionary, the multi-part information `metadata_events`: the
//! JSON definitions of libevents, packed with xz. The topic `event` refers to it:
//!
//! | field            | type        | meaning                                          |
//! |------------------|-------------|--------------------------------------------------|
//! | `timestamp`      | u64         | µs                                               |
//! | `id`             | u32         | component in the high byte, event in the low 24 bits |
//! | `event_sequence` | u16         | counts up by one; a gap is a lost event          |
//! | `arguments`      | u8\[25\]    | packed little-endian values, without padding     |
//! | `log_levels`     | u8          | internal level in the high nibble, external in the low one |
//!
//! Sources: the README of `mavlink/libevents`, PX4's `msg/Event.msg`, and the behaviour
//! of pyulog's `PX4Events`, whose text ours equals but for these choices:
//!
//! - a float without a precision is written as the shortest number that is this 32-bit
//!   float (`0.1`), not as the 64-bit number next to it (`0.10000000149011612`);
//! - arguments that the bytes are too short for, or whose type nobody defined, get a
//!   placeholder in brackets where pyulog gives up on the log;
//! - a precision on an enumeration is ignored where pyulog gives up on the log;
//! - more than 64 decimals are not printed, and no text grows beyond 16 KiB.

mod argument;
mod definitions;
mod template;
mod types;
mod unpack;

#[cfg(test)]
mod peer;
#[cfg(test)]
mod tests;

use logtool_core::{Result, Value};

use crate::level::Level;

pub use self::definitions::Catalog;

/// An event as the log has it: one row of the topic `event`.
#[derive(Clone, Copy, Debug)]
pub struct RawEvent<'a> {
    /// The component in the high byte, the event within it in the low 24 bits.
    pub id: u32,
    /// The running number; a gap is a lost event.
    pub sequence: u16,
    /// The packed arguments, possibly with unused bytes behind them.
    pub arguments: &'a [u8],
    /// The internal level in the high nibble, the external one in the low nibble.
    pub log_levels: u8,
}

impl RawEvent<'_> {
    /// How urgent the event is in a log.
    pub(crate) fn internal_level(&self) -> Level {
        Level::new(self.log_levels >> 4)
    }
}

/// An event in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<'c> {
    /// The name of the component, such as `px4`.
    pub namespace: &'c str,
    /// The name of the event within its component.
    pub name: &'c str,
    /// What the event belongs to: `default`, `health`, `arming_check`, `calibration`…
    ///
    /// pyulog and ground stations show the group `default` as messages; the others
    /// are reports of checks, many at a time.
    pub group: &'c str,
    /// What part the event plays in its group, such as `summary`; mostly empty.
    pub kind: &'c str,
    /// The running number; a gap is a lost event.
    pub sequence: u16,
    /// How urgent the event is to the pilot.
    pub level: Level,
    /// How urgent the event is in a log; the level that pyulog shows.
    pub internal_level: Level,
    /// One line, with the arguments filled in.
    pub message: String,
    /// What it means or what to do about it, if the definition says so.
    pub description: Option<String>,
    /// The arguments in the order of the definition.
    pub arguments: Vec<Argument<'c>>,
}

/// An argument of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument<'c> {
    /// The name in the definition.
    pub name: &'c str,
    /// The number in the log (`Int`, `UInt` or `Float`), or none if there are no bytes
    /// left for it.
    pub value: Option<Value>,
    /// Whether `text` is made of labels and not of digits.
    pub is_label: bool,
    /// The number, or the label of an enumeration's value, or the labels of all bits
    /// set, joined.
    pub text: String,
}

impl Catalog {
    /// Unpacks and parses definitions: the joined bytes of `metadata_events`.
    ///
    /// # Errors
    ///
    /// `Malformed` if the bytes are not xz, or not definitions; `Limit` if they unpack
    /// to more than 16 MiB (real ones have 160 KiB).
    pub fn from_xz(bytes: &[u8]) -> Result<Self> {
        Self::from_json(&unpack::unpack(bytes)?)
    }

    /// The group of the event with this id, or none if the catalog does not know it.
    pub(crate) fn group(&self, id: u32) -> Option<&str> {
        self.definition(id).map(|definition| &*definition.group)
    }

    /// Puts an event into words, or none if the catalog does not know its id.
    pub fn describe(&self, event: &RawEvent<'_>) -> Option<Event<'_>> {
        let definition = self.definition(event.id)?;
        let arguments = self.read_arguments(definition, event.arguments);
        Some(Event {
            namespace: &definition.namespace,
            name: &definition.name,
            group: &definition.group,
            kind: &definition.kind,
            sequence: event.sequence,
            level: Level::new(event.log_levels & 0x0f),
            internal_level: event.internal_level(),
            message: template::render(&definition.message, &arguments),
            description: definition
                .description
                .as_deref()
                .map(|text| template::render(text, &arguments)),
            arguments,
        })
    }
}

/// Cuts a text to a length in bytes, between two characters.
fn cut(text: &mut String, mut bytes: usize) {
    if text.len() > bytes {
        while !text.is_char_boundary(bytes) {
            bytes -= 1;
        }
        text.truncate(bytes);
    }
}
