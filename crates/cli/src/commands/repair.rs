//! `logtool repair`: writes the readable records of a damaged log to a sound log.

mod report;

use std::{io::Write as _, time::Instant};

use logtool::{Result, repair::Repair};

use crate::{
    args::{GlobalArgs, RepairArgs},
    exit_status::Outcome,
    output_summary, terminal,
};

pub(super) fn run(args: &RepairArgs, global: &GlobalArgs) -> Result<Outcome> {
    let start = Instant::now();
    let output = args.writing.output(&args.out)?;
    let mut request =
        Repair::new(&args.file, output).with_strictness(global.strictness());
    if args.drop_doubtful {
        request = request.without_doubtful_records();
    }
    let mut report = request.run(&global.session)?;
    output_summary::print(&report.name, &report.output, start, global);
    if args.json {
        let mut out = terminal::stdout();
        serde_json::to_writer_pretty(&mut out, &report::json(&mut report))?;
        writeln!(out)?;
        out.flush()?;
    } else if !global.quiet {
        report::print_losses(&mut report);
        report::print_remaining(&report)?;
    }
    Ok(if report.has_damage() { Outcome::DataLost } else { Outcome::Done })
}
