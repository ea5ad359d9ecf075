//! Writes tables as tracks.

use std::{
    fmt,
    io::Write as _,
    mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use logtool_core::{
    Error, ErrorKind, Provenance, Result, TableSink, TableWriter, Topic,
};

use crate::{
    files::{
        file_name::FileNames,
        staged_outputs::{Outputs, StagedFile},
    },
    tracks::{
        antimeridian::antimeridian_crossing,
        fix::Fix,
        geojson, gpx, kml,
        mode::{TrackMode, TrackModes},
        position::{PositionColumns, RowPosition},
        segment::{TrackInfo, TrackSegment},
    },
};

/// The file format of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackFormat {
    /// OGC KML 2.2: a line for each segment, in the colour of its mode.
    Kml,
    /// GPX 1.1: one track with a point for each fix, with its time if times are UTC.
    Gpx,
    /// GeoJSON, RFC 7946: a feature for each segment.
    GeoJson,
}

impl TrackFormat {
    /// Returns the file name extension.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Kml => "kml",
            Self::Gpx => "gpx",
            Self::GeoJson => "geojson",
        }
    }
}

/// Writes a track file for each topic that has a position fix.
#[derive(Clone, Debug)]
pub struct TrackSink {
    outputs: Arc<Outputs>,
    names: FileNames,
    /// The name of the file, if there is only one.
    name: Option<String>,
    format: TrackFormat,
    /// The name of the log.
    log: String,
    provenance: Option<String>,
    modes: Arc<TrackModes>,
    counts: Arc<DroppedRows>,
}

#[derive(Debug, Default)]
struct DroppedRows {
    files: AtomicU64,
    fixes: AtomicU64,
    unknown: AtomicU64,
    impossible: AtomicU64,
}

/// The maximum number of fixes of a segment, which limits the memory.
const MAX_FIXES: usize = 16_384;

impl TrackSink {
    /// Creates a sink that writes files with `names` among `outputs`, for the log called `log`.
    pub fn new(
        outputs: Arc<Outputs>,
        names: FileNames,
        format: TrackFormat,
        log: String,
    ) -> Self {
        let (modes, counts) = (Arc::default(), Arc::default());
        let (name, provenance) = (None, None);
        Self { outputs, names, name, format, log, provenance, modes, counts }
    }

    /// Starts a new line for each of these modes.
    pub fn with_modes(self, modes: TrackModes) -> Self {
        Self { modes: Arc::new(modes), ..self }
    }

    /// Adds the provenance to each file.
    pub fn with_provenance(self, provenance: &Provenance) -> Self {
        Self { provenance: Some(provenance.json()), ..self }
    }

    /// Uses `name` for the file of the only topic.
    pub fn with_name(self, name: String) -> Self {
        Self { name: Some(name), ..self }
    }

    /// Returns the number of files written so far.
    pub fn files(&self) -> u64 {
        self.counts.files.load(Ordering::Relaxed)
    }

    /// Returns the number of fixes in them.
    pub fn fixes(&self) -> u64 {
        self.counts.fixes.load(Ordering::Relaxed)
    }

    /// Returns how many rows were dropped because they have no position.
    pub fn unknown(&self) -> u64 {
        self.counts.unknown.load(Ordering::Relaxed)
    }

    /// Returns how many rows were dropped because their coordinates are out of range.
    pub fn impossible_positions(&self) -> u64 {
        self.counts.impossible.load(Ordering::Relaxed)
    }
}

impl TableSink for TrackSink {
    fn table(&self, topic: &Topic, schema: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        let Some(position) = PositionColumns::find(topic, schema) else {
            let message = format!("{} has no latitude and longitude", topic.label());
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let time = schema.fields().first().map(|field| field.data_type());
        let is_utc = matches!(time, Some(DataType::Timestamp(_, Some(_))));
        let track = TrackInfo {
            topic: topic.label().into_owned(),
            log: self.log.clone(),
            is_utc,
            provenance: self.provenance.clone(),
        };
        let default_name = || self.names.file_name(topic, self.format.extension());
        Ok(Box::new(TrackTable {
            sink: self.clone(),
            name: self.name.clone().unwrap_or_else(default_name),
            info: track,
            position,
            file: None,
            mode: None,
            fixes: Vec::new(),
            is_new_mode: true,
            is_joined: false,
            text: String::new(),
        }))
    }
}

/// The file of one topic, which is created at the first fix.
struct TrackTable {
    sink: TrackSink,
    name: String,
    info: TrackInfo,
    position: PositionColumns,
    file: Option<StagedFile>,
    /// The segment that is not written yet: see [`TrackSegment`].
    mode: Option<Arc<TrackMode>>,
    fixes: Vec<Fix>,
    is_new_mode: bool,
    is_joined: bool,
    /// A buffer for formatting.
    text: String,
}

impl TableWriter for TrackTable {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let position = self.position.clone();
        let counts = self.sink.counts.clone();
        for fix_position in position.row_positions(batch) {
            let count = match fix_position {
                RowPosition::Known(fix) => {
                    self.add(fix)?;
                    &counts.fixes
                }
                RowPosition::Unknown => {
                    self.write_segment(false)?;
                    &counts.unknown
                }
                RowPosition::Impossible => {
                    self.write_segment(false)?;
                    &counts.impossible
                }
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write_segment(false)?;
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let format = self.sink.format;
        write(&mut self.text, &mut file, |text| match format {
            TrackFormat::Kml => kml::tail(text),
            TrackFormat::Gpx => gpx::tail(text),
            TrackFormat::GeoJson => geojson::tail(text),
        })?;
        file.finish()
    }
}

impl TrackTable {
    fn add(&mut self, fix: Fix) -> Result<()> {
        let last = self.fixes.last().filter(|_| self.sink.format != TrackFormat::Gpx);
        if let Some((end, start)) =
            last.and_then(|last| antimeridian_crossing(last, &fix))
        {
            // The last fix may be on the antimeridian itself.
            if self.fixes.last() != Some(&end) {
                self.fixes.push(end);
            }
            self.write_segment(false)?;
            self.fixes.push(start);
        }
        let modes = self.sink.modes.clone();
        let mode = modes.mode_at(fix.nanos);
        if self.mode.as_ref() != mode {
            if !self.fixes.is_empty() {
                // It ends one line and starts the next, like in ulog2kml.
                self.fixes.push(fix);
                self.write_segment(true)?;
            }
            (self.mode, self.is_new_mode) = (mode.cloned(), true);
        } else if self.fixes.len() >= MAX_FIXES {
            self.fixes.push(fix);
            self.write_segment(true)?;
        }
        self.fixes.push(fix);
        Ok(())
    }

    /// Writes the current segment, if it is not empty. If it `is_continued`, the next segment
    /// starts with its last fix.
    fn write_segment(&mut self, is_continued: bool) -> Result<()> {
        let is_joined = mem::replace(&mut self.is_joined, is_continued);
        if self.fixes.is_empty() {
            return Ok(());
        }
        let is_first = self.file.is_none();
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                self.sink.counts.files.fetch_add(1, Ordering::Relaxed);
                none.insert(self.sink.outputs.create(&self.name)?)
            }
        };
        let (format, info) = (self.sink.format, &self.info);
        let segment = TrackSegment {
            mode: self.mode.as_deref(),
            fixes: &self.fixes,
            is_new_mode: mem::replace(&mut self.is_new_mode, false),
            is_joined,
            is_continued,
        };
        write(&mut self.text, file, |text| {
            if is_first {
                match format {
                    TrackFormat::Kml => kml::start(text, info)?,
                    TrackFormat::Gpx => gpx::start(text, info)?,
                    TrackFormat::GeoJson => geojson::start(text, info)?,
                }
            }
            match format {
                TrackFormat::Kml => kml::segment(text, info, &segment),
                TrackFormat::Gpx => gpx::segment(text, info, &segment),
                TrackFormat::GeoJson => {
                    geojson::segment(text, info, &segment, is_first)
                }
            }
        })?;
        self.fixes.clear();
        Ok(())
    }
}

/// Writes the output of `make` to `file`; `text` is a buffer.
fn write(
    text: &mut String,
    file: &mut StagedFile,
    make: impl FnOnce(&mut String) -> fmt::Result,
) -> Result<()> {
    text.clear();
    let into_error =
        |err| Error::new(ErrorKind::Unsupported, "cannot format").with_source(err);
    make(text).map_err(into_error)?;
    Ok(file.write_all(text.as_bytes())?)
}

#[cfg(test)]
mod tests;
