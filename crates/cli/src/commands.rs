//! The commands, one module each.

mod align;
mod batch;
mod calibration;
mod cat;
mod check;
mod completions;
mod convert;
mod filter;
mod flight;
mod formats;
mod geotag;
mod gps_dump;
mod help;
mod index;
mod info;
mod man;
mod merge;
mod messages;
mod params;
mod plan;
mod plot;
mod read;
mod record;
mod repair;
mod replay_log;
mod report;
mod schema;

use std::{path::PathBuf, sync::Arc, time::Duration};

use logtool::{
    Error, Result, Session, dataset,
    input::{events, expand, url},
};

use crate::{
    args::{Args, Command, GlobalArgs},
    exit_status::Outcome,
    key,
    process::{files::MapFiles, interrupt},
    progress::TerminalProgress,
    terminal::{self, pager},
};

/// Runs the command of `args`.
pub(crate) fn run(args: &mut Args) -> Result<Outcome> {
    let global = &mut args.global;
    global.session = session(global)?;
    let global = &args.global;
    interrupt::guard(&global.session);
    if prints_text(&args.command) && !global.no_pager && terminal::stdout_is_seen() {
        pager::enable(global.pager.as_deref());
    }
    match &mut args.command {
        Command::Check(args) => expand::expand(&mut args.files, &global.session)?,
        Command::Convert(args) => expand::expand(&mut args.inputs, &global.session)?,
        Command::Info(args) => expand::expand(&mut args.files, &global.session)?,
        Command::Merge(args) => expand::expand(&mut args.files, &global.session)?,
        _ => {}
    }
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = global.threads {
        pool = pool.num_threads(threads.into());
    }
    if !matches!(args.command, Command::Batch(_) | Command::Index(_) | Command::Plan(_))
    {
        // This thread works too, because an additional one would compete with the others.
        // (Commands for many logs have a thread for each log, and only wait here.)
        pool = pool.use_current_thread();
    }
    pool.build_global()
        .map_err(|err| Error::other(format!("the threads cannot be started: {err}")))?;
    match &mut args.command {
        Command::Check(args) => look_into_folders(&mut args.files, &global.session)?,
        Command::Convert(args) => look_into_folders(&mut args.inputs, &global.session)?,
        Command::Info(args) => look_into_folders(&mut args.files, &global.session)?,
        _ => {}
    }
    match &args.command {
        Command::Align(args) => align::run(args, global),
        Command::Info(args) => info::run(args, global),
        Command::Cat(args) => cat::run(args, global),
        Command::Convert(args) => convert::run(args, global),
        Command::Batch(args) => batch::run(args, global),
        Command::Index(args) => index::run(args, global),
        Command::Plan(args) => plan::run(args, global),
        Command::Read(args) => read::run(args, global),
        Command::Record(args) => record::run(args, global),
        Command::Filter(args) => filter::run(args, global),
        Command::Plot(args) => plot::run(args, global),
        Command::Report(args) => report::run(args, global),
        Command::Flight(args) => flight::run(args, global),
        Command::ReplayLog(args) => replay_log::run(args, global),
        Command::GpsDump(args) => gps_dump::run(args, global),
        Command::Geotag(args) => geotag::run(args, global),
        Command::Merge(args) => merge::run(args, global),
        Command::Repair(args) => repair::run(args, global),
        Command::Check(args) => check::run(args, global),
        Command::Calibration(args) => calibration::run(args, global),
        Command::Messages(args) => messages::run(args, global),
        Command::Schema(args) => schema::run(args, global),
        Command::Formats(args) => formats::run(args, global),
        Command::Params(args) => params::run(args, global),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args, global),
        Command::Help(args) => help::run(args),
    }
}

/// Returns whether the result of `command` is text on standard output.
fn prints_text(command: &Command) -> bool {
    matches!(
        command,
        Command::Cat(_)
            | Command::Check(_)
            | Command::Flight(_)
            | Command::Formats(_)
            | Command::Help(_)
            | Command::Info(_)
            | Command::Messages(_)
            | Command::Params(_)
            | Command::Plan(_)
            | Command::Schema(_)
    )
}

/// Returns the session that the options state.
fn session(global: &GlobalArgs) -> Result<Session> {
    let progress = Arc::new(TerminalProgress::new(global.quiet));
    let mut session = Session::new()
        .with_progress(progress)
        .with_command(global.command_line.clone());
    if !global.no_mmap {
        session = session.with_files(Arc::new(MapFiles));
    }
    if global.read_anyway {
        session = session.with_incompatible_logs();
    }
    if global.strict {
        session = session.with_strict_index();
    }
    if let Some(megabytes) = global.record_limit {
        session = session.with_max_record_bytes(u32::from(megabytes) << 20);
    }
    session = key::add(session, global.key_file.as_deref())?;
    if let Some(path) = &global.events {
        session = session.with_events(events::read(path)?);
    }
    if let Some(nanos) = global.utc_start {
        session = session.with_utc_start(nanos);
    }
    if let Some(format) = global.input_format {
        session = session.with_input_format(format);
    }
    if let Some(choice) = &global.time_column {
        session = session.with_time_column(choice.clone());
    }
    if let Some(seconds) = global.remote_timeout {
        session = session.with_remote_timeout(Duration::from_secs(seconds.into()));
    }
    if let Some(bytes) = global.remote_min_rate {
        session = session.with_remote_min_rate(bytes);
    }
    Ok(session)
}

/// Puts the logs in each folder in its place.
fn look_into_folders(inputs: &mut Vec<PathBuf>, session: &Session) -> Result<()> {
    let mut logs = Vec::new();
    for input in inputs.drain(..) {
        if url::from_path(&input).is_none() && input.is_dir() {
            logs.extend(dataset::logs_in_folder(&input, session)?);
        } else {
            logs.push(input);
        }
    }
    *inputs = logs;
    Ok(())
}
