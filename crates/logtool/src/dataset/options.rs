//! Digests of the options that change the outputs: logs are converted or indexed again when
//! the digest changes.

use logtool_velodyne::lidar::LidarOptions;

use crate::{convert::ConvertRequest, losses::Strictness, session::Session};

/// Returns a digest of all options that change the result of a conversion.
pub(super) fn conversion(
    request: &ConvertRequest,
    session: &Session,
    strictness: Strictness,
) -> String {
    let reading = digest_of_reading(&request.lidar, session, strictness);
    digest(&format!("{request:?} {reading}"))
}

/// Returns a digest of all options that change how logs are read, and whether damage is a
/// failure.
pub(super) fn digest_of_reading(
    lidar: &LidarOptions,
    session: &Session,
    strictness: Strictness,
) -> String {
    // Not the key itself, because the digest is written to the dataset.
    let key = session.key.map(|key| blake3::hash(key.as_bytes()));
    let Session { options, input_format, utc_start, .. } = session;
    digest(&format!(
        "{lidar:?} {options:?} {input_format:?} {utc_start:?} {strictness:?} {key:?}"
    ))
}

fn digest(options: &str) -> String {
    let digest = blake3::hash(options.as_bytes()).to_hex();
    digest.chars().take(16).collect()
}
