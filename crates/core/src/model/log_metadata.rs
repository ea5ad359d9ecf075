//! The metadata of a log that several crates use: their keys, and typed forms of values.

use std::collections::BTreeMap;

use crate::model::{manifest::Manifest, value::Value};

/// A key of [`Manifest::metadata`] that other crates use in addition to the crate of
/// the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataKey {
    /// The number of attachments of an MCAP file.
    Attachments,
    /// The version of a bag, e.g. `2.0`.
    BagVersion,
    /// The sizes of the chunks of a bag: [`SizeDistribution`].
    ChunkBytes,
    /// The chunks of a bag or an MCAP file: [`ChunkStatistics`].
    Chunks,
    /// The container of the packets of a capture, e.g. `pcap`.
    Container,
    /// The dropouts of a ULog: [`DropoutStatistics`].
    Dropouts,
    /// How a `.vel` log ends.
    End,
    /// The version of a `.vel` log.
    FormatVersion,
    /// The state of the index of a `.vel` log.
    Index,
    /// The information messages of a ULog, by name.
    Info,
    /// The information messages of a ULog with several values, by name.
    InfoMultiple,
    /// The program that wrote an MCAP file.
    Library,
    /// The metadata records of an MCAP file, by name.
    MetadataRecords,
    /// The number of data packets of a `.vel` log or a capture.
    Packets,
    /// The initial parameters of a ULog, by name.
    Parameters,
    /// The number of parameters of a ULog that do not have their default value.
    ParametersNonDefault,
    /// The profile of an MCAP file, e.g. `ros1`.
    Profile,
    /// The meaning of the size field of the messages of a `.vel` log.
    SizeField,
    /// The number of sync messages of a ULog.
    SyncMarks,
    /// The system that wrote a ULog: its name, hardware and software.
    System,
    /// The sizes of the chunks of a bag after decompression: [`SizeDistribution`].
    UncompressedChunkBytes,
}

impl MetadataKey {
    /// Returns the key in [`Manifest::metadata`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attachments => "attachments",
            Self::BagVersion => "bag_version",
            Self::ChunkBytes => "chunk_bytes",
            Self::Chunks => "chunks",
            Self::Container => "container",
            Self::Dropouts => "dropouts",
            Self::End => "end",
            Self::FormatVersion => "version",
            Self::Index => "index",
            Self::Info => "info",
            Self::InfoMultiple => "info_multiple",
            Self::Library => "library",
            Self::MetadataRecords => "metadata",
            Self::Packets => "packets",
            Self::Parameters => "parameters",
            Self::ParametersNonDefault => "parameters_non_default",
            Self::Profile => "profile",
            Self::SizeField => "size_field",
            Self::SyncMarks => "sync_marks",
            Self::System => "system",
            Self::UncompressedChunkBytes => "uncompressed_chunk_bytes",
        }
    }
}

impl From<MetadataKey> for String {
    fn from(key: MetadataKey) -> Self {
        key.name().to_owned()
    }
}

impl Manifest {
    /// Returns the metadata of the file with this `key`, if there are any.
    pub fn file_metadata(&self, key: MetadataKey) -> Option<&Value> {
        self.metadata.get(key.name())
    }
}

/// The numbers and the sizes of chunks, by their compression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkStatistics {
    /// The number of chunks.
    pub chunks: u64,
    /// The number of chunks whose headers were read. Only these are counted by compression.
    pub inspected_chunks: u64,
    /// The chunks of each compression, by its name in the file.
    pub by_compression: BTreeMap<String, CompressionStatistics>,
}

/// The number and the size of the chunks with one compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompressionStatistics {
    /// The number of chunks.
    pub chunks: u64,
    /// The number of bytes in the file.
    pub bytes: u64,
    /// The declared number of bytes after decompression.
    pub uncompressed_bytes: u64,
}

const CHUNKS: &str = "chunks";
const INSPECTED_CHUNKS: &str = "inspected";
const BY_COMPRESSION: &str = "by_compression";
const BYTES: &str = "bytes";
const UNCOMPRESSED_BYTES: &str = "uncompressed_bytes";

impl ChunkStatistics {
    /// Reads the statistics from the value of [`MetadataKey::Chunks`]; `None` if it is another
    /// value.
    pub fn from_value(value: &Value) -> Option<Self> {
        let Value::Map(entries) = value else { return None };
        let Some(Value::Map(compressions)) = entries.get(BY_COMPRESSION) else {
            return None;
        };
        let compression_statistics = |value: &Value| match value {
            Value::Map(counts) => CompressionStatistics {
                chunks: get_count(counts, CHUNKS),
                bytes: get_count(counts, BYTES),
                uncompressed_bytes: get_count(counts, UNCOMPRESSED_BYTES),
            },
            _ => CompressionStatistics::default(),
        };
        Some(Self {
            chunks: get_count(entries, CHUNKS),
            inspected_chunks: get_count(entries, INSPECTED_CHUNKS),
            by_compression: compressions
                .iter()
                .map(|(name, value)| (name.clone(), compression_statistics(value)))
                .collect(),
        })
    }

    /// Returns the value of [`MetadataKey::Chunks`].
    pub fn to_value(&self) -> Value {
        let mut by_compression = BTreeMap::new();
        for (name, statistics) in &self.by_compression {
            let counts = count_map([
                (CHUNKS, statistics.chunks),
                (BYTES, statistics.bytes),
                (UNCOMPRESSED_BYTES, statistics.uncompressed_bytes),
            ]);
            by_compression.insert(name.clone(), Value::Map(counts));
        }
        let mut entries = count_map([
            (CHUNKS, self.chunks),
            (INSPECTED_CHUNKS, self.inspected_chunks),
        ]);
        entries.insert(BY_COMPRESSION.to_owned(), Value::Map(by_compression));
        Value::Map(entries)
    }
}

/// The dropouts of a ULog: times in which the logger could not write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropoutStatistics {
    /// The number of dropouts.
    pub count: u64,
    /// The sum of their durations, in milliseconds.
    pub total_millis: u64,
    /// The longest duration, in milliseconds.
    pub longest_millis: u64,
}

impl DropoutStatistics {
    /// Reads the statistics from the value of [`MetadataKey::Dropouts`]; `None` if it is another
    /// value.
    pub fn from_value(value: &Value) -> Option<Self> {
        let Value::Map(entries) = value else { return None };
        Some(Self {
            count: get_count(entries, "count"),
            total_millis: get_count(entries, "total_ms"),
            longest_millis: get_count(entries, "longest_ms"),
        })
    }

    /// Returns the value of [`MetadataKey::Dropouts`].
    pub fn to_value(&self) -> Value {
        Value::Map(count_map([
            ("count", self.count),
            ("total_ms", self.total_millis),
            ("longest_ms", self.longest_millis),
        ]))
    }
}

/// The minimum, the median and the maximum of several sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeDistribution {
    /// The minimum.
    pub min: u64,
    /// The median: of two values in the middle, the larger one.
    pub median: u64,
    /// The maximum.
    pub max: u64,
}

impl SizeDistribution {
    /// Computes the distribution of `sizes`; `None` if there are none.
    pub fn new(mut sizes: Vec<u64>) -> Option<Self> {
        sizes.sort_unstable();
        Some(Self {
            min: *sizes.first()?,
            median: *sizes.get(sizes.len() / 2)?,
            max: *sizes.last()?,
        })
    }

    /// Reads the distribution from `value`; `None` if it is another value.
    pub fn from_value(value: &Value) -> Option<Self> {
        let Value::Map(entries) = value else { return None };
        let size = |name| match entries.get(name) {
            Some(Value::UInt(size)) => Some(*size),
            _ => None,
        };
        Some(Self { min: size("min")?, median: size("median")?, max: size("max")? })
    }

    /// Returns the distribution as a value.
    pub fn to_value(self) -> Value {
        Value::Map(count_map([
            ("min", self.min),
            ("median", self.median),
            ("max", self.max),
        ]))
    }
}

/// Returns the count with the key `name`, or 0 if there is none.
fn get_count(entries: &BTreeMap<String, Value>, name: &str) -> u64 {
    match entries.get(name) {
        Some(Value::UInt(count)) => *count,
        _ => 0,
    }
}

/// Returns a map of `counts`, which are keys and values.
fn count_map<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, Value> {
    BTreeMap::from(counts.map(|(name, count)| (name.to_owned(), Value::UInt(count))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form in the JSON of `logtool info`, on which other programs rely.
    const CHUNKS_JSON: &str = r#"{"by_compression":{"lz4":{"bytes":10,"chunks":2,"uncompressed_bytes":40}},"chunks":3,"inspected":2}"#;

    #[test]
    fn chunk_statistics_have_stable_keys() {
        let lz4 =
            CompressionStatistics { chunks: 2, bytes: 10, uncompressed_bytes: 40 };
        let statistics = ChunkStatistics {
            chunks: 3,
            inspected_chunks: 2,
            by_compression: BTreeMap::from([("lz4".to_owned(), lz4)]),
        };
        let value = statistics.to_value();
        assert_eq!(serde_json::to_string(&value.json()).unwrap(), CHUNKS_JSON);
        assert_eq!(ChunkStatistics::from_value(&value), Some(statistics));
        assert_eq!(ChunkStatistics::from_value(&Value::UInt(3)), None);
    }

    #[test]
    fn size_distribution_has_the_upper_median() {
        let sizes = SizeDistribution::new(vec![9, 1, 5, 3]).unwrap();
        assert_eq!(sizes, SizeDistribution { min: 1, median: 5, max: 9 });
        assert_eq!(SizeDistribution::from_value(&sizes.to_value()), Some(sizes));
        assert_eq!(SizeDistribution::new(Vec::new()), None);
    }

    #[test]
    fn dropout_statistics_have_stable_keys() {
        let dropouts =
            DropoutStatistics { count: 2, total_millis: 30, longest_millis: 20 };
        let value = dropouts.to_value();
        assert_eq!(
            serde_json::to_string(&value.json()).unwrap(),
            r#"{"count":2,"longest_ms":20,"total_ms":30}"#
        );
        assert_eq!(DropoutStatistics::from_value(&value), Some(dropouts));
    }
}
