//! What was asked for of a new file, and whether that can be.

use logtool_core::{
    Error, ErrorKind, LogSlice, Manifest, Result, TopicOrigin, WriteOptions,
};

use crate::{chunk::Compression, notes::Notes, ros2};

/// Whether chunks may be copied at all: each message with its own name, time and encoding.
pub(super) fn may_copy(extracts: &[LogSlice<'_>], options: &WriteOptions) -> bool {
    let is_as_is = options.rename.is_empty() && options.transcode.is_none();
    extracts.len() == 1 && is_as_is && !options.retimed
}

/// What a file that holds `extracts` says that it is.
pub(super) fn profile(
    extracts: &[LogSlice<'_>],
    noted: &[Option<Notes>],
    options: &WriteOptions,
) -> String {
    let own = extracts.iter().zip(noted).map(|(extract, notes)| match notes {
        Some(notes) => notes.profile.as_str(),
        None if has_ros1_connections(extract.manifest) => "ros1",
        None => "",
    });
    let own = own.map(|own| match own {
        "ros1" if options.transcode.is_some() => ros2::PROFILE,
        own => own,
    });
    let mut own = own.collect::<Vec<_>>();
    own.dedup();
    match own[..] {
        [one] => one.to_owned(),
        _ => String::new(),
    }
}

/// Returns whether the messages of the log came through connections of ROS 1, which have ids:
/// they then have the metadata that the profile promises.
fn has_ros1_connections(manifest: &Manifest) -> bool {
    let mut topics = manifest.topics.iter();
    let mut streams = manifest.streams.iter();
    let is_ros1 = topics
        .all(|topic| topic.origin != TopicOrigin::Logged || topic.encoding == "ros1");
    is_ros1
        && !manifest.streams.is_empty()
        && streams.all(|stream| stream.metadata.contains_key("id"))
}

/// Checks that there is a topic for every new name, and that it is a name.
pub(super) fn check_names(
    extracts: &[LogSlice<'_>],
    options: &WriteOptions,
) -> Result<()> {
    for (label, name) in &options.rename {
        let has = |extract: &LogSlice<'_>| extract.manifest.topic(label).is_ok();
        if !extracts.iter().any(has) {
            let what = format!("no topic {label:?}, which is to be called {name:?}");
            return Err(Error::new(ErrorKind::NoSuch, what));
        }
    }
    Ok(())
}

/// The compression that is called `name`.
pub(super) fn named(name: &str) -> Result<Compression> {
    Compression::of(name.as_bytes()).ok_or_else(|| {
        let what = format!(
            "an MCAP file that is packed with {name:?}: \"none\", \"lz4\" or \"zstd\""
        );
        Error::new(ErrorKind::Unsupported, what)
    })
}
