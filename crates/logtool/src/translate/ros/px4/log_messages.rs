//! What people were told, as `rosgraph_msgs/Log`, on the topic that ROS has for it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use logtool_core::{Columns, Log, Topic, TopicId, Translation};
use logtool_rosmsg::MessageWriter;

use crate::{
    error::Result,
    translate::{from_rows::of_columns, log_messages::Line, nanos_of, ros::common},
};

/// How lines of the topic `id` of `log` become those of `/rosout`, `offset_nanos` later.
pub(super) fn said(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    offset_nanos: i64,
) -> Result<Translation> {
    let mut about = common(topic, "", "rosgraph_msgs/Log")?;
    "/rosout".clone_into(&mut about.name);
    about.records = topic.records;
    let put = move |batch: &RecordBatch, row: usize, out: &mut Vec<u8>| {
        let line = Line::read(batch, row);
        let nanos = nanos_of(batch, row).saturating_add(offset_nanos);
        let mut message = MessageWriter::new(out);
        message.header(0, nanos, "").u8(level(line.level)).text(&line.name);
        // Neither a file, nor a function, nor a line of it, nor topics.
        message.text(line.message).text("").text("").u32(0).u32(0);
        true
    };
    Ok(of_columns(log, id, Columns::default(), about, put))
}

/// The level that is called as syslog calls it. ROS counts what it does not know as
/// information.
fn level(name: &str) -> u8 {
    match name {
        "emergency" | "alert" | "critical" => 16,
        "error" => 8,
        "warning" => 4,
        "debug" => 1,
        _ => 2,
    }
}
