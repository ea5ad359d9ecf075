//! Translates log messages to `rosgraph_msgs/Log` on the topic `/rosout`.

use std::sync::Arc;

use arrow_array::RecordBatch;
use logtool_core::{Columns, Log, Topic, TopicId, Translation};
use logtool_rosmsg::MessageWriter;

use crate::{
    error::Result,
    records::translate::{
        from_rows::translate_columns, log_messages::LogLine, nanos_of,
        ros::common_topic,
    },
};

/// Translates the log messages of the topic `id` of `log` to those of `/rosout`, with
/// `offset_nanos` added to their times.
pub(super) fn log_messages(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    offset_nanos: i64,
) -> Result<Translation> {
    let mut topic_info = common_topic(topic, "", "rosgraph_msgs/Log")?;
    "/rosout".clone_into(&mut topic_info.name);
    topic_info.records = topic.records;
    let encode = move |batch: &RecordBatch, row: usize, out: &mut Vec<u8>| {
        let line = LogLine::read(batch, row);
        let nanos = nanos_of(batch, row).saturating_add(offset_nanos);
        let mut message = MessageWriter::new(out);
        message.header(0, nanos, "").u8(level(line.level)).text(&line.name);
        // File, function, line and topics are unknown.
        message.text(line.message).text("").text("").u32(0).u32(0);
        true
    };
    Ok(translate_columns(log, id, Columns::default(), topic_info, encode))
}

/// Returns the level of ROS for the name of a level of syslog. Unknown levels become information.
fn level(name: &str) -> u8 {
    match name {
        "emergency" | "alert" | "critical" => 16,
        "error" => 8,
        "warning" => 4,
        "debug" => 1,
        _ => 2,
    }
}
