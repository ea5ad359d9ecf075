//! `logtool convert`: tables, one for each topic; or images, files of points, tracks, or a
//! log of another format.

mod output_paths;
pub(super) mod request;
mod summary;

use std::{path::Path, time::Instant};

use logtool::{
    Error, Remedy, Result, Strictness,
    convert::{Convert, ConvertRequest, Destination, RequestConflict},
};

use crate::{
    args::{ConvertArgs, GlobalArgs},
    error,
    exit_status::Outcome,
    notices,
};

pub(super) fn run(args: &ConvertArgs, global: &GlobalArgs) -> Result<Outcome> {
    let request = request::request(args)?;
    check(args, &request)?;
    let places = output_paths::places(args)?;
    let mut worst = Outcome::Done;
    let mut hints = Hints { is_shown: !global.quiet };
    for (input, destination) in &places {
        let done =
            run_one(input, destination, &request, args.force, &mut hints, global);
        worst = worst.max(match done {
            Err(err) if places.len() > 1 => error::print_one_of_several(&err),
            done => done?,
        });
    }
    Ok(worst)
}

/// The hints that are shown once, however many logs are converted.
struct Hints {
    /// Whether the hint about messages of ROS 1 is still to be shown.
    is_shown: bool,
}

impl Hints {
    /// Shows what helps if programs cannot read the messages of ROS 1 in a new log.
    fn of_ros1_messages(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            notices::remedy(&Remedy::WriteRos2Messages);
        }
    }
}

/// Refuses options that contradict each other.
///
/// # Errors
/// With the names of the options.
pub(super) fn check(args: &ConvertArgs, request: &ConvertRequest) -> Result<()> {
    let destination = match args.one_file() {
        _ if args.is_stdout() => Destination::Stdout,
        Some(file) => Destination::File(file.to_owned()),
        None => Destination::Folder(args.out.clone().unwrap_or_default()),
    };
    if let Some(conflict) = RequestConflict::find(request, &destination) {
        return Err(request::explain(conflict));
    }
    if args.is_stdout() && args.inputs.len() > 1 {
        let what = "several logs, and one standard output";
        return Err(Error::invalid_request(what).with_hint("convert them one by one"));
    }
    Ok(())
}

/// Converts `input`, and prints a summary.
fn run_one(
    input: &Path,
    destination: &Destination,
    request: &ConvertRequest,
    is_forced: bool,
    hints: &mut Hints,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let start = Instant::now();
    let mut convert = Convert::new(input, destination.clone(), request.clone());
    if is_forced {
        convert = convert.with_replacement();
    }
    if global.strict {
        convert = convert.with_strictness(Strictness::Strict);
    }
    let report = convert.run(&global.session)?;
    if !global.quiet {
        summary::print(&report, destination, request.format, start, global);
    }
    if report.has_ros1_messages {
        hints.of_ros1_messages();
    }
    let outcome = notices::losses(report.losses, global.quiet);
    Ok(if report.is_cut { outcome.max(Outcome::DataLost) } else { outcome })
}
