//! `logtool replay-log`: the part of a log that PX4 replays.

use std::time::Instant;

use logtool::{Result, output::LogOutput, replay_log::ReplayLog, units::count_of};

use crate::{
    args::{GlobalArgs, ReplayLogArgs},
    exit_status::Outcome,
    notices, output_summary,
    terminal::say,
};

pub(super) fn run(args: &ReplayLogArgs, global: &GlobalArgs) -> Result<Outcome> {
    let start = Instant::now();
    let mut output = LogOutput::new(&args.out);
    if args.force {
        output = output.with_replacement();
    }
    let request =
        ReplayLog::new(&args.file, output).with_strictness(global.strictness());
    let report = request.run(&global.session)?;
    output_summary::print(&report.name, &report.output, start, global);
    if !global.quiet {
        say!("  {}", count_of(report.topics.len() as u64, "topic"));
        notices::warnings(&report.name, &report.problems);
    }
    Ok(notices::losses(report.losses, global.quiet))
}
