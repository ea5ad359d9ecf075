//! Translates images: compressed files, or uncompressed pixels.

use std::sync::Arc;

use arrow_array::{RecordBatch, cast::AsArray as _, types::Int32Type};
use logtool_core::{Log, Topic, TopicId, Translation};

use crate::{
    error::Result,
    records::translate::{
        Frames,
        from_rows::translate_rows,
        lidar::{
            kind::LidarMessageKind,
            message::{Image, LidarMessageType},
        },
        nanos_of,
    },
};

impl<'b> Image<'b> {
    /// Reads the image in the row at index `row` of `batch`, with `offset_nanos` added to its time.
    fn read(
        batch: &'b RecordBatch,
        row: usize,
        offset_nanos: i64,
        frames: &Frames,
    ) -> Option<Self> {
        let number = |name: &str| -> Option<i32> {
            Some(
                batch.column_by_name(name)?.as_primitive_opt::<Int32Type>()?.value(row),
            )
        };
        let encoding = batch.column_by_name("encoding")?;
        Some(Self {
            nanos: nanos_of(batch, row).saturating_add(offset_nanos),
            frame: frames.name(&format!("camera_{}", number("camera")?)),
            encoding: encoding.as_string_opt::<i32>()?.value(row),
            width: number("width")? as u32,
            height: number("height")? as u32,
            data: batch.column_by_name("data")?.as_binary_opt::<i32>()?.value(row),
        })
    }
}

/// Translates the records of the topic `id` of `log` to images, with `offset_nanos` added to their
/// times. The two topics have the compressed and the uncompressed images.
pub(super) fn images(
    log: &Arc<dyn Log>,
    id: TopicId,
    topic: &Topic,
    offset_nanos: i64,
    kind: LidarMessageKind,
    frames: &Frames,
) -> Result<[Translation; 2]> {
    let files = kind.topic(topic, "/compressed", LidarMessageType::CompressedImage)?;
    let pixels = kind.topic(topic, "", LidarMessageType::Image)?;
    let encode = |is_pixels: bool| {
        let frames = frames.clone();
        move |batch: &RecordBatch, row: usize, out: &mut Vec<u8>| {
            let image = Image::read(batch, row, offset_nanos, &frames);
            let image = image.filter(|image| image.step().is_some() == is_pixels);
            image.inspect(|image| kind.encode_image(image, out)).is_some()
        }
    };
    Ok([
        translate_rows(log, id, files, encode(false)),
        translate_rows(log, id, pixels, encode(true)),
    ])
}
