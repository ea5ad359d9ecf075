//! `logtool report`: writes a page about a log.

use std::io::Write as _;

use logtool::{
    Result,
    output::guarded_outputs,
    report::ReportRequest,
    units::{Bytes, count_of},
};
use logtool_sinks::ExistingFiles;

use crate::{
    args::{GlobalArgs, ReportArgs, TimeChoice},
    exit_status::Outcome,
    lidar_options, notices, requested_format,
    terminal::say,
};

pub(super) fn run(args: &ReportArgs, global: &GlobalArgs) -> Result<Outcome> {
    // HTML is the only format.
    let (out, _) = requested_format::output_file(
        args.out.as_deref(),
        args.file_format,
        &args.file,
    )?;
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    let existing =
        if args.force { ExistingFiles::Replace } else { ExistingFiles::Refuse };
    let outputs = guarded_outputs::for_file(&out, existing, &global.session)?;
    let mut staged = outputs.create(&name)?;

    let mut request = ReportRequest::new(&args.file)
        .with_clock(args.clock)
        .with_lidar(lidar_options::options(&args.lidar, TimeChoice::Boot)?)
        .with_strictness(global.strictness());
    if let Some(start) = args.time.start {
        request = request.with_start(start);
    }
    if let Some(end) = args.time.end {
        request = request.with_end(end);
    }
    let report = request.run(&global.session)?;
    let html = report.page.html();
    staged.write_all(html.as_bytes())?;
    staged.finish()?;
    outputs.commit()?;
    if !global.quiet {
        let sections = report.page.sections.iter();
        let blocks: u64 = sections.map(|section| section.blocks.len() as u64).sum();
        say!(
            "{} → {}: {}, {}",
            report.log,
            out.display(),
            count_of(blocks, "element"),
            Bytes(html.len() as u64)
        );
    }
    Ok(notices::losses(report.losses, global.quiet))
}
