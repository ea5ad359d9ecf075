//! `logtool merge`: one log of several.

mod inputs;

use std::time::Instant;

use logtool::{Result, merge::Merge, units::count_of};

use crate::{
    args::{GlobalArgs, MergeArgs, TimeChoice},
    exit_status::Outcome,
    lidar_options, notices, output_summary,
};

pub(super) fn run(args: &MergeArgs, global: &GlobalArgs) -> Result<Outcome> {
    let start = Instant::now();
    let inputs = inputs::inputs(args)?;
    let mut request = Merge::new(inputs, args.writing.output(&args.out)?)
        .with_strictness(global.strictness())
        .with_lidar_options(lidar_options::options(&args.lidar, TimeChoice::Utc)?);
    if let Some(start) = args.time.start {
        request = request.with_start(start);
    }
    if let Some(end) = args.time.end {
        request = request.with_end(end);
    }
    if args.same_clock {
        request = request.with_same_clock();
    }
    if args.foxglove {
        request = request.with_foxglove_messages();
    }
    let report = request.run(&global.session)?;
    let name = count_of(report.logs.len() as u64, "log");
    output_summary::print(&name, &report.output, start, global);
    let mut worst = Outcome::Done;
    for log in report.logs {
        worst = worst.max(notices::losses(log.losses, global.quiet));
    }
    Ok(worst)
}
