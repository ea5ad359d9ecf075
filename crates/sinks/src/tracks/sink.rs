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
    /// The name of the file, if only one topic is written.
    file_name: Option<String>,
    format: TrackFormat,
    /// The name of the log.
    log: String,
    provenance: Option<String>,
    modes: Arc<TrackModes>,
    counters: Arc<TrackCounters>,
}

/// The numbers of written files and fixes, and of dropped rows.
#[derive(Debug, Default)]
struct TrackCounters {
    /// The files that were written.
    files: AtomicU64,
    /// The fixes that were written.
    fixes: AtomicU64,
    /// The rows without a position.
    rows_without_position: AtomicU64,
    /// The rows whose coordinates are out of range.
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
        Self {
            outputs,
            names,
            file_name: None,
            format,
            log,
            provenance: None,
            modes: Arc::default(),
            counters: Arc::default(),
        }
    }

    /// Sets the modes of the vehicle; each change of the mode starts a new line.
    pub fn with_modes(self, modes: TrackModes) -> Self {
        Self { modes: Arc::new(modes), ..self }
    }

    /// Adds the provenance to each file.
    pub fn with_provenance(self, provenance: &Provenance) -> Self {
        Self { provenance: Some(provenance.json()), ..self }
    }

    /// Uses `name` for the file of the only topic.
    pub fn with_name(self, name: String) -> Self {
        Self { file_name: Some(name), ..self }
    }

    /// Returns the number of files written so far.
    pub fn files(&self) -> u64 {
        self.counters.files.load(Ordering::Relaxed)
    }

    /// Returns the number of fixes in them.
    pub fn fixes(&self) -> u64 {
        self.counters.fixes.load(Ordering::Relaxed)
    }

    /// Returns how many rows were dropped because they have no position.
    pub fn rows_without_position(&self) -> u64 {
        self.counters.rows_without_position.load(Ordering::Relaxed)
    }

    /// Returns how many rows were dropped because their coordinates are out of range.
    pub fn impossible_positions(&self) -> u64 {
        self.counters.impossible.load(Ordering::Relaxed)
    }
}

impl TableSink for TrackSink {
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>> {
        let Some(position_columns) = PositionColumns::find(topic, schema) else {
            let message = format!("{} has no latitude and longitude", topic.label());
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let time_type = schema.fields().first().map(|field| field.data_type());
        let is_utc = matches!(time_type, Some(DataType::Timestamp(_, Some(_))));
        let info = TrackInfo {
            topic: topic.label().into_owned(),
            log: self.log.clone(),
            is_utc,
            provenance: self.provenance.clone(),
        };
        let default_name = || self.names.file_name(topic, self.format.extension());
        Ok(Box::new(TrackTable {
            sink: self.clone(),
            file_name: self.file_name.clone().unwrap_or_else(default_name),
            info,
            position_columns,
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
    file_name: String,
    info: TrackInfo,
    position_columns: PositionColumns,
    file: Option<StagedFile>,
    /// The mode of the segment that is not written yet.
    mode: Option<Arc<TrackMode>>,
    /// The fixes of that segment.
    fixes: Vec<Fix>,
    /// See [`TrackSegment::is_new_mode`].
    is_new_mode: bool,
    /// See [`TrackSegment::is_joined`].
    is_joined: bool,
    /// A buffer for formatting.
    text: String,
}

impl TableWriter for TrackTable {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let position_columns = self.position_columns.clone();
        let counters = self.sink.counters.clone();
        for position in position_columns.row_positions(batch) {
            let counter = match position {
                RowPosition::Known(fix) => {
                    self.add_fix(fix)?;
                    &counters.fixes
                }
                RowPosition::Unknown => {
                    self.write_segment(false)?;
                    &counters.rows_without_position
                }
                RowPosition::Impossible => {
                    self.write_segment(false)?;
                    &counters.impossible
                }
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.write_segment(false)?;
        let Some(mut file) = self.file.take() else { return Ok(()) };
        let format = self.sink.format;
        write_text(&mut self.text, &mut file, |text| match format {
            TrackFormat::Kml => kml::write_end(text),
            TrackFormat::Gpx => gpx::write_end(text),
            TrackFormat::GeoJson => geojson::write_end(text),
        })?;
        file.finish()
    }
}

impl TrackTable {
    /// Adds `fix` to the current segment, or to a new one.
    fn add_fix(&mut self, fix: Fix) -> Result<()> {
        if self.sink.format != TrackFormat::Gpx
            && let Some(last_fix) = self.fixes.last()
            && let Some((exit, entry)) = antimeridian_crossing(last_fix, &fix)
        {
            // The last fix may be on the antimeridian itself.
            if *last_fix != exit {
                self.fixes.push(exit);
            }
            self.write_segment(false)?;
            self.fixes.push(entry);
        }
        let modes = self.sink.modes.clone();
        let mode = modes.mode_at(fix.nanos);
        if self.mode.as_ref() != mode {
            if !self.fixes.is_empty() {
                // The fix ends one line and starts the next, like in ulog2kml.
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
            missing_file => {
                self.sink.counters.files.fetch_add(1, Ordering::Relaxed);
                missing_file.insert(self.sink.outputs.create(&self.file_name)?)
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
        write_text(&mut self.text, file, |text| {
            if is_first {
                match format {
                    TrackFormat::Kml => kml::write_start(text, info)?,
                    TrackFormat::Gpx => gpx::write_start(text, info)?,
                    TrackFormat::GeoJson => geojson::write_start(text, info)?,
                }
            }
            match format {
                TrackFormat::Kml => kml::write_segment(text, info, &segment),
                TrackFormat::Gpx => gpx::write_segment(text, info, &segment),
                TrackFormat::GeoJson => {
                    geojson::write_segment(text, info, &segment, is_first)
                }
            }
        })?;
        self.fixes.clear();
        Ok(())
    }
}

/// Writes the text that `format` appends to the buffer `text` to `file`.
fn write_text(
    text: &mut String,
    file: &mut StagedFile,
    format: impl FnOnce(&mut String) -> fmt::Result,
) -> Result<()> {
    text.clear();
    format(text).map_err(|err| {
        Error::new(ErrorKind::Unsupported, "cannot format").with_source(err)
    })?;
    Ok(file.write_all(text.as_bytes())?)
}

#[cfg(test)]
mod tests;
