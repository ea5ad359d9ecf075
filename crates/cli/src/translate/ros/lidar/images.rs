//! Images, as `sensor_msgs/CompressedImage`, or `sensor_msgs/Image` where they are rows of
//! pixels.

use std::sync::Arc;

use anyhow::Result;
use arrow_array::{RecordBatch, cast::AsArray as _, types::Int32Type};
use logtool_core::{Log, Topic, TopicId, Translation};
use logtool_rosmsg::MessageWriter;

use crate::translate::{decoded::of_rows, nanos_of, ros::common};

/// How records of the topic `id` of `log` become images, `offset_nanos` later: one topic of
/// each type. The frame is the camera's.
pub(super) fn images(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    offset_nanos: i64,
) -> Result<[Translation; 2]> {
    let packed = common(topic, "/compressed", "sensor_msgs/CompressedImage")?;
    let pixels = common(topic, "", "sensor_msgs/Image")?;
    let put_packed = move |batch: &RecordBatch, row: usize, out: &mut Vec<u8>| {
        put(batch, row, offset_nanos, false, out).is_some()
    };
    let put_pixels = move |batch: &RecordBatch, row: usize, out: &mut Vec<u8>| {
        put(batch, row, offset_nanos, true, out).is_some()
    };
    Ok([of_rows(log, id, packed, put_packed), of_rows(log, id, pixels, put_pixels)])
}

/// Adds the image in the row `row` to `out`, if it is one that has, or has not,
/// `is_pixels`.
fn put(
    batch: &RecordBatch,
    row: usize,
    offset_nanos: i64,
    is_pixels: bool,
    out: &mut Vec<u8>,
) -> Option<()> {
    let number = |name: &str| -> Option<i32> {
        Some(batch.column_by_name(name)?.as_primitive_opt::<Int32Type>()?.value(row))
    };
    let encoding = batch.column_by_name("encoding")?.as_string_opt::<i32>()?.value(row);
    let data = batch.column_by_name("data")?.as_binary_opt::<i32>()?.value(row);
    let frame = format!("camera_{}", number("camera")?);
    let nanos = nanos_of(batch, row).saturating_add(offset_nanos);
    let channels = match encoding {
        "mono8" => Some(1),
        "rgb8" => Some(3),
        _ => None,
    };
    let mut message = MessageWriter::new(out);
    match (channels, is_pixels) {
        (None, false) => {
            message.header(0, nanos, &frame).text(encoding).list(data);
        }
        (Some(channels), true) => {
            let (width, height) = (number("width")? as u32, number("height")? as u32);
            let step = width.wrapping_mul(channels);
            message.header(0, nanos, &frame).u32(height).u32(width).text(encoding);
            message.u8(0).u32(step).list(data);
        }
        _ => return None,
    }
    Some(())
}
