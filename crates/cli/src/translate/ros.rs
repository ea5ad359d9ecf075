//! Logs with messages of ROS 1: those that ROS has for such things, and of types that are
//! made for them elsewhere.

mod fixes;
mod lidar;
mod px4;
mod rows;

use std::sync::Arc;

use anyhow::{Context as _, Result};
use arrow_array::RecordBatch;
use logtool_core::{
    Columns, Log, RowTranslator, Topic, TopicId, TopicOrigin, Translate, Translation,
    View,
};
use logtool_rosmsg::Definition;

use crate::translate;

pub(super) use self::{
    lidar::{all_topics as lidar_topics, lidar, words as lidar_words},
    px4::{left_out as px4_left_out, px4},
};

/// What `topic` is as one of messages of the common type `type_name`, called as it is and
/// `more`.
fn common(topic: &Topic, more: &str, type_name: &str) -> Result<Topic> {
    let definition = Definition::common(type_name).context("a type of ROS")?;
    let mut about = made(topic, type_name, &definition)?;
    about.name.push_str(more);
    about.records = None;
    Ok(about)
}

/// What `topic` is as one of messages that `definition` defines.
fn made(topic: &Topic, type_name: &str, definition: &Definition) -> Result<Topic> {
    let mut metadata = topic.metadata.clone();
    metadata.insert("md5sum".to_owned(), definition.md5sum()?);
    Ok(Topic {
        name: translate::name(topic),
        instance: 0,
        origin: TopicOrigin::Logged,
        encoding: "ros1".to_owned(),
        type_name: type_name.to_owned(),
        definition: definition.text(),
        descriptor: Vec::new(),
        metadata,
        envelope: 0,
        ..topic.clone()
    })
}

/// How each row of the topic `id` of `log` becomes a message of `about`: `put` adds it to a
/// buffer, if it becomes one.
fn of_rows<F>(log: &Arc<dyn Log>, id: TopicId, about: Topic, put: F) -> Translation
where
    F: Fn(&RecordBatch, usize, &mut Vec<u8>) -> bool + Clone + Send + Sync + 'static,
{
    of_columns(log, id, Columns::all(View::Flat), about, put)
}

/// The same of rows that have only these `columns`.
fn of_columns<F>(
    log: &Arc<dyn Log>,
    id: TopicId,
    columns: Columns,
    about: Topic,
    put: F,
) -> Translation
where
    F: Fn(&RecordBatch, usize, &mut Vec<u8>) -> bool + Clone + Send + Sync + 'static,
{
    let log = log.clone();
    let begin = Arc::new(move || {
        let decoder = log.decoder(id, &columns)?;
        let translator: Box<dyn Translate> =
            Box::new(RowTranslator::new(decoder, put.clone()));
        Ok(translator)
    });
    Translation { from: id, topic: about, begin }
}
