//! The first image of each topic of images.

use logtool_core::{Block as RecordBlock, Log, Record, Selection, TimeRange, TopicId};
use logtool_plot::Block;

use crate::{
    error::Result,
    jobs::convert::{ImageFile, ImageRecordType},
};

/// The maximum number of images.
const MAX_IMAGES: usize = 8;

/// The maximum length of an image.
const MAX_BYTES: usize = 2 << 20;

/// Returns the first image within `time` of each topic of images.
pub(super) fn first_of_each(log: &dyn Log, time: TimeRange) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for (id, topic) in log.manifest().topics() {
        let Some(record_type) = ImageRecordType::from_topic(topic) else { continue };
        if blocks.len() == MAX_IMAGES {
            break;
        }
        let header_len = topic.header_len as usize;
        if let Some(image) = first_image(log, id, time, record_type, header_len)? {
            blocks.push(block(&topic.label(), image));
        }
    }
    Ok(blocks)
}

fn block(label: &str, image: ImageFile) -> Block {
    let size = image.size.map(|(width, height)| format!(", {width} × {height}"));
    let label = format!("{label}{}, {}", size.unwrap_or_default(), image.encoding);
    let media_type = match &*image.bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, ..] => "image/jpeg",
        _ => return Block::Note(format!("{label}: nothing that browsers show")),
    };
    if image.bytes.len() > MAX_BYTES {
        Block::Note(format!("{label}: too large for this page"))
    } else {
        Block::Image(label, media_type, image.bytes)
    }
}

/// Returns the first record of the topic `id` that can be converted to an image. Its payloads
/// start with a header of `header_len` bytes.
fn first_image(
    log: &dyn Log,
    id: TopicId,
    time: TimeRange,
    record_type: ImageRecordType,
    header_len: usize,
) -> Result<Option<ImageFile>> {
    let topics = [id].into_iter().collect();
    let selection = Selection { topics, time };
    let mut block = RecordBlock::default();
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection)?;
        while cursor.fill(&mut block)? {
            let mut images = block.iter().map(|record| {
                let payload = record.payload.get(header_len..).unwrap_or_default();
                ImageFile::for_display(record_type, &Record { payload, ..record })
            });
            if let Some(image) = images.find_map(|image| image.ok().flatten()) {
                return Ok(Some(image));
            }
        }
    }
    Ok(None)
}
