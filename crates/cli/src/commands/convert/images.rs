//! Images as files, a folder for each topic, and a table of them beside.
//!
//! A few parts of the log are read and their images packed side by side; then the files
//! get their names, in the order of the log, and are written side by side. What lies in
//! one long part, as in a bag without chunks, is written block by block. So memory is
//! bounded by a few parts however long the log is.

mod index;
mod picture;

pub(in crate::commands) use self::picture::{Picture, PictureType};

use std::collections::{BTreeMap, HashMap};

use logtool::{Error, Result, selection, time::clock::ShownClock, units::counted};
use logtool_core::{
    Block, Damage, Log, Part, Record, Selection, TableSink, TimeBase, Timestamp,
    TopicId, TopicSet,
};
use logtool_sinks::{FileNames, NameStyle, Room};
use rayon::prelude::*;

use crate::commands::convert::{
    images::index::Index,
    job::{Job, Made},
    sink,
};

/// Parts that are longer are written block by block.
const LONG: u64 = 16 << 20;

/// Writes the images that `job` asks for.
pub(super) fn write(job: &Job<'_>) -> Result<Made> {
    let (log, args) = (&*job.opened.log, job.args);
    let manifest = log.manifest();
    let mut types = BTreeMap::new();
    let wanted = selection::topics(manifest, &args.records.topics, false)?;
    for (id, topic) in manifest.topics().filter(|(id, _)| wanted.contains(*id)) {
        if let Some(of) = PictureType::of(topic) {
            types.insert(id, (of, topic.envelope as usize));
        }
    }
    if types.is_empty() {
        let hint = "images are topics of sensor_msgs/Image and CompressedImage, of \
                    foxglove.RawImage and CompressedImage, and `image` in a .vel log";
        return Err(Error::not_found("there are no images here").with_hint(hint));
    }
    let topics: TopicSet = types.keys().copied().collect();
    let clock = ShownClock::new(manifest, args.clock.time())?;
    let time = clock.range(args.records.from, args.end())?;
    let selection = Selection { topics: topics.clone(), time };

    let names = job.names(NameStyle::Index);
    let sink = sink::new(job, names.clone(), Room::default());
    let mut gallery = Gallery {
        job,
        names,
        sink: &*sink,
        time: clock.base(),
        taken: HashMap::new(),
        tables: BTreeMap::new(),
        rows: 0,
        clipped: BTreeMap::new(),
    };
    let reading = Reading { log, selection, types };
    let mut rest = Rest::default();
    for group in groups(&manifest.plan(&reading.selection, 0)) {
        match group {
            [part] if length(part) > LONG => {
                reading.each(part, &mut |found| gallery.add(rest.take(found)))?;
                log.source().release(part.bytes.clone());
            }
            parts => {
                let read = |part: &Part| {
                    let mut all = Found::default();
                    reading.each(part, &mut |found| {
                        all.pictures.extend(found.pictures);
                        all.damage.extend(found.damage);
                        all.empty.extend(found.empty);
                        Ok(())
                    })?;
                    log.source().release(part.bytes.clone());
                    Ok::<_, Error>(all)
                };
                let found: Vec<Result<Found>> = parts.par_iter().map(read).collect();
                for found in found {
                    gallery.add(rest.take(found?))?;
                }
            }
        }
        (job.progress)(group.iter().map(length).sum());
    }
    let mut remarks = rest.remarks(log);
    remarks.extend(gallery.remarks(log));
    remarks.insert(0, counted(gallery.rows, "image"));
    let (tables, rows) = (gallery.tables.len() as u64, gallery.rows);
    for index in gallery.tables.into_values() {
        index.finish()?;
    }
    Ok(Made { topics, tables, rows, damage: rest.damage, remarks, ..Made::default() })
}

fn length(part: &Part) -> u64 {
    part.bytes.end - part.bytes.start
}

/// As many neighbours as are read side by side; a long part is alone.
fn groups(parts: &[Part]) -> impl Iterator<Item = &[Part]> {
    let most = rayon::current_num_threads() * 2;
    let mut rest = parts;
    std::iter::from_fn(move || {
        let short = rest.iter().take(most).take_while(|part| length(part) <= LONG);
        let count = short.count().max(1).min(rest.len());
        let (group, others) = rest.split_at(count);
        rest = others;
        (!group.is_empty()).then_some(group)
    })
}

/// How images are found.
struct Reading<'r> {
    log: &'r dyn Log,
    selection: Selection,
    /// And how long what is before each image is.
    types: BTreeMap<TopicId, (PictureType, usize)>,
}

/// What was found in a block.
#[derive(Default)]
struct Found {
    pictures: Vec<Picture>,
    damage: Vec<Damage>,
    /// The topic of each image without pixels.
    empty: Vec<TopicId>,
}

impl Reading<'_> {
    /// Hands the pictures of each block of `part` to `take`.
    fn each(
        &self,
        part: &Part,
        take: &mut dyn FnMut(Found) -> Result<()>,
    ) -> Result<()> {
        let (mut block, mut cursor) =
            (Block::default(), self.log.read(part, &self.selection)?);
        while cursor.fill(&mut block)? {
            let records: Vec<_> = block.iter().collect();
            let made: Vec<_> = records
                .into_par_iter()
                .filter_map(|record| {
                    let (of, envelope) = *self.types.get(&record.topic)?;
                    let payload = record.payload.get(envelope..).unwrap_or_default();
                    Some((record, Picture::of(of, &Record { payload, ..record })))
                })
                .collect();
            let mut found =
                Found { damage: block.damage().to_vec(), ..Found::default() };
            for (record, picture) in made {
                match picture {
                    Ok(Some(picture)) => {
                        if picture.surplus > 0 {
                            let surplus = record.surplus(picture.surplus);
                            surplus.add_to(&mut found.damage);
                        }
                        found.pictures.push(picture);
                    }
                    Ok(None) => found.empty.push(record.topic),
                    Err(why) => {
                        let lost = record.undecodable().because(why.what());
                        lost.add_to(&mut found.damage);
                    }
                }
            }
            take(found)?;
        }
        Ok(())
    }
}

/// What became no file.
#[derive(Default)]
struct Rest {
    damage: Vec<Damage>,
    /// How many images of a topic have no pixels.
    empty: BTreeMap<TopicId, u64>,
}

impl Rest {
    /// Notes what becomes no file, and gives what does.
    fn take(&mut self, found: Found) -> Vec<Picture> {
        for damage in found.damage {
            damage.add_to(&mut self.damage);
        }
        for topic in found.empty {
            *self.empty.entry(topic).or_default() += 1;
        }
        found.pictures
    }

    /// What people should know of that, and is no damage.
    fn remarks(&self, log: &dyn Log) -> Vec<String> {
        let remark = |(topic, count): (&TopicId, &u64)| {
            let label = log.manifest().get(*topic).map(|topic| topic.label());
            let (label, images) = (label.unwrap_or_default(), counted(*count, "image"));
            format!("{images} of {label} without pixels, of which there is no file")
        };
        self.empty.iter().map(remark).collect()
    }
}

/// The files and their tables.
struct Gallery<'g> {
    job: &'g Job<'g>,
    names: FileNames,
    sink: &'g dyn TableSink,
    time: TimeBase,
    /// How many images of a topic have a stamp.
    taken: HashMap<(TopicId, Timestamp), u32>,
    tables: BTreeMap<TopicId, Index>,
    rows: u64,
    /// How many images of a topic have pixels that are further away than files can say,
    /// and how many pixels these are.
    clipped: BTreeMap<TopicId, (u64, u64)>,
}

impl Gallery<'_> {
    /// Writes `pictures`, which follow those before in the log.
    fn add(&mut self, pictures: Vec<Picture>) -> Result<()> {
        let mut files = Vec::with_capacity(pictures.len());
        for picture in pictures {
            let topic = self.job.opened.log.manifest().get(picture.topic)?;
            let same =
                self.taken.entry((picture.topic, picture.named_after())).or_default();
            let file = picture.file_name(*same);
            if picture.clipped > 0 {
                let (images, pixels) = self.clipped.entry(picture.topic).or_default();
                (*images, *pixels) = (*images + 1, *pixels + picture.clipped);
            }
            *same += 1;
            self.rows += 1;
            let index = match self.tables.entry(picture.topic) {
                std::collections::btree_map::Entry::Occupied(index) => index.into_mut(),
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(Index::new(self.sink, topic, self.time)?)
                }
            };
            index.add(&picture, &file)?;
            files.push((format!("{}/{file}", self.names.stem(topic)), picture.bytes));
        }
        let outputs = self.job.outputs;
        files.par_iter().try_for_each(|(name, bytes)| outputs.write(name, bytes))?;
        Ok(())
    }

    /// What people should know of the files.
    fn remarks(&self, log: &dyn Log) -> Vec<String> {
        let remark = |(topic, (images, pixels)): (&TopicId, &(u64, u64))| {
            let label = log.manifest().get(*topic).map(|topic| topic.label());
            let (images, pixels) =
                (counted(*images, "image"), counted(*pixels, "pixel"));
            let label = label.unwrap_or_default();
            format!(
                "{pixels} in {images} of {label} are further than 65.535 m: they are told \
                 as that, 65535 mm"
            )
        };
        self.clipped.iter().map(remark).collect()
    }
}
