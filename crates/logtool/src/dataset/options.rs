//! Digests of the options that change the outputs: logs are converted or indexed again when
//! the digest changes.

use logtool_velodyne::lidar::LidarOptions;

use crate::{
    dataset::catalog::CatalogColumns,
    jobs::convert::ConvertRequest,
    source::{losses::Strictness, session::Session},
};

/// Returns a digest of all options that change the result of a conversion.
pub(super) fn conversion(
    request: &ConvertRequest,
    session: &Session,
    strictness: Strictness,
    columns: CatalogColumns,
) -> String {
    let reading = digest_of_reading(&request.lidar, session, strictness);
    with_columns(format!("{request:?} {reading}"), columns)
}

/// Returns a digest of all options that change an entry of a catalog without a dataset.
pub(super) fn index(
    lidar: &LidarOptions,
    session: &Session,
    strictness: Strictness,
    columns: CatalogColumns,
) -> String {
    let reading = digest_of_reading(lidar, session, strictness);
    if columns == CatalogColumns::Description {
        return reading;
    }
    with_columns(reading, columns)
}

/// Returns a digest of options and columns. The columns of a description are not part of it, so
/// that builds with and without the columns of analyses compute the same digest.
fn with_columns(options: String, columns: CatalogColumns) -> String {
    match columns {
        CatalogColumns::Description => digest(&options),
        #[cfg(feature = "flight")]
        CatalogColumns::Analysis => digest(&format!("{options} {columns:?}")),
    }
}

/// Returns a digest of all options that change how logs are read, and whether damage is a
/// failure.
fn digest_of_reading(
    lidar: &LidarOptions,
    session: &Session,
    strictness: Strictness,
) -> String {
    // Not the key itself, because the digest is written to the dataset.
    let key = session.key.map(|key| blake3::hash(key.as_bytes()));
    let Session { options, input_format, time_column, utc_start, .. } = session;
    // Without a choice, the digest is the one of datasets that were made before there was one.
    let time_column = time_column.as_ref().map(|choice| format!(" {choice:?}"));
    let time_column = time_column.unwrap_or_default();
    digest(&format!(
        "{lidar:?} {options:?} {input_format:?} {utc_start:?} {strictness:?} {key:?}{time_column}"
    ))
}

fn digest(options: &str) -> String {
    let digest = blake3::hash(options.as_bytes()).to_hex();
    digest.chars().take(16).collect()
}
