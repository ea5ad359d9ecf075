//! PX4 events: messages of the autopilot, logged as numbers and decoded offline.
//!
//! A log contains the definitions of its events in the multi information
//! `metadata_events`: libevents JSON, compressed with xz. Without them, callers can supply
//! the file `all_events.json` of the PX4 release. Records of the topic `event` refer to
//! the definitions:
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
//! of pyulog's `PX4Events`, whose texts are reproduced except for these choices:
//!
//! - a float without a precision is written as the shortest decimal that is this 32-bit
//!   float (`0.1`), not as the nearest 64-bit float (`0.10000000149011612`);
//! - arguments that exceed the available bytes, or whose type is not defined, get a
//!   placeholder in brackets, where pyulog rejects the log;
//! - a precision on an enumeration is ignored, where pyulog rejects the log;
//! - at most 64 decimals are printed, and no text is longer than 16 KiB.

mod argument;
mod definitions;
mod template;
mod types;
mod xz;

#[cfg(test)]
mod pyulog_tests;
#[cfg(test)]
mod tests;

use logtool_core::{Result, Value};

use crate::level::Level;

pub use self::definitions::Catalog;

/// An event as it is in the log: one record of the topic `event`.
#[derive(Clone, Copy, Debug)]
pub struct RawEvent<'a> {
    /// The component in the high byte, the event within it in the low 24 bits.
    pub id: u32,
    /// The running number of the event; a gap means that events were lost.
    pub sequence: u16,
    /// The packed arguments, possibly with unused trailing bytes.
    pub arguments: &'a [u8],
    /// The internal level in the high nibble, the external one in the low nibble.
    pub log_levels: u8,
}

impl RawEvent<'_> {
    /// Returns the severity of the event in a log.
    pub(crate) fn internal_level(&self) -> Level {
        Level::new(self.log_levels >> 4)
    }
}

/// An event with its texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<'c> {
    /// The name of the component, e.g. `px4`.
    pub namespace: &'c str,
    /// The name of the event within its component.
    pub name: &'c str,
    /// The group of the event: `default`, `health`, `arming_check`, `calibration`…
    ///
    /// pyulog and ground stations show the group `default` as messages. The other
    /// groups are reports of checks, with many events at a time.
    pub group: &'c str,
    /// The role of the event in its group, e.g. `summary`; mostly empty.
    pub kind: &'c str,
    /// The running number of the event; a gap means that events were lost.
    pub sequence: u16,
    /// The severity that is shown to the pilot.
    pub level: Level,
    /// The severity in the log; pyulog shows this level.
    pub internal_level: Level,
    /// One line of text, with the arguments filled in.
    pub message: String,
    /// An explanation or advice, if the definition has one.
    pub description: Option<String>,
    /// The arguments in the order of the definition.
    pub arguments: Vec<Argument<'c>>,
}

/// An argument of an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument<'c> {
    /// The name in the definition.
    pub name: &'c str,
    /// The number in the log (`Int`, `UInt` or `Float`), or `None` if its bytes are
    /// missing.
    pub value: Option<Value>,
    /// Whether `text` consists of labels, and not of digits.
    pub is_label: bool,
    /// The number, the label of an enumeration value, or the joined labels of all bits
    /// that are set.
    pub text: String,
}

impl Catalog {
    /// Parses a file with definitions: `all_events.json` or `all_events.json.xz` of a PX4
    /// release.
    ///
    /// # Errors
    ///
    /// Those of [`from_xz`](Self::from_xz) and [`from_json`](Self::from_json).
    pub fn from_file(bytes: &[u8]) -> Result<Self> {
        if bytes.starts_with(xz::MAGIC) {
            Self::from_xz(bytes)
        } else {
            Self::from_json(bytes)
        }
    }

    /// Decompresses and parses definitions: the joined bytes of `metadata_events`.
    ///
    /// # Errors
    ///
    /// `Malformed` if the bytes are not valid xz or not definitions; `Limit` if they
    /// decompress to more than 16 MiB (PX4's have about 160 KiB).
    pub fn from_xz(bytes: &[u8]) -> Result<Self> {
        Self::from_json(&xz::decompress(bytes)?)
    }

    /// Returns the group of the event with this id, or `None` if the catalog does not
    /// define it.
    pub(crate) fn group(&self, id: u32) -> Option<&str> {
        self.definition(id).map(|definition| &*definition.group)
    }

    /// Returns an event with its texts, or `None` if the catalog does not define its
    /// id.
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

/// Truncates a string to at most `bytes` bytes, at a character boundary.
fn truncate(text: &mut String, mut bytes: usize) {
    if text.len() > bytes {
        while !text.is_char_boundary(bytes) {
            bytes -= 1;
        }
        text.truncate(bytes);
    }
}
