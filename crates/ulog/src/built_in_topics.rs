//! Topics that every ULog has in addition to its logged topics: logged strings,
//! parameter changes and dropouts, plus two topics that are derived from other records:
//! decoded events, and all messages in readable form.
//!
//! A record of such a topic is a whole message of the file without its size field: the
//! first byte is the message type.

mod dropouts;
mod event_layout;
mod events;
mod logged_strings;
mod messages;
mod parameter_changes;
mod rows;

use logtool_core::{Columns, Decoder, Result, TopicId};

use crate::format_state::BuiltIn;

pub use self::event_layout::EVENT_DEFINITIONS;
pub(crate) use self::{
    dropouts::schema as dropouts_schema,
    event_layout::EventLayout,
    events::schema as events_schema,
    logged_strings::schema as strings_schema,
    messages::schema as messages_schema,
    messages::{is_event_message, is_string_message},
    parameter_changes::schema as changes_schema,
    rows::EventReader,
};

/// Returns a decoder for the built-in topic `id`, or `None` if `id` is not a built-in
/// topic.
pub(crate) fn decoder(
    id: TopicId,
    built_in: &BuiltIn,
    columns: &Columns,
    event_reader: EventReader,
) -> Option<Result<Box<dyn Decoder>>> {
    let rows = |built| rows::decoder(built, columns);
    Some(if id == built_in.logged_strings {
        rows(logged_strings::rows())
    } else if id == built_in.parameter_changes {
        rows(parameter_changes::rows())
    } else if id == built_in.dropouts {
        rows(dropouts::rows())
    } else if id == built_in.messages {
        rows(messages::rows(event_reader))
    } else if Some(id) == built_in.events {
        rows(events::rows(event_reader))
    } else {
        return None;
    })
}
