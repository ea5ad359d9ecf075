//! Translates attitudes to transforms on `/tf`: of `base_link` in `world`, without a translation.
//! Attitudes that are not marked valid are dropped.

use std::sync::Arc;

use arrow_array::{
    RecordBatch,
    cast::AsArray as _,
    types::{Float32Type, UInt8Type},
};
use logtool_core::{Log, Topic, TopicId, Translation};
use logtool_velodyne::vel::QuaternionOrder;

use crate::{
    error::Result,
    records::translate::{
        Frames,
        from_rows::translate_rows,
        lidar::{
            kind::LidarMessageKind,
            message::{LidarMessageType, Rotation},
        },
        nanos_of,
    },
};

/// Translates the records of the topic `id` of `log` to transforms, with `offset_nanos` added
/// to their times. Returns `None` if the order of the four numbers is unknown.
pub(super) fn poses(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    offset_nanos: i64,
    kind: LidarMessageKind,
    frames: &Frames,
) -> Result<Option<Translation>> {
    let names = match QuaternionOrder::from_topic(topic) {
        Some(QuaternionOrder::ScalarLast) => ["q0", "q1", "q2", "q3"],
        Some(QuaternionOrder::ScalarFirst) => ["q1", "q2", "q3", "q0"],
        None => return Ok(None),
    };
    let mut topic_info = kind.topic(topic, "", LidarMessageType::Transform)?;
    topic_info.name = "/tf".to_owned();
    let valid = topic.valid_row_value();
    let child = frames.name("base_link");
    let encode = move |batch: &RecordBatch, row: usize, out: &mut Vec<u8>| {
        let number = |name: &str| {
            let column = batch.column_by_name(name)?;
            Some(f64::from(column.as_primitive_opt::<Float32Type>()?.value(row)))
        };
        let validity = batch.column_by_name("validity");
        let validity =
            validity.and_then(|column| column.as_primitive_opt::<UInt8Type>());
        if let Some((valid, validity)) = valid.zip(validity)
            && validity.value(row) != valid
        {
            return false;
        }
        let rotation = names.map(|name| number(name).unwrap_or(f64::NAN));
        let nanos = nanos_of(batch, row).saturating_add(offset_nanos);
        kind.encode_rotation(&Rotation { nanos, child: &child, rotation }, out);
        true
    };
    Ok(Some(translate_rows(log, id, topic_info, encode)))
}
