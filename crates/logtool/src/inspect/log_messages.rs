//! Text messages of a log: logged strings and events of PX4, or the messages of nodes.

mod filter;
mod iterator;
mod rosout;

use logtool_core::{Manifest, TopicSet};
use logtool_ulog::topic_names;

use crate::{
    error::{Error, Result},
    formats::{self, LogFormat},
    records::{read::MakeRows, rows::PrintedRows},
};

pub use self::{
    filter::MessageFilter,
    iterator::{LogMessage, LogMessages},
};
pub use crate::records::message_text::{LevelChoice, is_urgent};

/// The topics of the text messages of a log, and how their rows are made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MessageTopics {
    /// The topics.
    pub topics: TopicSet,
    /// The labels of topics that are left out because they only repeat messages of others.
    pub repeated: Vec<String>,
    /// Makes rows for people: time, level and message.
    pub text_rows: MakeRows,
    /// Makes rows for programs, with all that is known of a message.
    pub json_rows: MakeRows,
}

/// Returns the topics of the text messages of the log of `manifest`, if it has any.
pub fn topics(manifest: &Manifest) -> Option<MessageTopics> {
    let (nodes, repeated) = rosout::topics(manifest);
    if nodes.is_empty() {
        let topic = manifest.topic_id(topic_names::MESSAGES).ok()?;
        return Some(MessageTopics {
            topics: [topic].into_iter().collect(),
            repeated: Vec::new(),
            text_rows: PrintedRows::text,
            json_rows: PrintedRows::json,
        });
    }
    let label = |id| Some(manifest.topic(id).ok()?.label().into_owned());
    Some(MessageTopics {
        topics: nodes.into_iter().collect(),
        repeated: repeated.into_iter().filter_map(label).collect(),
        text_rows: rosout::text,
        json_rows: rosout::json,
    })
}

/// Like [`topics`], but a log without text messages is an error.
///
/// # Errors
/// If the log has no text messages.
pub fn require_topics(manifest: &Manifest) -> Result<MessageTopics> {
    topics(manifest).ok_or_else(|| {
        let has_messages =
            LogFormat::from_manifest(manifest).is_some_and(LogFormat::has_messages);
        let noun = formats::noun(manifest);
        Error::other(match has_messages {
            true => {
                format!(
                    "it is {noun} without a topic of the type rosgraph_msgs/Log or foxglove.Log"
                )
            }
            false => format!("it is {noun}, which has no text messages"),
        })
    })
}
