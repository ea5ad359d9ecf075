//! `logtool index`: writes a catalog of many logs without converting them.

use std::sync::Arc;

use logtool::{Result, dataset::IndexRequest};

use crate::{
    args::{GlobalArgs, IndexArgs, TimeChoice},
    commands::batch::{
        self,
        progress::{DatasetCommand, DatasetMeter},
    },
    exit_status::Outcome,
    lidar_options, requested_format,
};

pub(super) fn run(args: &IndexArgs, global: &GlobalArgs) -> Result<Outcome> {
    let format = requested_format::choose(&args.out, args.file_format)?;
    let meter = Arc::new(DatasetMeter::new(DatasetCommand::Index, args.json, global));
    let mut request = IndexRequest::new(&args.inputs, &args.out)
        .with_format(format)
        .with_lidar(lidar_options::options(&args.lidar, TimeChoice::Boot)?)
        .with_strictness(global.strictness())
        .with_progress(meter.clone());
    if args.analysis {
        request = request.with_analysis();
    }
    if args.force {
        request = request.with_replacement();
    }
    let report = meter.run_with_events(|| request.run(&global.session))?;
    let is_written = report.catalog_error.is_none();
    let action = if is_written { "indexed" } else { "opened" };
    batch::finish(report, &meter, action, global)
}
