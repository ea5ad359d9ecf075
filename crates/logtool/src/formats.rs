//! The list of the log formats, and what each of them can do.

mod conversions;

use logtool_core::{Format, Manifest, Source, TopicSet, recognize};
use logtool_rosmsg::TopicMetadata;

use crate::error::{Error, ErrorKind, Result};

pub use self::conversions::{CONVERSIONS, Conversion};
pub use logtool_tables::time_column::{TimeColumnChoice, TimeUnit};

/// A log format. This is the only list of log formats: each difference between them is a method
/// here, or of the [`Format`] itself. [`OutputFormat`](crate::jobs::convert::OutputFormat) is the list of
/// the formats that logs are converted to.
///
/// ```
/// use logtool::formats::LogFormat;
///
/// let format = LogFormat::from_file_name("drive.bag").unwrap();
/// assert_eq!(format, LogFormat::Rosbag);
/// assert!(format.has_index() && LogFormat::Mcap.can_hold(format));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum LogFormat {
    /// PX4's ULog
    Ulog,
    /// A bag of ROS 1
    #[cfg_attr(feature = "clap", value(name = "bag", alias = "rosbag"))]
    Rosbag,
    /// An MCAP file
    Mcap,
    /// A log of Velodyne's .vel format
    Vel,
    /// A capture of network packets
    #[cfg_attr(feature = "clap", value(name = "pcap", aliases = ["pcapng", "capture"]))]
    Capture,
    /// A table as comma-separated values
    Csv,
    /// A table as a Parquet file
    Parquet,
}

/// The kinds of records that formats have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// Samples of the topics of PX4. Their times are in the samples, and a topic may have
    /// several numbered instances.
    Px4,
    /// Messages with definitions, as those of ROS. Their times are stored outside the
    /// messages.
    Message,
    /// Packets of Velodyne lidars, from which points are computed.
    LidarPacket,
    /// Rows of a table.
    TableRow,
}

/// The compression of the chunks of a bag or an MCAP file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Compression {
    /// No compression
    None,
    /// Smallest and slow
    Bz2,
    /// Larger and fast
    Lz4,
    /// Small and fast (MCAP)
    Zstd,
}

impl Compression {
    /// Returns the name that the formats use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bz2 => "bz2",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

impl LogFormat {
    /// All formats, the most probable ones first.
    pub const ALL: &'static [Self] = &[
        Self::Ulog,
        Self::Rosbag,
        Self::Mcap,
        Self::Vel,
        Self::Capture,
        Self::Csv,
        Self::Parquet,
    ];

    /// Returns the format of the log of `manifest`, or `None` if the log is not a file of
    /// one of these formats.
    pub fn from_manifest(manifest: &Manifest) -> Option<Self> {
        Self::from_name(&manifest.format)
    }

    /// Returns the format that the first bytes of `source` show. The name of the file, without
    /// the extension of a compression, helps where the bytes do not suffice.
    ///
    /// # Errors
    /// `Unrecognized` if the bytes are not of a known format, and those of the source.
    pub fn recognize(file_name: &str, source: &dyn Source) -> Result<Self> {
        let formats: Vec<&dyn Format> =
            Self::ALL.iter().map(|format| format.format()).collect();
        let format = recognize(&formats, file_name, source)?;
        Self::from_name(format.name()).ok_or_else(|| {
            Error::other(format!("{format:?} is not in the list of formats"))
        })
    }

    /// Returns the format whose [`extensions`](Self::extensions) `file_name` ends in, ignoring
    /// case.
    pub fn from_file_name(file_name: &str) -> Option<Self> {
        let name = file_name.to_ascii_lowercase();
        let has_extension = |extension: &&str| {
            name.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.'))
        };
        let mut formats = Self::ALL.iter().copied();
        formats.find(|format| format.extensions().iter().any(has_extension))
    }

    /// Returns the format with this [`extension`](Self::extension), ignoring case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        let mut formats = Self::ALL.iter().copied();
        formats.find(|format| extension.eq_ignore_ascii_case(format.extension()))
    }

    /// Returns the format with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// Returns the name that manifests and reports use: `ulog`, `rosbag`, `mcap`, `vel`, `pcap`,
    /// `csv` or `parquet`.
    pub fn name(self) -> &'static str {
        self.format().name()
    }

    /// Returns the name that `logtool formats` uses. A capture is called `capture`, because it
    /// may also be a pcapng file or bare packets; other formats have their [name in
    /// options](Self::option_name).
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            format => format.option_name(),
        }
    }

    /// Returns the name that options and extensions use: `ulog`, `bag`, `mcap`, `vel`, `pcap`,
    /// `csv` or `parquet`.
    pub fn option_name(self) -> &'static str {
        match self {
            Self::Rosbag => "bag",
            format => format.name(),
        }
    }

    /// Returns what a log of this format is called in a sentence, such as "a ULog".
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Ulog => "a ULog",
            Self::Rosbag => "a ROS bag",
            Self::Mcap => "an MCAP file",
            Self::Vel => "a .vel log",
            Self::Capture => "a capture",
            Self::Csv => "a CSV table",
            Self::Parquet => "a Parquet table",
        }
    }

    /// Returns what a log of this format is called, such as "ULog".
    pub fn title(self) -> &'static str {
        self.noun().split_once(' ').map_or(self.noun(), |(_, title)| title)
    }

    /// Returns what logs of this format are called in a sentence, such as "ULogs".
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Ulog => "ULogs",
            Self::Rosbag => "ROS bags",
            Self::Mcap => "MCAP files",
            Self::Vel => ".vel logs",
            Self::Capture => "captures",
            Self::Csv => "CSV tables",
            Self::Parquet => "Parquet tables",
        }
    }

    /// Returns a short description of the format.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Ulog => "PX4's logs, versions 0 and 1 (.ulg)",
            Self::Rosbag => "bags of ROS 1, versions 1.2 and 2.0 (.bag, .bag.active)",
            Self::Mcap => {
                "MCAP files (.mcap): ROS 1, CDR, protobuf and JSON become columns"
            }
            Self::Vel => "recordings of the Koblenz lidar cars (.vel)",
            Self::Capture => {
                "captures of Velodyne lidars (.pcap, .pcapng, bare packets)"
            }
            Self::Csv => "tables with a time column (.csv, as their names show)",
            Self::Parquet => "tables with a time column (.parquet)",
        }
    }

    /// Returns the extensions that logs of this format have, in lower case and without the
    /// first dot.
    pub const fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Ulog => &["ulg", "ulog", "ulge"],
            Self::Rosbag => &["bag", "bag.active"],
            Self::Mcap => &["mcap"],
            Self::Vel => &["vel"],
            Self::Capture => &["pcap", "pcapng"],
            Self::Csv => &["csv"],
            Self::Parquet => &["parquet"],
        }
    }

    /// Returns the extension of new logs of this format, without a dot.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Ulog => "ulg",
            Self::Rosbag => "bag",
            Self::Mcap => "mcap",
            Self::Vel => "vel",
            Self::Capture => "pcap",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }

    /// Returns the implementation, which opens and writes logs.
    pub const fn format(self) -> &'static dyn Format {
        match self {
            Self::Ulog => &logtool_ulog::FORMAT,
            Self::Rosbag => &logtool_rosbag::FORMAT,
            Self::Mcap => &logtool_mcap::FORMAT,
            Self::Vel => const { &logtool_velodyne::vel::FORMAT },
            Self::Capture => const { &logtool_velodyne::capture::FORMAT },
            Self::Csv => &logtool_tables::csv::FORMAT,
            Self::Parquet => &logtool_tables::parquet::FORMAT,
        }
    }

    /// Returns the kind of the records.
    pub const fn record_kind(self) -> RecordKind {
        match self {
            Self::Ulog => RecordKind::Px4,
            Self::Rosbag | Self::Mcap => RecordKind::Message,
            Self::Vel | Self::Capture => RecordKind::LidarPacket,
            Self::Csv | Self::Parquet => RecordKind::TableRow,
        }
    }

    /// Returns whether files of this format are tables. They are often outputs, so that they are
    /// read only if they are named, and not because they are in a folder of logs.
    pub fn is_table(self) -> bool {
        self.record_kind() == RecordKind::TableRow
    }

    /// Returns whether the records are messages with definitions, as those of ROS.
    pub fn has_messages(self) -> bool {
        self.record_kind() == RecordKind::Message
    }

    /// Returns whether logs may have an index. If not, each request reads the whole file.
    pub fn has_index(self) -> bool {
        matches!(self, Self::Rosbag | Self::Mcap | Self::Parquet)
    }

    /// Returns how the chunks of new logs can be compressed. The list is empty for formats without
    /// compressed chunks.
    pub const fn compressions(self) -> &'static [Compression] {
        match self {
            Self::Rosbag => &[Compression::None, Compression::Lz4, Compression::Bz2],
            Self::Mcap => &[Compression::None, Compression::Lz4, Compression::Zstd],
            Self::Ulog | Self::Vel | Self::Capture | Self::Csv | Self::Parquet => &[],
        }
    }

    /// Returns whether new logs can store metadata of any kind, such as their provenance.
    pub fn stores_annotations(self) -> bool {
        self == Self::Mcap
    }

    /// Returns whether new logs are written from start to end, so that they can be sent through
    /// a pipe. The headers of the others are completed last.
    pub fn is_stream(self) -> bool {
        matches!(self, Self::Ulog | Self::Mcap | Self::Capture)
    }

    /// Returns whether a log of this format can hold the unchanged records of logs of the format
    /// `other`.
    pub fn can_hold(self, other: Self) -> bool {
        self == other && !self.is_table() || self.has_messages() && other.has_messages()
    }
}

/// Returns what the log of `manifest` is called in a sentence, such as "a ULog".
pub(crate) fn noun(manifest: &Manifest) -> &'static str {
    LogFormat::from_manifest(manifest).map_or("a log", LogFormat::noun)
}

/// Fails unless `format` is that of ULogs. `ability` says what only these have or can, such as
/// "have parameters".
///
/// # Errors
/// `Unsupported`: it depends on the input, and not on the request alone.
pub(crate) fn require_ulog(format: Option<LogFormat>, ability: &str) -> Result<()> {
    if format == Some(LogFormat::Ulog) {
        return Ok(());
    }
    let noun = format.map_or("another log", LogFormat::noun);
    let what = format!("it is {noun}, and only ULogs {ability}");
    Err(Error::new(ErrorKind::Unsupported, what))
}

/// Returns which of `topics` have only raw bytes, and why: one sentence for each topic with
/// records.
pub fn raw_topics(manifest: &Manifest, topics: &TopicSet) -> Vec<String> {
    let selected = manifest.topics().filter(|(id, _)| topics.contains(*id));
    let raw = selected.filter(|(_, topic)| topic.records != Some(0)).filter_map(
        |(_, topic)| {
            let reason = TopicMetadata::new(&topic.metadata).raw_reason?;
            Some(format!("{} has only raw bytes: {reason}", topic.label()))
        },
    );
    raw.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extension_of_a_file_name_selects_the_format() {
        for (name, format) in [
            ("X.ULG", Some(LogFormat::Ulog)),
            ("z.bag.active", Some(LogFormat::Rosbag)),
            ("p.pcapng", Some(LogFormat::Capture)),
            ("bag", None),
            ("x.tar.gz", None),
        ] {
            assert_eq!(LogFormat::from_file_name(name), format, "{name}");
        }
    }

    #[test]
    fn extension_of_new_logs_is_one_that_the_format_reads() {
        for format in LogFormat::ALL {
            assert_eq!(LogFormat::from_name(format.name()), Some(*format));
            assert!(format.extensions().contains(&format.extension()));
            assert_eq!(LogFormat::from_extension(format.extension()), Some(*format));
        }
    }
}
