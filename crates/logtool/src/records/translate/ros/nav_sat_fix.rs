//! Translates positions to `sensor_msgs/NavSatFix`.

use std::sync::Arc;

use arrow_array::{
    Array as _, RecordBatch,
    cast::AsArray as _,
    types::{Float32Type, Float64Type, Int32Type, UInt8Type},
};
use logtool_core::{Columns, Log, Topic, TopicId, Translation, View};
use logtool_rosmsg::MessageWriter;
use logtool_sinks::{PositionReader, position_columns};

use crate::{
    error::Result,
    records::translate::{from_rows::translate_columns, nanos_of, ros::common_topic},
};

/// Columns with more information about a position: heights above the ellipsoid, or of the geoid
/// above it; the accuracy in metres; and the type of the fix.
const MORE: [&str; 6] =
    ["alt_ellipsoid", "altitude_ellipsoid_m", "geoid_height", "eph", "epv", "fix_type"];

/// Fix types above 3 use corrections from the ground: differential (4), or carrier phase (5, 6).
/// (PX4's `SensorGps.msg`.)
const CORRECTED: std::ops::RangeInclusive<f64> = 4.0..=6.0;

/// Translates the records of the topic `id` of `log` to positions, with `offset_nanos` added to
/// their times. Returns `None` if they contain no positions. If the height above the ellipsoid
/// or that of the geoid is known, altitudes are above the ellipsoid, as the type requires;
/// otherwise they are copied. Variances are the squares of the accuracy, if it is known.
pub(in crate::records::translate) fn fixes(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    offset_nanos: i64,
) -> Result<Option<Translation>> {
    // A topic with too many columns for a flat view has no position.
    let Ok(all) = log.decoder(id, &Columns::new(View::Flat)) else { return Ok(None) };
    let Some(mut indices) = position_columns(topic, all.schema()) else {
        return Ok(None);
    };
    indices.extend(MORE.iter().filter_map(|name| all.schema().index_of(name).ok()));
    indices.sort_unstable();
    indices.dedup();
    let columns = Columns { indices: Some(indices), ..Columns::new(View::Flat) };
    let decoder = log.decoder(id, &columns)?;
    let Some(reader) = PositionReader::new(topic, decoder.schema()) else {
        return Ok(None);
    };
    let topic_info = common_topic(topic, "/fix", "sensor_msgs/NavSatFix")?;
    let encode = move |batch: &RecordBatch, row: usize, out: &mut Vec<u8>| {
        let Some((latitude, longitude, altitude)) = reader.read(&batch.slice(row, 1))
        else {
            return false;
        };
        let value = |name| number(batch, name, row);
        let ellipsoid =
            value("alt_ellipsoid").or_else(|| value("altitude_ellipsoid_m"));
        let geoid = value("geoid_height").unwrap_or(0.0);
        let above = altitude.map(|altitude| ellipsoid.unwrap_or(altitude + geoid));
        let (level, height) = (value("eph"), value("epv"));
        let variances = level.zip(height).map(|(level, height)| {
            let (level, height) = (level * level, height * height);
            [level, 0.0, 0.0, 0.0, level, 0.0, 0.0, 0.0, height]
        });
        let is_corrected =
            value("fix_type").is_some_and(|kind| CORRECTED.contains(&kind));
        let nanos = nanos_of(batch, row).saturating_add(offset_nanos);
        MessageWriter::new(out)
            .header(0, nanos, "gps")
            // Status 2: with ground-based augmentation, 0: without. Service 1: GPS.
            .u8(if is_corrected { 2 } else { 0 })
            .bytes(&1_u16.to_le_bytes())
            .f64s(&[latitude, longitude, above.unwrap_or(f64::NAN)])
            .f64s(&variances.unwrap_or_default())
            // Covariance type 1: approximated, 0: unknown.
            .u8(u8::from(variances.is_some()));
        true
    };
    Ok(Some(translate_columns(log, id, columns, topic_info, encode)))
}

/// Returns the number in the column `name`, or `None`. Heights in 32-bit integers are in
/// millimetres.
fn number(batch: &RecordBatch, name: &str, row: usize) -> Option<f64> {
    let column = batch.column_by_name(name).filter(|column| column.is_valid(row))?;
    let float32 = column.as_primitive_opt::<Float32Type>();
    let float64 = column.as_primitive_opt::<Float64Type>();
    let millis = column.as_primitive_opt::<Int32Type>();
    let kind = column.as_primitive_opt::<UInt8Type>();
    float32
        .map(|c| f64::from(c.value(row)))
        .or_else(|| float64.map(|c| c.value(row)))
        .or_else(|| millis.map(|c| f64::from(c.value(row)) / 1e3))
        .or_else(|| kind.map(|c| f64::from(c.value(row))))
        .filter(|number| number.is_finite())
}
