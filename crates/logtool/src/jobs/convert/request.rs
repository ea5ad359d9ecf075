//! The output format of a conversion, and the selected records and columns.

use std::{sync::Arc, time::Duration};

use logtool_core::{Labels, Manifest, View};
use logtool_sinks::{PointColor, PointsPerFile};
use logtool_velodyne::lidar::LidarOptions;

use crate::{
    formats::Compression,
    jobs::convert::OutputFormat,
    records::{labels, series::Derivation, translate::MessageTypes},
    time::{clock::TimeChoice, typed_time::TypedTime},
};

/// The output format of a conversion, and the selected records and columns.
///
/// ```
/// use logtool::convert::{ConvertRequest, OutputFormat};
///
/// let request = ConvertRequest::new(OutputFormat::Parquet)
///     .with_topics(["vehicle_*", "sensor_gps"])
///     .with_columns(["lat*", "lon*"]);
/// assert_eq!(request.topics.len(), 2);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConvertRequest {
    /// The format.
    pub format: OutputFormat,
    /// Patterns of topics (`imu`, `sensor_gps.1`, `vehicle_*`); no pattern selects all topics.
    pub topics: Vec<String>,
    /// Patterns of columns (`lat`, `sensor_gps.lat`, `q*`); no pattern selects all columns.
    pub columns: Vec<String>,
    /// The first time.
    pub start: Option<TypedTime>,
    /// The end of the selected times; records at this time are not selected.
    pub end: Option<TypedTime>,
    /// Series that become tables of their own.
    pub derived: Vec<Derivation>,
    /// The clock of the times; the default is the clock of the log. For a new log, it is the
    /// clock of `start` and `end`.
    pub clock: Option<TimeChoice>,
    /// Whether each scalar has its own column (`x[0]`, `a.b`). CSV always has such columns.
    pub is_flat: bool,
    /// The layout of Parquet files; that of Spark is also for Arrow, CSV and JSON Lines.
    pub layout: Option<TableLayout>,
    /// The merge of all topics into one table; `None` makes a table for each topic.
    pub merge: Option<AsofMerge>,
    /// The names of the values of fields, which become more columns.
    pub labels: Option<LabelSource>,
    /// Whether CSV files are safe in spreadsheets: an apostrophe before each string that
    /// they would run as a formula.
    pub is_csv_safe: bool,
    /// Whether infinities are 1e999 and -1e999 in JSON Lines, and not `null`.
    pub has_json_infinities: bool,
    /// The messages of new logs.
    pub messages: MessageTypes,
    /// The compression of the chunks of new logs.
    pub compression: Option<Compression>,
    /// The encoding of points in PCD and PLY files.
    pub point_encoding: Option<PointEncoding>,
    /// The content of a file of points: a scan, or all scans of a log.
    pub points_per_file: Option<PointsPerFile>,
    /// The quantity that the colours of images of points show.
    pub point_color: Option<PointColor>,
    /// The distance from the centre of an image of points to its sides, in metres.
    pub image_reach_metres: Option<u32>,
    /// The intensity of points that becomes the greatest one in LAS, LAZ and KITTI files.
    pub intensity_max: Option<u32>,
    /// The model, the calibration and the points of lidars. `utc` is set by the conversion.
    pub lidar: LidarOptions,
}

/// The layout of the columns of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum TableLayout {
    /// Lists and structs, as the topic has them
    Arrow,
    /// A column for each scalar, named as in pyulog
    Flat,
    /// The files, columns and documents of PX4's Flight Review 2
    Px4,
    /// Types that Apache Spark reads: times in microseconds, and all nanoseconds as integers; no
    /// unsigned integers, no lists of fixed length
    Spark,
}

/// The encoding of points in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum PointEncoding {
    /// Binary, in PLY little-endian
    Binary,
    /// As text
    Ascii,
    /// Binary, compressed with LZF (PCD only)
    Compressed,
}

/// The source of the names of the values of fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LabelSource {
    /// The definitions in the log.
    Log,
    /// These names, e.g. from [`labels::read_folder`].
    Labels(Arc<Labels>),
}

/// The merge of several topics into one table: a row for each period, with the last value of each
/// column at that time or before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AsofMerge {
    /// The time from one row to the next.
    pub period: Duration,
    /// The maximum age of a value. Older values are null.
    pub max_age: Option<Duration>,
}

impl AsofMerge {
    /// Creates a merge with a row for each `period`, and values of any age.
    pub fn new(period: Duration) -> Self {
        Self { period, max_age: None }
    }

    /// Sets the age from which values are null.
    #[must_use]
    pub fn with_max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }
}

impl ConvertRequest {
    /// Creates a request for everything that `format` can hold.
    pub fn new(format: OutputFormat) -> Self {
        Self {
            format,
            topics: Vec::new(),
            columns: Vec::new(),
            start: None,
            end: None,
            derived: Vec::new(),
            clock: None,
            is_flat: false,
            layout: None,
            merge: None,
            labels: None,
            is_csv_safe: false,
            has_json_infinities: false,
            messages: MessageTypes::Any,
            compression: None,
            point_encoding: None,
            points_per_file: None,
            point_color: None,
            image_reach_metres: None,
            intensity_max: None,
            lidar: LidarOptions::default(),
        }
    }

    /// Selects the topics that match one of `patterns`.
    #[must_use]
    pub fn with_topics(
        mut self,
        patterns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.topics = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Selects the columns that match one of `patterns`.
    #[must_use]
    pub fn with_columns(
        mut self,
        patterns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.columns = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Selects the records at `start` or later.
    #[must_use]
    pub fn with_start(mut self, start: TypedTime) -> Self {
        self.start = Some(start);
        self
    }

    /// Selects the records before `end`.
    #[must_use]
    pub fn with_end(mut self, end: TypedTime) -> Self {
        self.end = Some(end);
        self
    }

    /// Adds a table for each of `derived`, whatever topics are selected. If patterns of topics
    /// are only names of such tables, there are no other tables.
    #[must_use]
    pub fn with_derived(
        mut self,
        derived: impl IntoIterator<Item = Derivation>,
    ) -> Self {
        self.derived = derived.into_iter().collect();
        self
    }

    /// Sets the clock of the times.
    #[must_use]
    pub fn with_clock(mut self, clock: TimeChoice) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Makes one column of each number.
    #[must_use]
    pub fn with_flat_columns(mut self) -> Self {
        self.is_flat = true;
        self
    }

    /// Sets the layout of tables.
    #[must_use]
    pub fn with_layout(mut self, layout: TableLayout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// Makes one table of all topics.
    #[must_use]
    pub fn with_merge(mut self, merge: AsofMerge) -> Self {
        self.merge = Some(merge);
        self
    }

    /// Adds columns with the names of values.
    #[must_use]
    pub fn with_labels(mut self, labels: LabelSource) -> Self {
        self.labels = Some(labels);
        self
    }

    /// Sets the messages of new logs, for logs that have none.
    #[must_use]
    pub fn with_messages(mut self, messages: MessageTypes) -> Self {
        self.messages = messages;
        self
    }

    /// Sets the compression of the chunks of new bags and MCAP files.
    #[must_use]
    pub fn with_compression(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self
    }

    /// Sets how lidars are read.
    #[must_use]
    pub fn with_lidar(mut self, lidar: LidarOptions) -> Self {
        self.lidar = lidar;
        self
    }

    /// Sets the encoding of PCD and PLY files.
    #[must_use]
    pub fn with_point_encoding(mut self, encoding: PointEncoding) -> Self {
        self.point_encoding = Some(encoding);
        self
    }

    /// Sets the content of a file of points: a scan, or all scans of a log.
    #[must_use]
    pub fn with_points_per_file(mut self, per: PointsPerFile) -> Self {
        self.points_per_file = Some(per);
        self
    }

    /// Sets the quantity that the colours of images of points show.
    #[must_use]
    pub fn with_point_color(mut self, color: PointColor) -> Self {
        self.point_color = Some(color);
        self
    }

    /// Sets the distance from the centre of an image of points to its sides, in metres.
    #[must_use]
    pub fn with_image_reach(mut self, metres: u32) -> Self {
        self.image_reach_metres = Some(metres);
        self
    }

    /// Sets the intensity of points that becomes the greatest one in LAS, LAZ and KITTI files. By
    /// default, the values of each topic decide.
    #[must_use]
    pub fn with_intensity_max(mut self, intensity: u32) -> Self {
        self.intensity_max = Some(intensity);
        self
    }

    /// Makes CSV files safe in spreadsheets.
    #[must_use]
    pub fn with_safe_csv(mut self) -> Self {
        self.is_csv_safe = true;
        self
    }

    /// Writes infinities as 1e999 and -1e999 in JSON Lines.
    #[must_use]
    pub fn with_json_infinities(mut self) -> Self {
        self.has_json_infinities = true;
        self
    }

    /// Returns the clock of the times.
    pub fn clock(&self) -> TimeChoice {
        self.clock.unwrap_or_default()
    }

    /// Returns whether the columns of tables are numbers, or lists and structs too.
    pub fn view(&self) -> View {
        let is_flat = self.is_flat || self.layout == Some(TableLayout::Flat);
        if is_flat || self.format == OutputFormat::Csv {
            View::Flat
        } else {
            View::Nested
        }
    }

    /// Returns whether times are selected.
    pub fn has_time_range(&self) -> bool {
        self.start.is_some() || self.end.is_some()
    }

    /// Returns the names of values that the tables of the log with `manifest` have.
    pub fn labels(&self, manifest: &Manifest) -> Option<Arc<Labels>> {
        match self.labels.as_ref()? {
            LabelSource::Log => labels::from_manifest(manifest),
            LabelSource::Labels(labels) => Some(Arc::clone(labels)),
        }
    }
}
