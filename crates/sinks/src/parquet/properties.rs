//! How columns are encoded.

use std::collections::BTreeMap;

use arrow_schema::SchemaRef;
use logtool_core::Result;
use parquet::{
    arrow::ArrowSchemaConverter,
    basic::{Compression, Encoding, Type, ZstdLevel},
    file::{
        metadata::KeyValue,
        properties::{EnabledStatistics, WriterProperties, WriterVersion},
    },
};

use crate::{error::from_parquet, provenance::CREATED_BY};

/// The most rows of a row group.
const MAX_ROWS: usize = 1 << 20;
/// The most bytes of a row group.
const MAX_BYTES: usize = 128 << 20;

/// The way to write a table with the columns `schema`, and `metadata` in the file.
pub(super) fn properties(
    schema: &SchemaRef,
    metadata: BTreeMap<String, String>,
) -> Result<WriterProperties> {
    let metadata = metadata.into_iter().map(|(key, value)| KeyValue::new(key, value));
    let level = ZstdLevel::try_new(1).map_err(from_parquet)?;
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_created_by(CREATED_BY.to_owned())
        .set_compression(Compression::ZSTD(level))
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Page)
        .set_max_row_group_row_count(Some(MAX_ROWS))
        .set_max_row_group_bytes(Some(MAX_BYTES))
        .set_key_value_metadata(Some(metadata.collect()));
    let leaves = ArrowSchemaConverter::new().convert(schema).map_err(from_parquet)?;
    for leaf in leaves.columns() {
        let path = leaf.path().clone();
        properties = match leaf.physical_type() {
            Type::FLOAT | Type::DOUBLE => {
                properties.set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT)
            }
            Type::INT32 | Type::INT64 => {
                properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
            }
            Type::BYTE_ARRAY => properties.set_column_dictionary_enabled(path, true),
            _ => properties,
        };
    }
    Ok(properties.build())
}
