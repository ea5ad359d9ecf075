//! `logtool batch`: converts many logs to one dataset.

mod job_variables;
mod summary;

pub(super) mod progress;

use std::{env, sync::Arc};

use logtool::{
    Error, Result,
    convert::{ConvertRequest, OutputFormat},
    dataset::{BatchRequest, DatasetReport, Shard},
};

use crate::{
    args::{BatchArgs, ConvertArgs, GlobalArgs},
    commands::{
        batch::progress::{DatasetCommand, DatasetMeter},
        convert::{self, request},
    },
    exit_status::Outcome,
    terminal::say,
};

pub(super) fn run(args: &BatchArgs, global: &GlobalArgs) -> Result<Outcome> {
    let out = args.convert.out.clone().unwrap_or_default();
    let conversion = conversion(args)?;
    let variable = |name: &str| env::var(name).ok();
    let shard = match args.assign_tables {
        true => None,
        false => job_variables::shard(args.shard, &variable)?,
    };
    let meter = Arc::new(DatasetMeter::new(DatasetCommand::Batch, args.json, global));
    let mut request = BatchRequest::new(&args.convert.inputs, out)
        .with_conversion(conversion)
        .with_strictness(global.strictness())
        .with_progress(meter.clone());
    if let Some((shard, origin)) = shard {
        if !global.quiet {
            print_shard(shard, origin);
        }
        request = request.with_shard(shard);
    }
    if let Some(memory) = args.memory {
        request = request.with_memory_bytes(memory.0);
    }
    if args.convert.force {
        request = request.with_reconversion();
    }
    if args.analysis {
        request = request.with_analysis();
    }
    if args.catalog.is_some() {
        request = request.with_json_lines_catalog();
    }
    if let Some(name) = variable("HOSTNAME").or_else(|| variable("COMPUTERNAME")) {
        request = request.with_host_name(name);
    }
    if args.assign_tables {
        let survey = request.survey_tables(&global.session)?;
        request.assign_tables([survey], &global.session)?;
        meter.clear();
        return Ok(Outcome::Done);
    }
    let report = meter.run_with_events(|| request.run(&global.session))?;
    finish(report, &meter, "converted", global)
}

/// Prints the summary of `report`. `action` describes the result of the logs, such as
/// "converted".
///
/// # Errors
/// If the catalog or the events (`--json`) could not be written.
pub(super) fn finish(
    mut report: DatasetReport,
    meter: &DatasetMeter,
    action: &str,
    global: &GlobalArgs,
) -> Result<Outcome> {
    meter.finish(&report);
    summary::print(&report, action, meter.elapsed(), global.quiet);
    match report.catalog_error.take() {
        Some(err) => Err(err),
        None => {
            meter.check()?;
            Ok(summary::outcome(&report))
        }
    }
}

/// Returns the conversion of each log that `args` state.
fn conversion(args: &BatchArgs) -> Result<ConvertRequest> {
    let mut convert = ConvertArgs { out: None, ..args.convert.clone() };
    if convert.format.is_none() {
        convert.format = Some(OutputFormat::Parquet);
    }
    if args.convert.is_stdout() {
        let hint = "name it with -o";
        return Err(Error::invalid_request("a dataset is a folder").with_hint(hint));
    }
    if convert.merge.is_some() {
        let hint = "`logtool convert --merge` converts each log to one table";
        return Err(Error::invalid_request("--merge is not possible for a dataset")
            .with_hint(hint));
    }
    let request = request::request(&convert)?;
    convert::check(&convert, &request)?;
    Ok(request)
}

/// Prints the shard of this run, and the option or variable that states it.
fn print_shard(shard: Shard, origin: &str) {
    let (index, count) = (shard.index(), shard.count());
    say!("part {index} of {count}, counted from 0 ({origin})");
}
