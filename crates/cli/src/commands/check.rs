//! `logtool check`: reports errors and anomalies in logs.

mod codes;
pub(super) mod report;

use std::{io::Write as _, path::Path};

use logtool::{Result, check};
use logtool_core::Severity;

use crate::{
    args::{CheckArgs, FindingLevel, GlobalArgs},
    error,
    exit_status::Outcome,
    terminal::{self, color, wrap},
};

pub(super) fn run(args: &CheckArgs, global: &GlobalArgs) -> Result<Outcome> {
    if args.codes {
        return codes::print(args.json);
    }
    let mut worst = Outcome::Done;
    for file in &args.files {
        let done = check_log(file, args, global);
        if let (true, Err(err)) = (args.json, &done) {
            error::print_json(file, err)?;
        }
        worst = worst.max(match done {
            Err(err) if args.files.len() > 1 && !error::is_broken_pipe(&err) => {
                error::print_one_of_several(&err)
            }
            done => done?,
        });
    }
    Ok(worst)
}

fn check_log(file: &Path, args: &CheckArgs, global: &GlobalArgs) -> Result<Outcome> {
    let report = check::check_on_clock(file, args.clock.choice(), &global.session)?;
    let minimum = match args.level {
        FindingLevel::Note => Severity::Note,
        FindingLevel::Warning => Severity::Warning,
        FindingLevel::Error => Severity::Error,
    };
    let mut out = terminal::stdout();
    if args.json {
        report::json(&report, &mut out, minimum)?;
    } else {
        let mut text = Vec::new();
        report::text(&report, &mut text, minimum, color::for_stdout())?;
        let text = String::from_utf8_lossy(&text);
        out.write_all(wrap::for_stdout(&text).as_bytes())?;
    }
    out.flush()?;
    let is_bad = match report.max_severity() {
        Some(Severity::Error) => true,
        Some(Severity::Warning) => global.strict,
        _ => false,
    };
    Ok(if is_bad { Outcome::DataLost } else { Outcome::Done })
}
