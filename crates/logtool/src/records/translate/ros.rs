//! Translates logs to messages of ROS 1: those that ROS defines, and others with types that are
//! derived from the log.

mod cdr;
mod nav_sat_fix;
mod px4;
mod rows;

use logtool_core::{Topic, TopicContent, TopicOrigin};
use logtool_rosmsg::{Definition, TopicMetadata};

use crate::{
    error::{Context as _, Result},
    records::translate,
};

pub(super) use self::{
    cdr::{cdr, is_foreign},
    nav_sat_fix::fixes,
    px4::{
        TYPES_WITH_FRAMES as PX4_TYPES_WITH_FRAMES,
        dropped_metadata as px4_dropped_metadata, px4,
    },
    rows::rows,
};

/// Returns the topic of messages of the common type `type_name` for `topic`, with `more`
/// appended to its name.
pub(super) fn common_topic(
    topic: &Topic,
    more: &str,
    type_name: &str,
) -> Result<Topic> {
    let definition = Definition::by_name(type_name).context("a type of ROS")?;
    let mut topic_info = message_topic(topic, type_name, &definition)?;
    topic_info.name.push_str(more);
    topic_info.records = None;
    Ok(topic_info)
}

/// Returns the topic of messages with `definition` for `topic`.
fn message_topic(
    topic: &Topic,
    type_name: &str,
    definition: &Definition,
) -> Result<Topic> {
    let mut metadata = topic.metadata.clone();
    let md5sum = definition.md5sum()?;
    let changed = TopicMetadata { md5sum: Some(&md5sum), ..TopicMetadata::default() };
    changed.insert_into(&mut metadata);
    Ok(Topic {
        name: translate::name(topic),
        instance: 0,
        origin: TopicOrigin::Logged,
        content: TopicContent::Records,
        encoding: "ros1".to_owned(),
        type_name: type_name.to_owned(),
        definition: definition.text(),
        descriptor: Vec::new(),
        metadata,
        header_len: 0,
        ..topic.clone()
    })
}
