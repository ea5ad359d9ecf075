//! `logtool gps-dump`: the raw bytes to and from GNSS receivers.

use logtool::{
    Result,
    gps_dump::GpsDump,
    units::{Bytes, count_of},
};

use crate::{
    args::{GlobalArgs, GpsDumpArgs},
    exit_status::Outcome,
    notices,
    terminal::say,
};

pub(super) fn run(args: &GpsDumpArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut request =
        GpsDump::new(&args.file, &args.out).with_strictness(global.strictness());
    if let Some(instance) = args.instance {
        request = request.with_instance(instance);
    }
    if args.force {
        request = request.with_replacement();
    }
    let report = request.run(&global.session)?;
    if !global.quiet {
        let receivers = count_of(report.receivers.len() as u64, "receiver");
        say!("{} → {}: {receivers}", report.name, report.output.display());
        for receiver in &report.receivers {
            say!(
                "  receiver {}: {} from it, {} to it",
                receiver.instance,
                Bytes(receiver.from_device_bytes),
                Bytes(receiver.to_device_bytes),
            );
        }
        notices::warnings(&report.name, &report.remarks);
        if report.overlong_records > 0 {
            let records = count_of(report.overlong_records, "record");
            let text = format!("{records} with a longer `len` than `data`");
            notices::warnings(&report.name, &[text]);
        }
    }
    let outcome = notices::losses(report.losses, global.quiet);
    let is_whole = report.overlong_records == 0;
    Ok(if is_whole { outcome } else { outcome.max(Outcome::DataLost) })
}
