//! Validates the options of a new file.

use logtool_core::{
    Error, ErrorKind, LogSlice, Manifest, Result, TopicOrigin, WriteOptions,
};

use crate::{chunk::Compression, format_state::FormatState, messages::ros2};

/// Returns true if chunks may be copied, because names, times and encodings do not
/// change.
pub(super) fn may_copy(extracts: &[LogSlice<'_>], options: &WriteOptions) -> bool {
    let is_as_is = options.rename.is_empty() && options.payload_encoding.is_none();
    extracts.len() == 1 && is_as_is && !options.changes_times
}

/// Returns the profile of a file that contains `extracts`.
pub(super) fn profile(
    extracts: &[LogSlice<'_>],
    states: &[Option<FormatState>],
    options: &WriteOptions,
) -> String {
    let profiles =
        extracts.iter().zip(states).map(|(extract, format_state)| match format_state {
            Some(format_state) => format_state.profile.as_str(),
            None if has_ros1_connections(extract.manifest) => "ros1",
            None => "",
        });
    let profiles = profiles.map(|profiles| match profiles {
        "ros1" if options.payload_encoding.is_some() => ros2::PROFILE,
        profiles => profiles,
    });
    let mut profiles = profiles.collect::<Vec<_>>();
    profiles.dedup();
    match profiles[..] {
        [one] => one.to_owned(),
        _ => String::new(),
    }
}

/// Returns true if the messages of the log came through connections of ROS 1, which
/// have ids. They then have the metadata that the profile requires.
fn has_ros1_connections(manifest: &Manifest) -> bool {
    let mut topics = manifest.topics.iter();
    let mut streams = manifest.streams.iter();
    let is_ros1 = topics
        .all(|topic| topic.origin != TopicOrigin::Logged || topic.encoding == "ros1");
    is_ros1
        && !manifest.streams.is_empty()
        && streams.all(|stream| stream.metadata.contains_key("id"))
}

/// Checks that there is a topic for every new name.
pub(super) fn check_names(
    extracts: &[LogSlice<'_>],
    options: &WriteOptions,
) -> Result<()> {
    for (label, name) in &options.rename {
        let has_topic =
            |extract: &LogSlice<'_>| extract.manifest.topic_id(label).is_ok();
        if !extracts.iter().any(has_topic) {
            let message =
                format!("there is no topic {label:?} to be renamed to {name:?}");
            return Err(Error::new(ErrorKind::NoSuch, message));
        }
    }
    Ok(())
}

/// Returns the compression with this name.
pub(super) fn compression(name: &str) -> Result<Compression> {
    Compression::from_name(name.as_bytes()).ok_or_else(|| {
        let message = format!(
            "unknown compression {name:?}; MCAP supports \"none\", \"lz4\" and \"zstd\""
        );
        Error::new(ErrorKind::Unsupported, message)
    })
}
