//! `logtool info`: what logs hold.

mod frequency;
mod health;
mod lidars;
mod packing;
mod rate;
mod report;
mod text;
mod topics;
mod types;

use std::{io::Write as _, path::Path};

use logtool::{Error, Result, error::Context as _, input::open, losses::Findings};

use self::{frequency::Frequency, health::Health, report::Report};
use crate::{
    args::{GlobalArgs, InfoArgs, TimeChoice},
    color, error,
    exit_status::Outcome,
    lidar_options, notices, terminal,
};

/// What takes more than opening the log.
struct More {
    frequencies: Option<Vec<Option<Frequency>>>,
    health: Option<Health>,
    digest: Option<String>,
}

pub(super) fn run(args: &InfoArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut worst = Outcome::Done;
    for (index, file) in args.files.iter().enumerate() {
        let done = one(file, index == 0, args, global);
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

fn one(
    file: &Path,
    is_first: bool,
    args: &InfoArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let lidar = lidar_options::options(&args.lidar, TimeChoice::Boot)?;
    let opened = open::look_with(file, &global.session, Some(&lidar))?;
    lidar_options::check_calibration(&args.lidar, opened.log.manifest())
        .with_context(|| opened.input.name.clone())?;
    let mut findings = Findings::of(&opened.input, opened.log.manifest());
    findings.check(global.strict)?;
    let log = &*opened.log;
    let measured = || {
        Ok::<_, Error>(More {
            frequencies: args.freq.then(|| frequency::measure(log)).transpose()?,
            health: args.health.then(|| Health::of(log)).transpose()?,
            digest: args.digest.then(|| opened.input.digest()).transpose()?,
        })
    };
    let more = measured().with_context(|| opened.input.name.clone())?;
    let mut out = terminal::stdout();
    if args.json {
        let report = Report::new(&opened, &mut findings, &more);
        match terminal::stdout_is_seen() {
            true => serde_json::to_writer_pretty(&mut out, &report),
            false => serde_json::to_writer(&mut out, &report),
        }
        .map_err(|err| match err.io_error_kind() {
            Some(kind) => std::io::Error::from(kind).into(),
            None => Error::from(err),
        })?;
        writeln!(out)?;
    } else {
        if !is_first {
            writeln!(out)?;
        }
        let name = &opened.input.name;
        text::write(
            &mut out,
            name,
            &opened,
            &mut findings,
            &more,
            color::for_stdout(),
        )?;
    }
    out.flush()?;
    Ok(notices::outcome(&findings))
}

/// What can be said of `opened` in a text, with rates and gaps.
pub(super) fn describe(
    opened: &open::Opened,
    findings: &mut Findings,
) -> Result<String> {
    let frequencies = Some(frequency::measure(&*opened.log)?);
    let more = More { frequencies, health: None, digest: None };
    let mut text = Vec::new();
    // Others are given the text: it does not name the folders of this machine.
    let name = opened.input.file_name();
    text::write(&mut text, name, opened, findings, &more, color::none())?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
