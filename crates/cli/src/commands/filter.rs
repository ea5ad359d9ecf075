//! `logtool filter`: a part of a log.

use std::time::Instant;

use logtool::{Result, filter::Filter};

use crate::{
    args::{FilterArgs, GlobalArgs},
    exit_status::Outcome,
    notices, output_summary,
};

pub(super) fn run(args: &FilterArgs, global: &GlobalArgs) -> Result<Outcome> {
    let start = Instant::now();
    let mut request = Filter::new(&args.file, args.writing.output(&args.out)?)
        .with_strictness(global.strictness())
        .with_topics(&args.records.topics)
        .with_excluded_topics(&args.exclude);
    if let Some(start) = args.records.time.start {
        request = request.with_start(start);
    }
    if let Some(end) = args.records.time.end {
        request = request.with_end(end);
    }
    if args.latch {
        request = request.with_latched_records();
    }
    for rename in &args.rename {
        request = request.with_renamed_topic(&rename.old, &rename.new);
    }
    if let Some(field) = &args.restamp {
        request = request.with_times_of_field(field);
    }
    let report = request.run(&global.session)?;
    output_summary::print(&report.name, &report.output, start, global);
    Ok(notices::losses(report.losses, global.quiet))
}
