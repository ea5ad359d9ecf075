//! Images as files, a folder for each topic, each with a table of its images.
//!
//! A few parts of the log are read and their images encoded in parallel; then the files get
//! their names, in the order of the log, and are written in parallel. The images of one long
//! part, e.g., a bag without chunks, are written block by block. So memory is bounded by a
//! few parts, however long the log is.

mod image_file;
mod index;

use std::collections::{BTreeMap, HashMap};

use logtool_core::{
    Block, Damage, DamageKind, ErrorKind, Log, Part, Record, Selection, TableSink,
    TimeBase, Timestamp, TopicId, TopicSet,
};
use logtool_sinks::{FileNames, MemoryBudget, NameStyle};
use rayon::prelude::*;

use crate::{
    error::{Error, Result},
    jobs::convert::{
        images::index::ImageTable,
        job::{ExportJob, ExportSummary},
        table_sink,
    },
    source::selection,
    text::units::count_of,
    time::clock::ShownClock,
};

pub use self::image_file::{ImageFile, ImageRecordType};

/// Parts with more bytes are written block by block.
const LONG_PART_BYTES: u64 = 16 << 20;

/// Writes the images of `job`.
pub(super) fn write(job: &ExportJob<'_>) -> Result<ExportSummary> {
    let (log, request) = (&*job.opened.log, job.request);
    let manifest = log.manifest();
    let mut types = BTreeMap::new();
    let wanted = selection::topics(manifest, &request.topics)?;
    for (id, topic) in manifest.topics().filter(|(id, _)| wanted.contains(*id)) {
        if let Some(of) = ImageRecordType::from_topic(topic) {
            types.insert(id, (of, topic.header_len as usize));
        }
    }
    if types.is_empty() {
        let hint = "images are topics of sensor_msgs/Image and CompressedImage, of \
                    foxglove.RawImage and CompressedImage, and `image` in a .vel log";
        return Err(Error::not_found("there are no images here").with_hint(hint));
    }
    let topics: TopicSet = types.keys().copied().collect();
    let clock = ShownClock::new(manifest, request.clock())?;
    let time = clock.range(request.start, request.end)?;
    let selection = Selection { topics: topics.clone(), time };

    let names = job.names(NameStyle::FolderIndex);
    let sink = table_sink::new(job, names.clone(), MemoryBudget::default());
    let mut writer = ImageWriter {
        job,
        names,
        sink: &*sink,
        time: clock.base(),
        names_taken: HashMap::new(),
        tables: BTreeMap::new(),
        rows: 0,
        too_far: BTreeMap::new(),
        negative: BTreeMap::new(),
    };
    let reader = ImageReader { log, selection, types };
    let mut skipped = SkippedImages::default();
    for group in groups(&manifest.plan(&reader.selection, 0)) {
        match group {
            [part] if length(part) > LONG_PART_BYTES => {
                reader.for_each(part, &mut |block_images| {
                    writer.add(skipped.take(block_images))
                })?;
                log.source().release(part.bytes.clone());
            }
            parts => {
                let read = |part: &Part| {
                    let mut part_images = BlockImages::default();
                    reader.for_each(part, &mut |block_images| {
                        part_images.images.extend(block_images.images);
                        part_images.damage.extend(block_images.damage);
                        part_images.empty.extend(block_images.empty);
                        Ok(())
                    })?;
                    log.source().release(part.bytes.clone());
                    Ok::<_, Error>(part_images)
                };
                let group_images: Vec<Result<BlockImages>> =
                    parts.par_iter().map(read).collect();
                for part_images in group_images {
                    writer.add(skipped.take(part_images?))?;
                }
            }
        }
        (job.progress)(group.iter().map(length).sum());
    }
    let mut remarks = skipped.remarks(log);
    remarks.extend(writer.remarks(log));
    remarks.insert(0, count_of(writer.rows, "image"));
    let (tables, rows) = (writer.tables.len() as u64, writer.rows);
    for index in writer.tables.into_values() {
        index.finish()?;
    }
    Ok(ExportSummary {
        topics,
        tables,
        rows,
        damage: skipped.damage,
        remarks,
        ..ExportSummary::default()
    })
}

fn length(part: &Part) -> u64 {
    part.bytes.end - part.bytes.start
}

/// Splits `parts` into groups that are read in parallel; a long part is a group of its own.
fn groups(parts: &[Part]) -> impl Iterator<Item = &[Part]> {
    let max_parts = rayon::current_num_threads() * 2;
    let mut remaining = parts;
    std::iter::from_fn(move || {
        let short = remaining
            .iter()
            .take(max_parts)
            .take_while(|part| length(part) <= LONG_PART_BYTES);
        let count = short.count().max(1).min(remaining.len());
        let (group, following) = remaining.split_at(count);
        remaining = following;
        (!group.is_empty()).then_some(group)
    })
}

/// Reads the images of a log.
struct ImageReader<'r> {
    log: &'r dyn Log,
    selection: Selection,
    /// The topics of images, each with the length of the header before each image.
    types: BTreeMap<TopicId, (ImageRecordType, usize)>,
}

/// The images of a block.
#[derive(Default)]
struct BlockImages {
    images: Vec<ImageFile>,
    damage: Vec<Damage>,
    /// The topic of each image without pixels.
    empty: Vec<TopicId>,
}

impl ImageReader<'_> {
    /// Passes the images of each block of `part` to `push`.
    fn for_each(
        &self,
        part: &Part,
        push: &mut dyn FnMut(BlockImages) -> Result<()>,
    ) -> Result<()> {
        let (mut block, mut cursor) =
            (Block::default(), self.log.read(part, &self.selection)?);
        while cursor.fill(&mut block)? {
            let records: Vec<_> = block.iter().collect();
            let encoded: Vec<_> = records
                .into_par_iter()
                .filter_map(|record| {
                    let (image_type, header_len) = *self.types.get(&record.topic)?;
                    let payload = record.payload.get(header_len..).unwrap_or_default();
                    Some((
                        record,
                        ImageFile::new(image_type, &Record { payload, ..record }),
                    ))
                })
                .collect();
            let mut found = BlockImages {
                damage: block.damage().to_vec(),
                ..BlockImages::default()
            };
            for (record, image) in encoded {
                match image {
                    Ok(Some(image)) => {
                        if image.extra_bytes > 0 {
                            let extra_bytes =
                                record.extra_bytes_damage(image.extra_bytes);
                            extra_bytes.add_to(&mut found.damage);
                        }
                        found.images.push(image);
                    }
                    Ok(None) => found.empty.push(record.topic),
                    Err(reason) => {
                        let kind = match reason.kind() {
                            ErrorKind::Unsupported => DamageKind::Unsupported,
                            _ => DamageKind::Undecodable,
                        };
                        record
                            .undecodable_damage()
                            .with_kind(kind)
                            .with_reason(reason.message())
                            .add_to(&mut found.damage);
                    }
                }
            }
            push(found)?;
        }
        Ok(())
    }
}

/// The images that were not written.
#[derive(Default)]
struct SkippedImages {
    damage: Vec<Damage>,
    /// The number of images without pixels, by topic.
    empty: BTreeMap<TopicId, u64>,
}

impl SkippedImages {
    /// Records the images that are not written, and returns the others.
    fn take(&mut self, found: BlockImages) -> Vec<ImageFile> {
        for damage in found.damage {
            damage.add_to(&mut self.damage);
        }
        for topic in found.empty {
            *self.empty.entry(topic).or_default() += 1;
        }
        found.images
    }

    /// Returns remarks about images without pixels, which are not damage.
    fn remarks(&self, log: &dyn Log) -> Vec<String> {
        let remark = |(topic, count): (&TopicId, &u64)| {
            let label = log.manifest().topic(*topic).map(|topic| topic.label());
            let (label, images) =
                (label.unwrap_or_default(), count_of(*count, "image"));
            format!("{images} of {label} without pixels, not written")
        };
        self.empty.iter().map(remark).collect()
    }
}

/// Writes the files and their tables.
struct ImageWriter<'g> {
    job: &'g ExportJob<'g>,
    names: FileNames,
    sink: &'g dyn TableSink,
    time: TimeBase,
    /// The number of images of a topic with the same timestamp.
    names_taken: HashMap<(TopicId, Timestamp), u32>,
    tables: BTreeMap<TopicId, ImageTable>,
    rows: u64,
    /// The images with pixels that are too far away for the file.
    too_far: ClippedImages,
    /// The images with negative pixels.
    negative: ClippedImages,
}

/// By topic, the number of images with pixels that do not fit the file, and the number of these
/// pixels.
type ClippedImages = BTreeMap<TopicId, (u64, u64)>;

impl ImageWriter<'_> {
    /// Writes `images`, which follow those of the last call in the log.
    fn add(&mut self, images: Vec<ImageFile>) -> Result<()> {
        let mut files = Vec::with_capacity(images.len());
        for image in images {
            let topic = self.job.opened.log.manifest().topic(image.topic)?;
            let same =
                self.names_taken.entry((image.topic, image.file_time())).or_default();
            let file = image.file_name(*same);
            let clipped = [
                (&mut self.too_far, image.clipped.too_far),
                (&mut self.negative, image.clipped.negative),
            ];
            for (by_topic, more) in clipped.into_iter().filter(|(_, more)| *more > 0) {
                let (images, pixels) = by_topic.entry(image.topic).or_default();
                (*images, *pixels) = (*images + 1, *pixels + more);
            }
            *same += 1;
            self.rows += 1;
            let index = match self.tables.entry(image.topic) {
                std::collections::btree_map::Entry::Occupied(index) => index.into_mut(),
                std::collections::btree_map::Entry::Vacant(entry) => {
                    entry.insert(ImageTable::new(self.sink, topic, self.time)?)
                }
            };
            index.add(&image, &file)?;
            files.push((format!("{}/{file}", self.names.stem(topic)), image.bytes));
        }
        let outputs = self.job.outputs;
        files.par_iter().try_for_each(|(name, bytes)| outputs.write(name, bytes))?;
        Ok(())
    }

    /// Returns remarks about pixels whose values do not fit the file.
    fn remarks(&self, log: &dyn Log) -> Vec<String> {
        let remarks = |by_topic: &ClippedImages, what: &str| -> Vec<String> {
            let remark = |(topic, (images, pixels)): (&TopicId, &(u64, u64))| {
                let label = log.manifest().topic(*topic).map(|topic| topic.label());
                let (images, pixels) =
                    (count_of(*images, "image"), count_of(*pixels, "pixel"));
                let label = label.unwrap_or_default();
                format!("{pixels} in {images} of {label} {what}")
            };
            by_topic.iter().map(remark).collect()
        };
        [
            remarks(
                &self.too_far,
                "are further than 65.535 m: they are stored as that distance, 65535 mm",
            ),
            remarks(&self.negative, "are negative: they are stored as 0"),
        ]
        .concat()
    }
}
