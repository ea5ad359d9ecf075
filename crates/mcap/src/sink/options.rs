//! Validates the options of a new file.

use logtool_core::{
    Error, ErrorKind, LogSlice, Manifest, Result, TopicOrigin, WriteOptions,
};

use crate::{chunk::Compression, format_state::FormatState, messages::ros2};

/// Returns true if chunks may be copied unchanged: there is a single input, and names,
/// times and encodings do not change.
pub(super) fn may_copy_chunks(slices: &[LogSlice<'_>], options: &WriteOptions) -> bool {
    slices.len() == 1
        && options.rename.is_empty()
        && options.payload_encoding.is_none()
        && !options.changes_times
}

/// Returns the profile of a file that contains `slices`, if all of them have the same
/// profile; otherwise an empty string. `format_states` are the states of MCAP files.
pub(super) fn profile(
    slices: &[LogSlice<'_>],
    format_states: &[Option<FormatState>],
    options: &WriteOptions,
) -> String {
    let input_profiles = slices.iter().zip(format_states).map(
        |(slice, format_state)| match format_state {
            Some(format_state) => format_state.profile.as_str(),
            None if has_ros1_connections(slice.manifest) => "ros1",
            None => "",
        },
    );
    let output_profiles = input_profiles.map(|profile| match profile {
        "ros1" if options.payload_encoding.is_some() => ros2::PROFILE,
        profile => profile,
    });
    let mut profiles = output_profiles.collect::<Vec<_>>();
    profiles.dedup();
    match profiles[..] {
        [only_profile] => only_profile.to_owned(),
        _ => String::new(),
    }
}

/// Returns true if all messages of the log are from connections of ROS 1, which have ids.
/// Such connections have the metadata that the profile requires.
fn has_ros1_connections(manifest: &Manifest) -> bool {
    let mut topics = manifest.topics.iter();
    let mut streams = manifest.streams.iter();
    let is_ros1 = topics
        .all(|topic| topic.origin != TopicOrigin::Logged || topic.encoding == "ros1");
    is_ros1
        && !manifest.streams.is_empty()
        && streams.all(|stream| stream.metadata.contains_key("id"))
}

/// Checks that every topic to be renamed exists.
pub(super) fn check_renamed_topics(
    slices: &[LogSlice<'_>],
    options: &WriteOptions,
) -> Result<()> {
    for (label, name) in &options.rename {
        let has_topic = |slice: &LogSlice<'_>| slice.manifest.topic_id(label).is_ok();
        if !slices.iter().any(has_topic) {
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
            "the compression {name:?} is unknown; MCAP supports \"none\", \"lz4\" and \"zstd\""
        );
        Error::new(ErrorKind::Unsupported, message)
    })
}
