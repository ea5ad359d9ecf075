//! A log that is being written: beside its place until it is whole.

use std::path::Path;

use logtool_core::{
    Extract, Format, Manifest, RecordSink, TopicId, TopicSet, WriteOptions,
};
use logtool_sinks::{Behind, Existing, Staged};

use crate::{
    error::{Error, Result},
    formats::FORMATS,
    input::{Packing, STDIN},
    output::guarded::{self, Guarded},
    session::Session,
};

/// A log that is being written.
pub struct NewLog {
    // Goes before the outputs, which are guarded to the end.
    file: LogFile,
    outputs: Guarded,
}

/// A log that is being written as one of several outputs.
pub struct LogFile {
    staged: Staged,
    format: &'static dyn Format,
}

/// What a new log became.
pub struct Written {
    /// How many bytes it is.
    pub bytes: u64,
    /// What people should know: a sentence each.
    pub remarks: Vec<String>,
}

impl NewLog {
    /// Begins the log of `format` that will be at `path`, replacing what is there if
    /// `force`.
    pub fn begin(
        path: &Path,
        format: &'static dyn Format,
        existing: Existing,
        session: &Session,
    ) -> Result<Self> {
        if path.as_os_str() == STDIN {
            let what =
                "a new log cannot go to standard output: its start is written last";
            return Err(Error::invalid(what).with_hint("name a file with -o"));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some((packing, stem)) = Packing::of_name(&name) {
            let (shown, how) = (path.display(), packing.name());
            let what = format!("{shown} looks packed, and new logs are not");
            let hint = format!("name it {stem}, and pack it with {how} then");
            return Err(Error::invalid(what).with_hint(hint));
        }
        let outputs = guarded::one_log(path, existing, session)?;
        let file = LogFile::begin(&outputs, &name, format)?;
        Ok(Self { file, outputs })
    }

    /// Lets `fill` write `extracts` into it, and gives it its name.
    pub fn write<T>(
        self,
        extracts: &[Extract<'_>],
        options: &WriteOptions,
        fill: impl FnOnce(&mut dyn RecordSink) -> Result<T>,
    ) -> Result<(T, Written)> {
        let (done, remarks) = self.file.write(extracts, options, fill)?;
        let files = self.outputs.commit()?;
        let bytes = files.iter().map(|(_, len)| len).sum();
        Ok((done, Written { bytes, remarks }))
    }
}

impl LogFile {
    /// Begins the log of `format` that will be called `name` among `outputs`.
    pub fn begin(
        outputs: &Guarded,
        name: &str,
        format: &'static dyn Format,
    ) -> Result<Self> {
        let staged = outputs.create(name)?;
        Ok(Self { staged, format })
    }

    /// Lets `fill` write `extracts` into it, and tells what people should know.
    pub fn write<T>(
        self,
        extracts: &[Extract<'_>],
        options: &WriteOptions,
        fill: impl FnOnce(&mut dyn RecordSink) -> Result<T>,
    ) -> Result<(T, Vec<String>)> {
        let mut out = Behind::new(self.staged);
        let mut sink = self.format.writer(Box::new(&mut out), extracts, options)?;
        let done = fill(&mut *sink)?;
        let mut remarks = sink.remarks();
        remarks.extend(not_encrypted(self.format, extracts));
        sink.finish()?;
        out.finish()?.finish()?;
        Ok((done, remarks))
    }
}

/// Takes out of `extract` what a log of `format` has no place for, and says what that is.
pub fn take_out(format: &dyn Format, extract: &mut Extract<'_>) -> Vec<String> {
    let left_out = format.leaves_out(extract);
    if left_out.iter().any(|left| left.topic.is_some()) {
        let unheld: TopicSet = left_out.iter().filter_map(|left| left.topic).collect();
        let is_held = |id: TopicId| !unheld.contains(id);
        let wanted = &extract.selection.topics;
        let ids = extract.manifest.topics().map(|(id, _)| id);
        let kept = ids.filter(|id| wanted.contains(*id) && is_held(*id));
        extract.selection.topics = kept.collect();
    }
    left_out.iter().map(|left| format!("left out: {}", left.what)).collect()
}

/// How the chunks of a bag or an MCAP file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[non_exhaustive]
pub enum Compression {
    /// Not at all
    None,
    /// As small as possible, slowly
    Bz2,
    /// Smaller, and fast
    Lz4,
    /// Small, and fast (MCAP)
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

/// How a log of `format` is to be packed, as it was typed.
///
/// # Errors
/// If none of that format is packed like that.
pub fn compression(
    how: Option<Compression>,
    format: &dyn Format,
) -> Result<Option<String>> {
    if let Some(how) = how
        && let Some((_, known)) = PACKS.iter().find(|(own, _)| *own == format.name())
        && !known.contains(&how.name())
    {
        let what = format!("no {} file is packed with {}", format.name(), how.name());
        let hint = format!("--compression takes {} there", known.join(", "));
        return Err(Error::invalid(what).with_hint(hint));
    }
    Ok(how.map(|how| how.name().to_owned()))
}

/// How formats are packed that are.
const PACKS: [(&str, [&str; 3]); 2] =
    [("rosbag", ["none", "lz4", "bz2"]), ("mcap", ["none", "lz4", "zstd"])];

/// The format of a new log at `path` that is to hold what `manifest` tells of: that which
/// the name promises, or else its own.
pub fn format(path: &Path, manifest: &Manifest) -> Result<&'static dyn Format> {
    const ENDS: [(&str, &str); 10] = [
        ("ulg", "ulog"),
        ("bag", "rosbag"),
        ("vel", "vel"),
        ("pcap", "pcap"),
        ("csv", "CSV"),
        ("json", "JSON"),
        ("jsonl", "JSON Lines"),
        ("parquet", "Parquet"),
        ("arrow", "Arrow"),
        ("mcap", "mcap"),
    ];
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    if end.eq_ignore_ascii_case("pcapng") {
        let what = format!("{}: captures are written as pcap", path.display());
        return Err(Error::invalid(what).with_hint("let the name end in .pcap"));
    }
    let promised = ENDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(end));
    let (own, promised) =
        (manifest.format.as_str(), promised.map(|(_, format)| *format));
    let format = match promised {
        Some(promised) if TAKES.contains(&(promised, own)) => promised,
        Some(promised) if promised != own => {
            let format = promised;
            let out = path.display();
            let what = format!("{out} looks like {format}, and the log is {own}");
            let hint =
                "the new log is of the same format; `logtool convert` makes others";
            return Err(Error::invalid(what).with_hint(hint));
        }
        _ => own,
    };
    called(format)
}

/// The format of this name.
pub fn called(name: &str) -> Result<&'static dyn Format> {
    let format = FORMATS.iter().find(|known| known.name() == name);
    format
        .copied()
        .ok_or_else(|| Error::failed(format!("{name} logs cannot be written")))
}

/// Which formats can hold the records of which others.
const TAKES: [(&str, &str); 2] = [("mcap", "rosbag"), ("rosbag", "mcap")];

/// That what one of `extracts` has encrypted is not so in a log of another `format`; a
/// format says that itself of its own logs.
fn not_encrypted(format: &dyn Format, extracts: &[Extract<'_>]) -> Option<String> {
    let is_encrypted = |extract: &Extract<'_>| {
        let Manifest { format: own, metadata, .. } = extract.manifest;
        own != format.name() && metadata.contains_key("encryption")
    };
    let told = "what was encrypted is not encrypted in the new log";
    extracts.iter().any(is_encrypted).then(|| told.to_owned())
}
