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

use crate::{
    files::{file_name::FileNames, staged_outputs::Outputs},
    points::{
        attributes::PointAttributes,
        column::{self, PointColumn},
        file::{CloudFile, PointOutput, Points},
        formats::{
            kitti::KittiFile,
            las::{LasFile, LasOptions},
            pcd::{PcdEncoding, PcdFile},
            ply::PlyFile,
        },
        metadata::point_metadata,
        options::{PointFormat, PointOptions},
        scans::{
            partial_scans::PartialScans,
            scan_index::{ScanFile, ScanIndex},
            scan_splitter::ScanSplitter,
        },
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
    files: Arc<AtomicU64>,
    lost: Arc<AtomicU64>,
    infinities: Arc<AtomicU64>,
}

/// Returns whether a table of `schema` contains points, i.e. numeric columns `x`, `y` and `z`.
pub fn has_points(schema: &Schema) -> bool {
    !column::columns(schema).is_empty()
}

impl PointSink {
    /// Creates a sink that writes files among `outputs`, with `metadata` in each of them. The
    /// first of `names` is used for topics that become one file, the second for topics that
    /// become a folder of files. It must have the style [`Index`](crate::NameStyle::Index).
    pub fn new(
        outputs: Arc<Outputs>,
        names: [FileNames; 2],
        metadata: BTreeMap<String, String>,
        options: PointOptions,
    ) -> Self {
        let (files, lost, infinities) = Default::default();
        Self { outputs, names, metadata, options, files, lost, infinities }
    }

    /// Returns the number of files written so far.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// Returns the number of points so far that the format could not store.
    pub fn lost_points(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns how many infinities were written as `nan` so far, because text files of PLY cannot
    /// store them.
    pub fn infinities(&self) -> u64 {
        self.infinities.load(Ordering::Relaxed)
    }
}

impl TableSink for PointSink {
    fn table(&self, topic: &Topic, schema: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        let columns = column::columns(schema);
        if columns.is_empty() {
            let message =
                format!("{} has no numeric columns x, y and z", topic.label());
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let scan_splitter = ScanSplitter::new(&columns, self.options.per);
        let [whole_names, folder_names] = &self.names;
        let attributes = PointAttributes::find(&columns);
        let partial = PartialScans::from_schema(schema);
        let (stem, scan_index) = if scan_splitter.has_scans() {
            let time = schema.fields().first().map(|f| f.data_type().clone());
            let time = time.filter(|_| attributes.time.is_some());
            let (outputs, has_partial_scans) = (&self.outputs, partial.is_some());
            let scan_index =
                ScanIndex::new(outputs, folder_names, topic, time, has_partial_scans)?;
            (folder_names.stem(topic), Some(scan_index))
        } else {
            (whole_names.stem(topic), None)
        };
        Ok(Box::new(PointTable {
            sink: self.clone(),
            label: topic.label().into_owned(),
            stem,
            metadata: point_metadata(topic, &self.metadata),
            columns,
            attributes,
            is_union: scan_splitter.has_scans() && topic.origin == TopicOrigin::Derived,
            scan_splitter,
            scan_index,
            partial,
            open: Vec::new(),
            closed: None,
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
    attributes: PointAttributes,
    /// Whether the table combines clouds with different columns.
    is_union: bool,
    scan_splitter: ScanSplitter,
    scan_index: Option<ScanIndex>,
    partial: Option<PartialScans>,
    /// The files that are being written, in the order of their start.
    open: Vec<OpenScan>,
    /// The highest number of a finished scan.
    closed: Option<u32>,
}

/// A file that is being written.
struct OpenScan {
    scan_file: ScanFile,
    file: Box<dyn CloudFile>,
    /// The indices of its columns.
    column_indices: Vec<usize>,
}

/// The maximum number of scans that are written at the same time. Lasers that point to the left
/// pass the start azimuth before others, so the end of a scan overlaps the start of the next.
const MOST_OPEN: usize = 2;

impl TableWriter for PointTable {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let arrays = column::arrays(batch, &self.columns);
        let points = Points { arrays, count: batch.num_rows() };
        for (scan, range) in self.scan_splitter.scans(&points.arrays, points.count) {
            self.add(scan, &points.slice(range.start, range.len()))?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        while !self.open.is_empty() {
            if let [last] = &mut *self.open {
                last.scan_file.is_partial |= !self.sink.options.is_to_end;
            }
            self.close_oldest()?;
        }
        self.scan_index.map_or(Ok(()), ScanIndex::finish)
    }
}

impl PointTable {
    fn add(&mut self, scan: u32, points: &Points) -> Result<()> {
        let moments = self.attributes.time.and_then(|index| points.arrays.get(index));
        let moments = moments.and_then(column::times_of_points);
        let index = match self.open.iter().position(|open| open.scan_file.scan == scan)
        {
            Some(index) => index,
            None => {
                if self.closed.is_some_and(|closed| scan <= closed) {
                    let message =
                        format!("points of scan {scan} after those of later ones");
                    return Err(Error::new(ErrorKind::Malformed, message));
                }
                if self.open.len() >= MOST_OPEN {
                    self.close_oldest()?;
                }
                let first = moments.as_deref().and_then(|m| m.first()).copied();
                let open_scan = self.begin(scan, first.flatten(), points)?;
                self.open.push(open_scan);
                self.open.sort_by_key(|open| open.scan_file.scan);
                let index =
                    self.open.iter().position(|open| open.scan_file.scan == scan);
                index.unwrap_or_default()
            }
        };
        if let Some(OpenScan { scan_file, file, column_indices }) =
            self.open.get_mut(index)
        {
            scan_file.add(points, moments.as_deref());
            let lost = file.write(&points.select_columns(column_indices))?;
            self.sink.lost.fetch_add(lost, Ordering::Relaxed);
        }
        Ok(())
    }

    fn begin(
        &self,
        scan: u32,
        moment: Option<i64>,
        points: &Points,
    ) -> Result<OpenScan> {
        let extension = self.sink.options.format.extension();
        let (file, name) = match self.scan_index {
            None => (format!("{}.{extension}", self.stem), None),
            Some(_) => {
                let file = format!("{}.{extension}", name(scan, moment));
                (file.clone(), Some(format!("{}/{file}", self.stem)))
            }
        };
        let staged = self.sink.outputs.create(name.as_ref().unwrap_or(&file))?;
        let out = BufWriter::with_capacity(64 << 10, staged);
        self.sink.files.fetch_add(1, Ordering::Relaxed);
        let is_first = self.open.is_empty() && self.closed.is_none();
        let is_partial = is_first && !self.sink.options.is_from_start
            || self.partial.as_ref().is_some_and(|partial| partial.contains(scan));
        let scan_file = ScanFile { scan, file, is_partial, ..ScanFile::default() };
        let title = match &name {
            Some(_) => format!("{}, scan {scan}", self.label),
            None => self.label.clone(),
        };
        let indices = self.columns_of_file(points);
        let columns: Vec<PointColumn> = indices
            .iter()
            .filter_map(|index| self.columns.get(*index))
            .cloned()
            .collect();
        let file = self.file(out, &columns, &points.select_columns(&indices), title)?;
        Ok(OpenScan { scan_file, file, column_indices: indices })
    }

    /// Returns the columns of the file that starts with `first`. Columns that are null for the
    /// whole cloud are dropped, because integers in a file cannot be null.
    fn columns_of_file(&self, first: &Points) -> Vec<usize> {
        let arrays = first.arrays.iter().enumerate();
        let is_kept = |index: usize, nulls: usize| {
            // x, y and z are in every file.
            !self.is_union || index < 3 || nulls < first.count
        };
        let indices =
            arrays.filter(|(index, array)| is_kept(*index, array.null_count()));
        indices.map(|(index, _)| index).collect()
    }

    /// Starts a file of `columns` in `out` with the points `first`; images have a title.
    fn file(
        &self,
        out: PointOutput,
        columns: &[PointColumn],
        first: &Points,
        title: String,
    ) -> Result<Box<dyn CloudFile>> {
        let metadata = &self.metadata;
        let PointOptions { format, is_unix, .. } = self.sink.options;
        let pcd = |out, data| -> Result<Box<dyn CloudFile>> {
            Ok(Box::new(PcdFile::new(out, columns, data, metadata)?))
        };
        match format {
            PointFormat::PcdAscii => pcd(out, PcdEncoding::Ascii),
            PointFormat::PcdBinary => pcd(out, PcdEncoding::Binary),
            PointFormat::PcdCompressed => pcd(out, PcdEncoding::Compressed),
            PointFormat::PlyAscii | PointFormat::PlyBinary => {
                let is_ascii = format == PointFormat::PlyAscii;
                let infinities = self.sink.infinities.clone();
                let ply =
                    PlyFile::new(out, columns, is_ascii, metadata, first, infinities)?;
                Ok(Box::new(ply))
            }
            PointFormat::Png => self.image(out, columns, title),
            PointFormat::Kitti => Ok(Box::new(KittiFile::new(out, columns))),
            PointFormat::Las | PointFormat::Laz => {
                let is_packed = format == PointFormat::Laz;
                let options = LasOptions { is_packed, is_unix };
                Ok(Box::new(LasFile::new(out, columns, options, metadata, first)?))
            }
        }
    }

    /// Starts an image of `columns` in `out`, with `title` above it.
    #[cfg(feature = "plot")]
    fn image(
        &self,
        out: PointOutput,
        columns: &[PointColumn],
        title: String,
    ) -> Result<Box<dyn CloudFile>> {
        let PointOptions { color, reach_metres, .. } = self.sink.options;
        let metadata = &self.metadata;
        let image = PointImage::new(out, columns, color, reach_metres, title, metadata);
        Ok(Box::new(image))
    }

    /// Fails, because this build cannot draw images.
    #[cfg(not(feature = "plot"))]
    fn image(
        &self,
        _: PointOutput,
        _: &[PointColumn],
        _: String,
    ) -> Result<Box<dyn CloudFile>> {
        let message = "this build cannot draw points: the feature `plot` is off";
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    fn close_oldest(&mut self) -> Result<()> {
        let OpenScan { scan_file, file, .. } = self.open.remove(0);
        file.finish()?;
        self.closed = Some(scan_file.scan);
        self.scan_index.as_mut().map_or(Ok(()), |scan_index| scan_index.add(&scan_file))
    }
}

/// Returns the name of the file of `scan` without its extension.
fn name(scan: u32, first: Option<i64>) -> String {
    let Some(nanos) = first else { return format!("{scan:06}") };
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    format!("{scan:06}_{sign}{seconds}.{nanos:09}")
}

#[cfg(test)]
mod tests;
