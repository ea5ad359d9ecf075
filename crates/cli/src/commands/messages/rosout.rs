//! What the nodes of ROS said: `rosgraph_msgs/Log`, and `rcl_interfaces/msg/Log` of ROS 2.
//!
//! ROS 1 numbers its levels 1, 2, 4, 8 and 16, and ROS 2 10, 20, 30, 40 and 50, so that
//! a number alone says what it means.

use std::sync::Arc;

use arrow_array::{
    Array as _, ArrayRef, Int64Array, RecordBatch, StringArray,
    cast::AsArray as _,
    types::{Int8Type, UInt8Type},
};
use arrow_schema::DataType;
use logtool::{Result, rows::Rows};
use logtool_core::{Manifest, Topic, TopicId, TopicOrigin};

/// What the type is called, in bags, and in MCAP files of either ROS.
const TYPES: [&str; 3] =
    ["rosgraph_msgs/Log", "rosgraph_msgs/msg/Log", "rcl_interfaces/msg/Log"];

/// What `rosout` puts behind the name of the topic that repeats all others.
const REPEATS: &str = "_agg";

/// The topics of what nodes said, and those that repeat one of them.
pub(super) fn topics(manifest: &Manifest) -> (Vec<TopicId>, Vec<TopicId>) {
    let said = manifest.topics().filter(|(_, topic)| {
        topic.origin == TopicOrigin::Logged && TYPES.contains(&&*topic.type_name)
    });
    let said: Vec<_> = said.collect();
    let has = |name: &str| said.iter().any(|(_, other)| other.name == name);
    let is_own = |topic: &Topic| !topic.name.strip_suffix(REPEATS).is_some_and(has);
    let (own, repeats): (Vec<_>, Vec<_>) =
        said.iter().partition(|(_, topic)| is_own(topic));
    let ids =
        |topics: Vec<(TopicId, &Topic)>| topics.iter().map(|(id, _)| *id).collect();
    (ids(own), ids(repeats))
}

/// Rows for people: the level, and the text behind the name of the node.
pub(super) fn text(batch: &RecordBatch) -> Result<Rows> {
    let Some((levels, names, texts)) = said(batch) else { return Rows::text(batch) };
    let line = |(name, text): (Option<&str>, Option<&str>)| {
        let (name, text) = (name.unwrap_or_default(), text.unwrap_or_default());
        Some(if name.is_empty() { text.to_owned() } else { format!("{name}: {text}") })
    };
    let lines: StringArray = names.iter().zip(texts).map(line).collect();
    Rows::text(&RecordBatch::try_from_iter([
        ("time", batch.column(0).clone()),
        ("level", Arc::new(levels) as ArrayRef),
        ("message", Arc::new(lines)),
    ])?)
}

/// Rows for programs: the level as a word, the node, the text, and where in the program
/// it was said.
pub(super) fn json(batch: &RecordBatch) -> Result<Rows> {
    let Some((levels, names, texts)) = said(batch) else { return Rows::json(batch) };
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("time", batch.column(0).clone()),
        ("level", Arc::new(levels)),
        ("name", Arc::new(names.clone())),
        ("message", Arc::new(texts.clone())),
    ];
    for name in ["file", "function", "line"] {
        columns.extend(batch.column_by_name(name).map(|column| (name, column.clone())));
    }
    Rows::json(&RecordBatch::try_from_iter(columns)?)
}

/// The levels as words, the nodes and the texts, if the columns are such.
fn said(batch: &RecordBatch) -> Option<(StringArray, &StringArray, &StringArray)> {
    let text = |name| batch.column_by_name(name)?.as_string_opt::<i32>();
    let levels = numbers(batch.column_by_name("level")?)?;
    let levels = levels.iter().map(|number| Some(level(number.unwrap_or_default())));
    Some((levels.collect(), text("name")?, text("msg")?))
}

fn numbers(column: &ArrayRef) -> Option<Int64Array> {
    Some(match column.data_type() {
        DataType::Int8 => column.as_primitive::<Int8Type>().unary(i64::from),
        DataType::UInt8 => column.as_primitive::<UInt8Type>().unary(i64::from),
        _ => return None,
    })
}

/// What a level is called, as in the logs of PX4.
fn level(number: i64) -> String {
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
        let (own, repeats) = topics(&manifest);
        [own, repeats].map(|ids| ids.into_iter().map(|id| id.0).collect())
    }

    #[test]
    fn what_repeats_another_topic_is_known() {
        let all = ["/rosout", "/rosout_agg", "/b"];
        assert_eq!(topics_of(&all), [vec![0, 2], vec![1]]);
        assert_eq!(topics_of(&["/rosout_agg"]), [vec![0], vec![]]);
    }

    #[test]
    fn levels_have_words() {
        // rosgraph_msgs/Log: FATAL=16; rcl_interfaces/msg/Log: WARN=30.
        let words = [4, 16, 30, 50, 3].map(level);
        assert_eq!(words, ["warning", "critical", "warning", "critical", "level 3"]);
    }
}
