//! The first image of each topic of them.

use logtool::{
    Result,
    convert::{ImageFile, ImageRecordType},
};
use logtool_core::{Block as Bytes, Log, Record, Selection, TimeRange, TopicId};
use logtool_plot::Block;

/// More previews than these, and larger ones, are not shown.
const MOST: usize = 8;
const LARGEST: usize = 2 << 20;

/// The first image at `time` of each topic of them.
pub(super) fn first_of_each(log: &dyn Log, time: TimeRange) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for (id, topic) in log.manifest().topics() {
        let Some(of) = ImageRecordType::of(topic).filter(|_| blocks.len() < MOST)
        else {
            continue;
        };
        let envelope = topic.envelope as usize;
        let label = topic.label().into_owned();
        blocks.extend(
            first(log, id, time, (of, envelope))?.map(|image| block(label, image)),
        );
    }
    Ok(blocks)
}

fn block(label: String, image: ImageFile) -> Block {
    let size = image.size.map(|(width, height)| format!(", {width} × {height}"));
    let label = format!("{label}{}, {}", size.unwrap_or_default(), image.encoding);
    let media = match &*image.bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, ..] => "image/jpeg",
        _ => return Block::Note(format!("{label}: nothing that browsers show")),
    };
    match image.bytes.len() > LARGEST {
        true => Block::Note(format!("{label}: too large for this page")),
        false => Block::Image(label, media, image.bytes),
    }
}

/// The first image that can be made one.
fn first(
    log: &dyn Log,
    id: TopicId,
    time: TimeRange,
    (of, envelope): (ImageRecordType, usize),
) -> Result<Option<ImageFile>> {
    let topics = [id].into_iter().collect();
    let selection = Selection { topics, time };
    let mut block = Bytes::default();
    for part in log.manifest().plan(&selection, 0) {
        let mut cursor = log.read(&part, &selection)?;
        while cursor.fill(&mut block)? {
            let mut images = block.iter().map(|record| {
                let payload = record.payload.get(envelope..).unwrap_or_default();
                ImageFile::new(of, &Record { payload, ..record })
            });
            if let Some(image) = images.find_map(|image| image.ok().flatten()) {
                return Ok(Some(image));
            }
        }
    }
    Ok(None)
}
