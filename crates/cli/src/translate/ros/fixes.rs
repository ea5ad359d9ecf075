//! Positions, as `sensor_msgs/NavSatFix`.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::{Array as _, RecordBatch, cast::AsArray as _, types::Float32Type};
use logtool_core::{Columns, Log, Topic, TopicId, Translation, View};
use logtool_rosmsg::MessageWriter;
use logtool_sinks::PositionReader;

use crate::translate::{
    nanos_of,
    ros::{common, of_rows},
};

/// How records of the topic `id` of `log` become places, if they say where something was,
/// `offset_nanos` later. Where the height of the geoid is known, altitudes are above the
/// ellipsoid, as the type has it; else they are as they are told.
pub(super) fn fixes(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    offset_nanos: i64,
) -> Result<Option<Translation>> {
    let decoder = log.decoder(id, &Columns::all(View::Flat))?;
    let Some(reader) = PositionReader::new(topic, decoder.schema()) else {
        return Ok(None);
    };
    let about = common(topic, "/fix", "sensor_msgs/NavSatFix")?;
    let put = move |batch: &RecordBatch, row: usize, out: &mut Vec<u8>| {
        let Some((latitude, longitude, altitude)) = reader.read(&batch.slice(row, 1))
        else {
            return false;
        };
        let geoid = batch.column_by_name("geoid_height");
        let geoid = geoid.and_then(|column| column.as_primitive_opt::<Float32Type>());
        let geoid = geoid.filter(|c| c.is_valid(row)).map_or(0.0, |c| c.value(row));
        let altitude = altitude.map_or(f64::NAN, |above| above + f64::from(geoid));
        let nanos = nanos_of(batch, row).saturating_add(offset_nanos);
        MessageWriter::new(out)
            .header(0, nanos, "gps")
            // A fix, by GPS; nothing is known of how good it is.
            .u8(0)
            .bytes(&1_u16.to_le_bytes())
            .f64s(&[latitude, longitude, altitude])
            .f64s(&[0.0; 9])
            .u8(0);
        true
    };
    Ok(Some(of_rows(log, id, about, put)))
}
