//! `logtool info`: what logs hold.

mod report;
mod text;

use std::{io::Write as _, path::Path};

use anyhow::{Result, anyhow};

use crate::{
    args::{GlobalArgs, InfoArgs},
    commands::info::report::Report,
    complaint,
    findings::Findings,
    lidars, opened,
    outcome::Outcome,
    paint, terminal,
};

pub(super) fn run(args: &InfoArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut worst = Outcome::Done;
    for (index, file) in args.files.iter().enumerate() {
        worst = worst.max(match one(file, index == 0, args, global) {
            Err(err) if args.files.len() > 1 && !complaint::is_broken_pipe(&err) => {
                complaint::print(&err);
                Outcome::Failed
            }
            done => done?,
        });
    }
    Ok(worst)
}

fn one(
    file: &Path,
    is_first: bool,
    args: &InfoArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let opened = opened::open_with(file, global, &lidars::options(&args.lidar)?)?;
    let mut findings = Findings::of(&opened.input, opened.log.manifest());
    findings.check(global.strict)?;
    let mut out = terminal::stdout();
    if args.json {
        let report = Report::new(&opened, &mut findings);
        match terminal::stdout_is_seen() {
            true => serde_json::to_writer_pretty(&mut out, &report),
            false => serde_json::to_writer(&mut out, &report),
        }
        .map_err(|err| match err.io_error_kind() {
            Some(kind) => std::io::Error::from(kind).into(),
            None => anyhow!(err),
        })?;
        writeln!(out)?;
    } else {
        if !is_first {
            writeln!(out)?;
        }
        text::write(&mut out, &opened, &mut findings, paint::for_stdout())?;
    }
    out.flush()?;
    Ok(findings.outcome())
}
