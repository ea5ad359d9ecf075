//! The topics that a ULog has beside those it names: logged strings, parameter changes,
//! dropouts, and, made of others, events in words and all messages as people read them.
//!
//! A record of these is a whole message of the file but for its size: its first byte is
//! the message's type.

mod changes;
mod dropouts;
mod event_layout;
mod events;
mod messages;
mod rows;
mod strings;

use logtool_core::{Columns, Decoder, Result, TopicId};

use crate::notes::BuiltIn;

pub(crate) use self::{
    changes::schema as changes_schema,
    dropouts::schema as dropouts_schema,
    event_layout::{EVENT_DEFINITIONS, EventLayout},
    events::schema as events_schema,
    messages::schema as messages_schema,
    messages::{is_event_message, is_string_message},
    rows::Words,
    strings::schema as strings_schema,
};

/// A decoder of the built-in topic `id`, or nothing if it is none of them.
pub(crate) fn decoder(
    id: TopicId,
    built_in: &BuiltIn,
    columns: &Columns,
    words: Words,
) -> Option<Result<Box<dyn Decoder>>> {
    let rows = |made| rows::decoder(made, columns);
    Some(if id == built_in.logged_strings {
        rows(strings::rows())
    } else if id == built_in.parameter_changes {
        rows(changes::rows())
    } else if id == built_in.dropouts {
        rows(dropouts::rows())
    } else if id == built_in.messages {
        rows(messages::rows(words))
    } else if Some(id) == built_in.events {
        rows(events::rows(words))
    } else {
        return None;
    })
}
