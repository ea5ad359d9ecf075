//! `logtool calibration`: how a lidar is calibrated, as a file.

use logtool::{Result, calibration::ExtractCalibration, units::count_of};

use crate::{
    args::{CalibrationArgs, GlobalArgs},
    exit_status::Outcome,
    requested_format,
    terminal::say,
};

pub(super) fn run(args: &CalibrationArgs, global: &GlobalArgs) -> Result<Outcome> {
    let format = requested_format::choose(&args.out, args.file_format)?;
    let mut request = ExtractCalibration::new(&args.file).with_format(format);
    if let Some(topic) = &args.topic {
        request = request.with_topic(topic);
    }
    if let Some(model) = args.model {
        request = request.with_model(model);
    }
    if args.force {
        request = request.with_replacement();
    }
    let calibration = request.write(&args.out, &global.session)?;
    if !global.quiet {
        say!(
            "{} → {}: {}, from: {}",
            args.file.display(),
            args.out.display(),
            count_of(calibration.lasers.len() as u64, "laser"),
            calibration.origin
        );
        calibration.warnings.iter().for_each(|warning| say!("  {warning}"));
    }
    Ok(Outcome::Done)
}
