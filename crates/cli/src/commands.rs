//! The commands, a file each.

mod align;
mod batch;
mod calibration;
mod cat;
mod check;
mod completions;
mod convert;
mod filter;
mod formats;
mod info;
mod man;
mod merge;
mod messages;
mod params;
mod plot;
mod repair;
mod report;
mod schema;

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::{
    args::{Args, Command, ConvertArgs},
    inputs, itself,
    outcome::Outcome,
    remote, url,
};

/// Runs what was typed.
pub(crate) fn run(args: &mut Args) -> Result<Outcome> {
    let global = &args.global;
    remote::take(global);
    match &mut args.command {
        Command::Check(args) => inputs::expand(&mut args.files)?,
        Command::Convert(args) => inputs::expand(&mut args.inputs)?,
        Command::Info(args) => inputs::expand(&mut args.files)?,
        Command::Merge(args) => inputs::expand(&mut args.files)?,
        _ => {}
    }
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = global.threads {
        pool = pool.num_threads(threads.into());
    }
    if !matches!(args.command, Command::Batch(_) | Command::Index(_)) {
        // This thread works too: one more would take turns with the others. (Whoever goes
        // through many logs has a thread for each of them, and waits here.)
        pool = pool.use_current_thread();
    }
    pool.build_global().context("the threads cannot be started")?;
    match &mut args.command {
        Command::Check(args) => look_into_folders(&mut args.files)?,
        Command::Convert(args) => look_into_folders(&mut args.inputs)?,
        Command::Info(args) => look_into_folders(&mut args.files)?,
        _ => {}
    }
    match &args.command {
        Command::Convert(ConvertArgs { inputs, out: Some(out), .. }) => {
            itself::refuse(out, inputs)?;
        }
        Command::Filter(args) => itself::refuse(&args.out, [&args.file])?,
        Command::Repair(args) => itself::refuse(&args.out, [&args.file])?,
        Command::Merge(args) => itself::refuse(&args.out, &args.files)?,
        _ => {}
    }
    match &args.command {
        Command::Align(args) => align::run(args, global),
        Command::Info(args) => info::run(args, global),
        Command::Cat(args) => cat::run(args, global),
        Command::Convert(args) => convert::run(args, global),
        Command::Batch(args) => batch::run(args, global),
        Command::Index(args) => batch::index(args, global),
        Command::Filter(args) => filter::run(args, global),
        Command::Plot(args) => plot::run(args, global),
        Command::Report(args) => report::run(args, global),
        Command::Merge(args) => merge::run(args, global),
        Command::Repair(args) => repair::run(args, global),
        Command::Check(args) => check::run(args, global),
        Command::Calibration(args) => calibration::run(args, global),
        Command::Messages(args) => messages::run(args, global),
        Command::Schema(args) => schema::run(args, global),
        Command::Formats(args) => formats::run(args, global),
        Command::Params(args) => params::run(args, global),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
    }
}

/// Puts the logs in each folder in its place.
fn look_into_folders(inputs: &mut Vec<PathBuf>) -> Result<()> {
    let mut logs = Vec::new();
    for input in inputs.drain(..) {
        match url::of(&input).is_none() && input.is_dir() {
            true => logs.extend(batch::logs_in(&input)?),
            false => logs.push(input),
        }
    }
    *inputs = logs;
    Ok(())
}
