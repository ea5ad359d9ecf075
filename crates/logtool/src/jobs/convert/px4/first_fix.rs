//! The first position of the receiver.

use arrow_array::{RecordBatch, cast::AsArray as _, types::*};
use logtool_core::{Block, Columns, Log, Selection, TopicId, TopicSet};
use logtool_sinks::Px4Position;

use crate::error::Result;

/// The topics with positions, in order of preference.
const TOPICS: [&str; 2] = ["vehicle_gps_position", "sensor_gps"];
/// From this `fix_type` on, all three dimensions are known.
const FIX_3D: u8 = 3;

/// Returns the first fix in three dimensions, if there is one.
pub(super) fn find(log: &dyn Log) -> Result<Option<Px4Position>> {
    for name in TOPICS {
        let Ok(topic) = log.manifest().topic_id(name) else { continue };
        if let Some(fix) = find_in_topic(log, topic)? {
            return Ok(Some(fix));
        }
    }
    Ok(None)
}

fn find_in_topic(log: &dyn Log, topic: TopicId) -> Result<Option<Px4Position>> {
    let topics: TopicSet = [topic].into_iter().collect();
    let selection = Selection { topics, ..Selection::default() };
    let mut decoder = log.decoder(topic, &Columns::default())?;
    let mut block = Block::default();
    for part in log.manifest().plan(&selection, 1 << 20) {
        let mut cursor = log.read(&part, &selection)?;
        while cursor.fill(&mut block)? {
            block.runs().for_each(|run| decoder.append(run, &mut Vec::new()));
            let batch = decoder.take()?;
            let mut rows = 0..batch.num_rows();
            if let Some(fix) = rows.find_map(|row| position(&batch, row)) {
                return Ok(Some(fix));
            }
        }
    }
    Ok(None)
}

/// Returns the position in `row` if it is a fix. PX4 logs it in 1e-7 degrees and millimetres,
/// and since v1.14 in degrees and metres.
fn position(batch: &RecordBatch, row: usize) -> Option<Px4Position> {
    let fix = batch.column_by_name("fix_type")?.as_primitive_opt::<UInt8Type>()?;
    if fix.value(row) < FIX_3D {
        return None;
    }
    let number = |old: &str, scale: f64, new: &str| {
        if let Some(column) = batch.column_by_name(new) {
            return Some(column.as_primitive_opt::<Float64Type>()?.value(row));
        }
        let column = batch.column_by_name(old)?.as_primitive_opt::<Int32Type>()?;
        Some(f64::from(column.value(row)) / scale)
    };
    Some(Px4Position {
        lat_deg: number("lat", 1e7, "latitude_deg")?,
        lon_deg: number("lon", 1e7, "longitude_deg")?,
        alt_m: number("alt", 1e3, "altitude_msl_m")?,
    })
}
