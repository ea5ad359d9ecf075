//! `logtool check`: what is wrong with logs, or odd.

mod codes;
pub(super) mod report;

use std::{io::Write as _, path::Path};

use logtool::{
    Result,
    error::Context as _,
    input::open::{self, Opened},
};
use logtool_core::{Findings, Severity, check};
use logtool_velodyne::lidar::LidarOptions;

use crate::{
    args::{CheckArgs, FindingLevel, GlobalArgs},
    commands::check::report::Report,
    error,
    outcome::Outcome,
    paint, progress, terminal,
};

pub(super) fn run(args: &CheckArgs, global: &GlobalArgs) -> Result<Outcome> {
    if args.codes {
        return codes::print(args.json);
    }
    let mut worst = Outcome::Done;
    for file in &args.files {
        let done = one(file, args, global);
        if let (true, Err(err)) = (args.json, &done) {
            error::print_json(file, err)?;
        }
        worst = worst.max(match done {
            Err(err) if args.files.len() > 1 && !error::is_broken_pipe(&err) => {
                error::print(&err);
                Outcome::Failed
            }
            done => done?,
        });
    }
    Ok(worst)
}

/// Opens the log at `file`, and looks for everything that is wrong with it.
pub(super) fn examine(file: &Path, global: &GlobalArgs) -> Result<(Opened, Findings)> {
    let opened =
        open::look_with(file, &global.session, Some(&LidarOptions::default()))?;
    let log = &*opened.log;
    let bar = progress::bar(&opened.input.name, log.manifest().bytes, global);
    let findings = check(log, &|bytes| bar.inc(bytes));
    bar.finish_and_clear();
    let findings = findings.with_context(|| opened.input.name.clone())?;
    Ok((opened, findings))
}

fn one(file: &Path, args: &CheckArgs, global: &GlobalArgs) -> Result<Outcome> {
    let (opened, findings) = examine(file, global)?;
    let report = Report::new(&opened, &findings);
    let least = match args.level {
        FindingLevel::Note => Severity::Note,
        FindingLevel::Warning => Severity::Warning,
        FindingLevel::Error => Severity::Error,
    };
    let mut out = terminal::stdout();
    match args.json {
        true => report.json(&mut out, least)?,
        false => report.text(&mut out, least, paint::for_stdout())?,
    }
    out.flush()?;
    let is_bad = match report.worst() {
        Some(Severity::Error) => true,
        Some(Severity::Warning) => global.strict,
        _ => false,
    };
    Ok(if is_bad { Outcome::DataLost } else { Outcome::Done })
}
