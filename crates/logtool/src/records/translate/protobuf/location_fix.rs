//! Translates positions to `foxglove.LocationFix`.

use std::sync::Arc;

use arrow_array::RecordBatch;
use logtool_core::{Columns, Log, Topic, TopicId, Translation, View};
use logtool_protobuf::LocationFix;
use logtool_sinks::{PositionReader, position_columns};

use crate::{
    error::Result,
    records::translate::{
        from_rows::translate_columns, nanos_of, protobuf::common_topic,
    },
};

/// Translates the records of the topic `id` of `log` to positions, with `offset_nanos` added to
/// their times, on an additional topic, e.g. `/sensor_gps/fix`. Returns `None` if they contain
/// no positions.
pub(in crate::records::translate) fn fixes(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    offset_nanos: i64,
) -> Result<Option<Translation>> {
    if topic.records == Some(0) {
        return Ok(None);
    }
    // A topic with too many columns for a flat view has no position.
    let Ok(all) = log.decoder(id, &Columns::new(View::Flat)) else { return Ok(None) };
    let Some(indices) = position_columns(topic, all.schema()) else { return Ok(None) };
    let columns = Columns { indices: Some(indices), ..Columns::new(View::Flat) };
    let decoder = log.decoder(id, &columns)?;
    let Some(reader) = PositionReader::new(topic, decoder.schema()) else {
        return Ok(None);
    };
    let topic_info =
        common_topic(topic, "/fix", LocationFix::TYPE, &LocationFix::files());
    let encode = move |batch: &RecordBatch, row: usize, out: &mut Vec<u8>| {
        let fix = fix(&reader, batch, row, offset_nanos);
        fix.inspect(|fix| fix.encode(out)).is_some()
    };
    Ok(Some(translate_columns(log, id, columns, topic_info, encode)))
}

fn fix(
    reader: &PositionReader,
    batch: &RecordBatch,
    row: usize,
    offset_nanos: i64,
) -> Option<LocationFix> {
    let (latitude, longitude, altitude) = reader.read(&batch.slice(row, 1))?;
    let nanos = nanos_of(batch, row);
    Some(LocationFix {
        nanos: nanos.saturating_add(offset_nanos),
        latitude,
        longitude,
        altitude: altitude.unwrap_or_default(),
        frame_id: "gps",
    })
}
