//! What each log is to become, and what tells that from what else could be asked for.

use std::path::Path;

use logtool::{
    Error, Result,
    convert::{ConvertRequest, OutputFormat},
    error::Context as _,
};

use crate::{
    args::{BatchArgs, ConvertArgs, GlobalArgs, LidarArgs},
    commands::{
        batch::job,
        convert::{self, request},
    },
};

/// What each log is to become.
pub(super) fn of(args: &BatchArgs) -> Result<ConvertRequest> {
    let mut convert = ConvertArgs { out: None, ..args.convert.clone() };
    if convert.format.is_none() {
        convert.format = Some(OutputFormat::Parquet);
    }
    let refuse = |what: &str, hint: &str| {
        Err(Error::invalid(what.to_owned()).with_hint(hint.to_owned()))
    };
    if args.convert.is_stdout() {
        return refuse("a data set is a folder", "name it with -o");
    }
    if convert.merge.is_some() {
        let hint = "`logtool convert` does that, log for log";
        return refuse("--merge makes no data set", hint);
    }
    let request = request::request(&convert)?;
    convert::check(&convert, &request)?;
    Ok(request)
}

/// The same for each log: they are read, not mapped, so that one that gets shorter meanwhile
/// fails alone; and how much of one comes from afar is not told of each.
pub(super) fn of_each(global: &GlobalArgs) -> GlobalArgs {
    GlobalArgs { no_mmap: true, quiet: true, ..global.clone() }
}

/// Returns a digest of all options that change the outputs, and of the files that they name.
pub(super) fn options(
    request: &ConvertRequest,
    lidar: &LidarArgs,
    global: &GlobalArgs,
) -> Result<String> {
    let reading = reading(lidar, global)?;
    Ok(digest_of(&format!("{request:?} {reading}")))
}

/// What of what was typed changes how logs are read, or whether damage is a failure, as a
/// digest.
pub(super) fn reading(lidar: &LidarArgs, global: &GlobalArgs) -> Result<String> {
    let of_all = (
        (global.read_anyway, global.input_format),
        (global.record_limit, global.strict, global.utc_start),
    );
    let contents_of =
        |path: &Path| job::digest(path).with_context(|| path.display().to_string());
    let calibration = lidar.calibration.as_deref().map(contents_of).transpose()?;
    // A key that is not there is told by the logs that want it.
    let key = global.key_file.as_deref().and_then(|path| contents_of(path).ok());
    Ok(digest_of(&format!("{lidar:?} {of_all:?} {calibration:?} {key:?}")))
}

fn digest_of(text: &str) -> String {
    let digest = blake3::hash(text.as_bytes()).to_hex();
    digest.chars().take(16).collect()
}
