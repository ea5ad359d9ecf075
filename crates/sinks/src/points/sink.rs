//! Writes tables to files of points.

use std::{
    collections::BTreeMap,
    io::BufWriter,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arrow_array::{Array as _, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use logtool_core::{
    Error, ErrorKind, Result, TableSink, TableWriter, Topic, TopicOrigin,
};
use parking_lot::Mutex;

use crate::{
    files::{file_name::FileNames, staged_outputs::Outputs},
    points::{
        attributes::PointAttributes,
        column::{self, PointColumn},
        file::{CloudFile, PointOutput, Points, array_at},
        formats::{
            file_columns::FileColumns,
            kitti::KittiFile,
            las::{self, LasFile, LasOptions},
            pcd::{PcdEncoding, PcdFile},
            ply::PlyFile,
        },
        losses::PointLosses,
        metadata::point_metadata,
        options::{PointFormat, PointOptions},
        scans::{
            partial_scans::PartialScans,
            scan_index::{ScanFile, ScanIndex},
            scan_splitter::ScanSplitter,
        },
        survey::{PointSurvey, TopicSurvey},
    },
};

#[cfg(feature = "plot")]
use crate::points::formats::image::PointImage;

/// Writes files of points.
///
/// If each scan has a file, the files are named by the number of the scan and the time of its first
/// point, e.g. `000012_3.456789012.pcd`. The table `index.csv` in the same folder lists them, and
/// states which scans are partial, if that is known. Each file contains metadata about its origin,
/// if its format allows it.
#[derive(Clone, Debug)]
pub struct PointSink {
    outputs: Arc<Outputs>,
    /// The names for files of whole logs, and for folders of files of scans.
    names: [FileNames; 2],
    metadata: BTreeMap<String, String>,
    options: PointOptions,
    survey: PointSurvey,
    files: Arc<AtomicU64>,
    losses: Arc<Mutex<PointLosses>>,
}

/// Returns whether a table of `schema` contains points, i.e. numeric columns `x`, `y` and `z`.
pub fn has_points(schema: &Schema) -> bool {
    !column::point_columns(schema).is_empty()
}

impl PointSink {
    /// Creates a sink that writes files among `outputs`, with `metadata` in each of them. The
    /// first of `names` is used for topics that become one file, the second for topics that
    /// become a folder of files. It must have the style
    /// [`FolderIndex`](crate::NameStyle::FolderIndex). `survey` has read the same tables.
    pub fn new(
        outputs: Arc<Outputs>,
        names: [FileNames; 2],
        metadata: BTreeMap<String, String>,
        options: PointOptions,
        survey: PointSurvey,
    ) -> Self {
        let (files, losses) = (Arc::default(), Arc::default());
        Self { outputs, names, metadata, options, survey, files, losses }
    }

    /// Returns the number of files written so far.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// Returns the values that the files so far cannot store.
    pub fn losses(&self) -> PointLosses {
        self.losses.lock().clone()
    }
}

impl TableSink for PointSink {
    fn new_table(
        &self,
        topic: &Topic,
        schema: &SchemaRef,
    ) -> Result<Box<dyn TableWriter>> {
        let columns = column::point_columns(schema);
        if columns.is_empty() {
            let message =
                format!("{} has no numeric columns x, y and z", topic.label());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let scan_splitter = ScanSplitter::new(&columns, self.options.points_per_file);
        let [file_names, folder_names] = &self.names;
        let survey = self.survey.topic(topic);
        let attributes = PointAttributes::find(&columns, &survey);
        let partial_scans = PartialScans::from_schema(schema);
        let (stem, scan_index) = if scan_splitter.has_scans() {
            let time_type = schema
                .fields()
                .first()
                .filter(|_| attributes.times.record.is_some())
                .map(|field| field.data_type().clone());
            let scan_index = ScanIndex::new(
                &self.outputs,
                folder_names,
                topic,
                time_type,
                partial_scans.is_some(),
            )?;
            (folder_names.stem(topic), Some(scan_index))
        } else {
            (file_names.stem(topic), None)
        };
        Ok(Box::new(PointTable {
            sink: self.clone(),
            label: topic.label().into_owned(),
            stem,
            metadata: point_metadata(topic, &self.metadata),
            columns,
            record_time: attributes.times.record,
            survey,
            is_union: scan_splitter.has_scans() && topic.origin == TopicOrigin::Derived,
            scan_splitter,
            scan_index,
            partial_scans,
            open_scans: Vec::new(),
            last_closed_scan: None,
        }))
    }
}

/// The files of one topic.
struct PointTable {
    sink: PointSink,
    /// The name of the topic.
    label: String,
    /// The name of the file without its extension, or the name of the folder.
    stem: String,
    metadata: BTreeMap<String, String>,
    columns: Vec<PointColumn>,
    /// The index of the time of records.
    record_time: Option<usize>,
    survey: TopicSurvey,
    /// Whether the table combines clouds with different columns.
    is_union: bool,
    scan_splitter: ScanSplitter,
    scan_index: Option<ScanIndex>,
    /// The partial scans, or `None` if they are not known.
    partial_scans: Option<PartialScans>,
    /// The files that are being written, in the order of their scans.
    open_scans: Vec<OpenScan>,
    /// The highest number of a finished scan.
    last_closed_scan: Option<u32>,
}

/// A file that is being written.
struct OpenScan {
    scan_file: ScanFile,
    file: Box<dyn CloudFile>,
    /// The indices of its columns.
    column_indices: Vec<usize>,
}

/// The maximum number of scans that are written at the same time. Lasers that point to the left
/// pass the start azimuth before others, so the end of a scan overlaps the start of the next scan.
const MAX_OPEN_SCANS: usize = 2;

impl TableWriter for PointTable {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let arrays = column::arrays(batch, &self.columns);
        let points = Points { arrays, count: batch.num_rows() };
        for (scan, range) in self.scan_splitter.scans(&points.arrays, points.count) {
            self.add_points(scan, &points.slice(range.start, range.len()))?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        while !self.open_scans.is_empty() {
            if let [last] = &mut *self.open_scans {
                last.scan_file.is_partial |= !self.sink.options.is_to_end;
            }
            self.close_oldest()?;
        }
        self.scan_index.map_or(Ok(()), ScanIndex::finish)
    }
}

impl PointTable {
    /// Writes `points`, which belong to `scan`.
    fn add_points(&mut self, scan: u32, points: &Points) -> Result<()> {
        let times = array_at(points, self.record_time).and_then(column::time_values);
        let is_open = self.open_scans.iter().any(|open| open.scan_file.scan == scan);
        if !is_open {
            if self.last_closed_scan.is_some_and(|closed| scan <= closed) {
                let message =
                    format!("points of scan {scan} after those of later ones");
                return Err(Error::new(ErrorKind::Malformed, message));
            }
            if self.open_scans.len() >= MAX_OPEN_SCANS {
                self.close_oldest()?;
            }
            let first_time = times.as_ref().and_then(|times| *times.first()?);
            let open_scan = self.start_scan(scan, first_time, points)?;
            self.open_scans.push(open_scan);
            self.open_scans.sort_by_key(|open| open.scan_file.scan);
        }
        if let Some(OpenScan { scan_file, file, column_indices }) =
            self.open_scans.iter_mut().find(|open| open.scan_file.scan == scan)
        {
            scan_file.add(points, times.as_deref());
            let mut losses = PointLosses::default();
            file.write(&points.select_columns(column_indices), &mut losses)?;
            self.sink.losses.lock().add(losses);
        }
        Ok(())
    }

    /// Starts the file of `scan`, whose first points are `first_points`.
    fn start_scan(
        &self,
        scan: u32,
        first_time: Option<i64>,
        first_points: &Points,
    ) -> Result<OpenScan> {
        let extension = self.sink.options.format.extension();
        // The name of the file, its path among the outputs, and the title of an image.
        let (file_name, path, title) = if self.scan_index.is_some() {
            let file_name = format!("{}.{extension}", scan_stem(scan, first_time));
            let path = format!("{}/{file_name}", self.stem);
            (file_name, path, format!("{}, scan {scan}", self.label))
        } else {
            let file_name = format!("{}.{extension}", self.stem);
            (file_name.clone(), file_name, self.label.clone())
        };
        let output =
            BufWriter::with_capacity(64 << 10, self.sink.outputs.create(&path)?);
        self.sink.files.fetch_add(1, Ordering::Relaxed);
        let is_first = self.open_scans.is_empty() && self.last_closed_scan.is_none();
        let is_partial = is_first && !self.sink.options.is_from_start
            || self.partial_scans.as_ref().is_some_and(|scans| scans.contains(scan));
        let scan_file =
            ScanFile { scan, file: file_name, is_partial, ..ScanFile::default() };
        let column_indices = self.columns_of_file(first_points);
        let columns: Vec<PointColumn> = column_indices
            .iter()
            .filter_map(|index| self.columns.get(*index))
            .cloned()
            .collect();
        let first_points = first_points.select_columns(&column_indices);
        let file = self.create_file(output, columns, &first_points, title)?;
        Ok(OpenScan { scan_file, file, column_indices })
    }

    /// Returns the indices of the columns of the file that starts with `first_points`. In a table
    /// that combines clouds, columns that are null for the whole cloud are dropped, because
    /// integers in a file cannot be null.
    fn columns_of_file(&self, first_points: &Points) -> Vec<usize> {
        let is_written = |index: usize| {
            // x, y and z are in every file.
            !self.is_union
                || index < 3
                || first_points.arrays[index].null_count() < first_points.count
        };
        (0..first_points.arrays.len()).filter(|index| is_written(*index)).collect()
    }

    /// Starts a file of `columns` in `output`, whose first points are `first_points`. Only images
    /// have a title.
    fn create_file(
        &self,
        output: PointOutput,
        columns: Vec<PointColumn>,
        first_points: &Points,
        title: String,
    ) -> Result<Box<dyn CloudFile>> {
        let PointOptions { format, is_unix, .. } = self.sink.options;
        let attributes = PointAttributes::find(&columns, &self.survey);
        let columns = column::with_file_names(columns);
        let metadata = &self.metadata;
        let create_pcd = |output, encoding| -> Result<Box<dyn CloudFile>> {
            let is_ascii = encoding == PcdEncoding::Ascii;
            let columns =
                FileColumns::pcd(&columns, &attributes, first_points, is_ascii);
            Ok(Box::new(PcdFile::new(output, columns, encoding, metadata)?))
        };
        match format {
            PointFormat::PcdAscii => create_pcd(output, PcdEncoding::Ascii),
            PointFormat::PcdBinary => create_pcd(output, PcdEncoding::Binary),
            PointFormat::PcdCompressed => create_pcd(output, PcdEncoding::Compressed),
            PointFormat::PlyAscii | PointFormat::PlyBinary => {
                let is_ascii = format == PointFormat::PlyAscii;
                let columns = FileColumns::ply(&columns, &attributes, first_points);
                Ok(Box::new(PlyFile::new(output, columns, is_ascii, metadata)?))
            }
            PointFormat::Png => self.create_image(output, attributes, title),
            PointFormat::Kitti => {
                self.note_scales(&attributes, 1.0);
                Ok(Box::new(KittiFile::new(output, attributes)))
            }
            PointFormat::Las | PointFormat::Laz => {
                self.note_scales(&attributes, f64::from(u16::MAX));
                let is_compressed = format == PointFormat::Laz;
                let options = LasOptions { is_compressed, is_unix };
                let origin = las::origin(first_points);
                let file = LasFile::new(
                    output, &columns, attributes, options, metadata, origin,
                )?;
                let losses = PointLosses {
                    left_out: file.left_out(&self.label),
                    unknown_times: file.unknown_times(&self.label),
                    ..PointLosses::default()
                };
                self.sink.losses.lock().add(losses);
                Ok(Box::new(file))
            }
        }
    }

    /// Notes which intensities become the greatest one of the format, `max`, unless they are the
    /// same.
    fn note_scales(&self, attributes: &PointAttributes, max: f64) {
        let scales = attributes.full_scales.iter().filter(|scale| **scale != max);
        let scales = scales.map(|scale| (self.label.clone(), scale.to_string()));
        self.sink.losses.lock().intensity_scales.extend(scales);
    }

    /// Starts an image of points with `attributes` in `output`, with `title` above it.
    #[cfg(feature = "plot")]
    fn create_image(
        &self,
        output: PointOutput,
        attributes: PointAttributes,
        title: String,
    ) -> Result<Box<dyn CloudFile>> {
        let PointOptions { color, reach_metres, .. } = self.sink.options;
        let metadata = &self.metadata;
        let image =
            PointImage::new(output, attributes, color, reach_metres, title, metadata);
        Ok(Box::new(image))
    }

    /// Fails, because this build cannot draw images.
    #[cfg(not(feature = "plot"))]
    fn create_image(
        &self,
        _: PointOutput,
        _: PointAttributes,
        _: String,
    ) -> Result<Box<dyn CloudFile>> {
        let message = "this build cannot draw points: the feature `plot` is off";
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Finishes the open file with the lowest scan number.
    fn close_oldest(&mut self) -> Result<()> {
        let OpenScan { scan_file, file, .. } = self.open_scans.remove(0);
        file.finish()?;
        self.last_closed_scan = Some(scan_file.scan);
        self.scan_index.as_mut().map_or(Ok(()), |scan_index| scan_index.add(&scan_file))
    }
}

/// Returns the name of the file of `scan` without its extension. `first_time` is the time of its
/// first point in nanoseconds.
fn scan_stem(scan: u32, first_time: Option<i64>) -> String {
    let Some(first_time) = first_time else { return format!("{scan:06}") };
    let sign = if first_time < 0 { "-" } else { "" };
    let nanos = first_time.unsigned_abs();
    let (seconds, fraction) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    format!("{scan:06}_{sign}{seconds}.{fraction:09}")
}

#[cfg(test)]
mod tests;
