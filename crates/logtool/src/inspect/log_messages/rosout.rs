//! The messages of nodes: `rosgraph_msgs/Log`, `rcl_interfaces/msg/Log` of ROS 2, and
//! `foxglove.Log`.
//!
//! | | levels | field of the text |
//! |---|---|---|
//! | ROS 1 | 1, 2, 4, 8, 16 | `msg` |
//! | ROS 2 | 10, 20, 30, 40, 50 | `msg` |
//! | Foxglove | 1 to 5; 0 is unknown | `message` |
//!
//! The field identifies the levels.

use std::sync::Arc;

use arrow_array::{
    Array as _, ArrayRef, Int64Array, RecordBatch, StringArray,
    cast::AsArray as _,
    types::{Int8Type, Int32Type, Int64Type, UInt8Type},
};
use arrow_schema::DataType;
use logtool_core::{Manifest, Topic, TopicId, TopicOrigin};

use crate::{error::Result, records::rows::PrintedRows};

/// The names of the types in bags, and in MCAP files of ROS 1, ROS 2 and Foxglove.
const TYPES: [&str; 6] = [
    "rosgraph_msgs/Log",
    "rosgraph_msgs/msg/Log",
    "rcl_interfaces/msg/Log",
    "foxglove.Log",
    "foxglove_msgs/Log",
    "foxglove_msgs/msg/Log",
];

/// The node `rosout` of ROS 1 repeats all messages in a topic with this suffix.
const AGGREGATE_SUFFIX: &str = "_agg";

/// Returns the topics of messages, and those that repeat one of them.
pub(super) fn topics(manifest: &Manifest) -> (Vec<TopicId>, Vec<TopicId>) {
    let topics = manifest.topics().filter(|(_, topic)| {
        topic.origin == TopicOrigin::Logged && TYPES.contains(&&*topic.type_name)
    });
    let topics: Vec<(TopicId, &Topic)> = topics.collect();
    let exists = |name: &str| topics.iter().any(|(_, other)| other.name == name);
    let repeats =
        |topic: &Topic| topic.name.strip_suffix(AGGREGATE_SUFFIX).is_some_and(exists);
    let (repeated, original): (Vec<_>, Vec<_>) =
        topics.iter().partition(|(_, topic)| repeats(topic));
    let ids =
        |topics: Vec<(TopicId, &Topic)>| topics.iter().map(|(id, _)| *id).collect();
    (ids(original), ids(repeated))
}

/// Returns rows for people: the level, and the name of the node before the message.
pub(super) fn text(batch: &RecordBatch) -> Result<PrintedRows> {
    let Some((levels, nodes, texts)) = columns(batch) else {
        return PrintedRows::text(batch);
    };
    let line = |(node, text): (Option<&str>, Option<&str>)| {
        Some(with_node(node.unwrap_or_default(), text.unwrap_or_default()))
    };
    let lines: StringArray = nodes.iter().zip(texts).map(line).collect();
    let (nodes, texts) = (nodes.clone(), texts.clone());
    PrintedRows::text(&RecordBatch::try_from_iter([
        ("time", batch.column(0).clone()),
        ("level", Arc::new(levels) as ArrayRef),
        ("name", Arc::new(nodes)),
        ("message", Arc::new(texts)),
        ("line", Arc::new(lines)),
    ])?)
}

/// Returns `text` with the name of the node before it, if it has a name.
pub(super) fn with_node(node: &str, text: &str) -> String {
    if node.is_empty() { text.to_owned() } else { format!("{node}: {text}") }
}

/// Returns rows for programs: the name of the level, the node, the message, and its place in
/// the source code.
pub(super) fn json(batch: &RecordBatch) -> Result<PrintedRows> {
    let Some((levels, nodes, texts)) = columns(batch) else {
        return PrintedRows::json(batch);
    };
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("time", batch.column(0).clone()),
        ("level", Arc::new(levels)),
        ("name", Arc::new(nodes.clone())),
        ("message", Arc::new(texts.clone())),
    ];
    for name in ["file", "function", "line"] {
        columns.extend(batch.column_by_name(name).map(|column| (name, column.clone())));
    }
    PrintedRows::json(&RecordBatch::try_from_iter(columns)?)
}

/// Returns the names of the levels, the nodes and the messages, if the table has them.
pub(super) fn columns(
    batch: &RecordBatch,
) -> Option<(StringArray, &StringArray, &StringArray)> {
    let strings = |name| batch.column_by_name(name)?.as_string_opt::<i32>();
    let (texts, level): (_, fn(i64) -> String) = match strings("msg") {
        Some(texts) => (texts, ros_level),
        None => (strings("message")?, foxglove_level),
    };
    let levels = numbers(batch.column_by_name("level")?)?;
    let levels = levels.iter().map(|number| Some(level(number.unwrap_or_default())));
    Some((levels.collect(), strings("name")?, texts))
}

fn numbers(column: &ArrayRef) -> Option<Int64Array> {
    Some(match column.data_type() {
        DataType::Int8 => column.as_primitive::<Int8Type>().unary(i64::from),
        DataType::UInt8 => column.as_primitive::<UInt8Type>().unary(i64::from),
        DataType::Int32 => column.as_primitive::<Int32Type>().unary(i64::from),
        DataType::Int64 => column.as_primitive::<Int64Type>().clone(),
        // Foxglove's JSON schema lists the levels without a type, so that values are text.
        DataType::Utf8 => {
            let texts = column.as_string::<i32>().iter();
            texts.map(|text| text.and_then(|text| text.parse().ok())).collect()
        }
        _ => return None,
    })
}

/// Returns the name of a level of Foxglove, as in the logs of PX4.
fn foxglove_level(number: i64) -> String {
    match number {
        1 => "debug".into(),
        2 => "info".into(),
        3 => "warning".into(),
        4 => "error".into(),
        5 => "critical".into(),
        other => format!("level {other}"),
    }
}

/// Returns the name of a level of ROS, as in the logs of PX4.
fn ros_level(number: i64) -> String {
    match number {
        1 | 10 => "debug".into(),
        2 | 20 => "info".into(),
        4 | 30 => "warning".into(),
        8 | 40 => "error".into(),
        16 | 50 => "critical".into(),
        other => format!("level {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topics_of(names: &[&str]) -> [Vec<u32>; 2] {
        let topic = |name: &&str| Topic {
            encoding: "ros1".into(),
            type_name: "rosgraph_msgs/Log".into(),
            metadata: Default::default(),
            ..Topic::new(*name, Arc::new(arrow_schema::Schema::empty()))
        };
        let manifest = Manifest {
            topics: names.iter().map(topic).collect(),
            ..Manifest::default()
        };
        let (own, repeated) = topics(&manifest);
        [own, repeated].map(|ids| ids.into_iter().map(|id| id.0).collect())
    }

    #[test]
    fn aggregate_topic_repeats_the_topic_of_its_name() {
        let all = ["/rosout", "/rosout_agg", "/b"];
        assert_eq!(topics_of(&all), [vec![0, 2], vec![1]]);
        assert_eq!(topics_of(&["/rosout_agg"]), [vec![0], vec![]]);
    }

    #[test]
    fn levels_of_each_type_have_names() {
        // rosgraph_msgs/Log: FATAL=16; rcl_interfaces/msg/Log: WARN=30.
        let names = [4, 16, 30, 50, 3].map(ros_level);
        assert_eq!(names, ["warning", "critical", "warning", "critical", "level 3"]);
        // foxglove.Log: WARNING=3, FATAL=5.
        let names = [3, 5, 0].map(foxglove_level);
        assert_eq!(names, ["warning", "critical", "level 0"]);
    }
}
