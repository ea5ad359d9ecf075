//! Where the vehicle went.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Result;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{
    Columns, Log, Selection, TableJob, TableSink, TableWriter, TimeBase, TimeRange,
    Topic, TopicId, TopicOrigin, View, to_tables,
};
use logtool_plot::{Band, Block, Track, TrackMaker};
use logtool_sinks::{PositionReader, position_columns};

use crate::{
    commands::report::Seen,
    human::{Count, counted},
};

/// More tracks than these are not shown.
const MOST: usize = 8;

/// The tracks of all topics with positions, of the records within `time`.
pub(super) fn all(
    log: &dyn Log,
    time: TimeRange,
    bands: &[Band],
    seen: &mut Seen,
) -> Result<Vec<Block>> {
    let mut found = find(log);
    let more = found.split_off(found.len().min(MOST));
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let done = Done::default();
    let sink = Sink { bands: bands.to_vec(), done: done.clone() };
    let columns_of = found.iter().map(|(id, _, only)| {
        (*id, Columns { only: Some(only.clone()), ..Columns::all(View::Flat) })
    });
    let job = TableJob {
        selection: Selection {
            topics: found.iter().map(|(id, ..)| *id).collect(),
            time,
        },
        columns: Columns::all(View::Flat),
        columns_of: columns_of.collect(),
        time: TimeBase::default(),
        part_bytes: 4 << 20,
        progress: &|_| {},
    };
    seen.damage.extend(to_tables(log, &job, &sink)?.damage);
    let mut made = done.lock().unwrap_or_else(PoisonError::into_inner);
    let mut blocks = Vec::new();
    for (_, label, _) in &found {
        let Some((track, nowhere)) = made.remove(label) else { continue };
        if track.places > 1 {
            blocks.push(Block::Svg(told(label, &track, nowhere), track.svg()?));
        }
    }
    if !more.is_empty() {
        let labels: Vec<&str> = more.iter().map(|(_, label, _)| &**label).collect();
        let labels = labels.join(", ");
        let what =
            format!("not shown, but written by `logtool convert --to kml`: {labels}");
        blocks.push(Block::Note(what));
    }
    Ok(blocks)
}

/// What is written below a track of which `nowhere` records had no position.
fn told(label: &str, track: &Track, nowhere: u64) -> String {
    let mut told = format!("{label}: {}", counted(track.places, "position"));
    if track.drawn < track.places {
        // Rounded up, and so never told as nearer.
        let within = (track.within * 100.0).ceil() / 100.0;
        told += &format!(
            ", {} drawn, the others within {within} m of their line",
            Count(track.drawn)
        );
    }
    if nowhere > 0 {
        told += &format!("; {} without one", counted(nowhere, "record"));
    }
    told
}

/// The topics with positions: what they are called, and the columns of these.
fn find(log: &dyn Log) -> Vec<(TopicId, String, Vec<usize>)> {
    let topics = log.manifest().topics().filter(|(_, topic)| {
        let is_points =
            topic.origin == TopicOrigin::Derived && topic.label().contains("points");
        topic.records != Some(0) && !is_points
    });
    topics
        .filter_map(|(id, topic)| {
            let decoder = log.decoder(id, &Columns::all(View::Flat)).ok()?;
            let columns = position_columns(topic, decoder.schema())?;
            Some((id, topic.label().into_owned(), columns))
        })
        .collect()
}

/// The tracks that are made, by the names of their topics, and how many records of these
/// had no position.
type Done = Arc<Mutex<BTreeMap<String, (Track, u64)>>>;

/// Takes tables, and leaves tracks.
struct Sink {
    bands: Vec<Band>,
    done: Done,
}

impl TableSink for Sink {
    fn table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> logtool_core::Result<Box<dyn TableWriter>> {
        Ok(Box::new(Table {
            label: topic.label().into_owned(),
            reader: PositionReader::new(topic, schema),
            track: TrackMaker::new(self.bands.clone()),
            nowhere: 0,
            done: self.done.clone(),
        }))
    }
}

/// The table of a topic, of which only the track is kept: the places in the order of the
/// log, latitude and longitude of one record together.
struct Table {
    label: String,
    reader: Option<PositionReader>,
    track: TrackMaker,
    nowhere: u64,
    done: Done,
}

impl TableWriter for Table {
    fn write(&mut self, batch: &RecordBatch) -> logtool_core::Result<()> {
        let Some(reader) = &self.reader else { return Ok(()) };
        for fix in reader.fixes(batch) {
            match fix {
                Some(fix) => self.track.add(fix.nanos, fix.latitude, fix.longitude),
                None => self.nowhere += 1,
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> logtool_core::Result<()> {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.insert(self.label, (self.track.finish(), self.nowhere));
        Ok(())
    }
}
