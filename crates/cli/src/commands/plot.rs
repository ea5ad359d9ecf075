//! `logtool plot`: draws fields over time.

use std::{io::Write as _, path::Path, time::Instant};

use logtool::{
    Error, Result,
    output::guarded_outputs,
    plot::{DISTINCT_LINES, Line, Plot, PlotRequest},
    units::{Count, Span, count_of},
};
use logtool_sinks::ExistingFiles;

use crate::{
    args::{GlobalArgs, ImageFormat, PlotArgs},
    exit_status::Outcome,
    lidar_options, notices, requested_format,
    terminal::say,
};

pub(super) fn run(args: &PlotArgs, global: &GlobalArgs) -> Result<Outcome> {
    let start = Instant::now();
    let (out, format) = requested_format::output_file(
        args.out.as_deref(),
        args.file_format,
        &args.file,
    )?;
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    let existing =
        if args.force { ExistingFiles::Replace } else { ExistingFiles::Refuse };
    let outputs = guarded_outputs::for_file(&out, existing, &global.session)?;
    let mut staged = outputs.create(&name)?;

    let plot = request(args, global)?.run(&global.session)?;
    let (bytes, missing) = match format {
        ImageFormat::Png => {
            let painted = plot.png()?;
            (painted.png, painted.missing)
        }
        ImageFormat::Pdf => {
            let rendered = plot.pdf()?;
            (rendered.pdf, rendered.missing)
        }
        ImageFormat::Svg => (plot.svg()?.into_bytes(), String::new()),
    };
    staged.write_all(&bytes)?;
    staged.finish()?;
    outputs.commit()?;
    if !global.quiet {
        print_summary(&plot, &out, start, &missing);
    }
    Ok(notices::losses(plot.losses, global.quiet))
}

/// Returns the request that the arguments state.
fn request(args: &PlotArgs, global: &GlobalArgs) -> Result<PlotRequest> {
    let mut request = PlotRequest::new(&args.file, &args.fields)
        .with_title(args.title.as_deref().unwrap_or_default())
        .with_limits(args.limits.iter().copied())
        .with_clock(args.clock)
        .with_scale(args.scale)
        .with_lidar(lidar_options::options(&args.lidar, args.clock)?)
        .with_strictness(global.strictness());
    if let Some(start) = args.time.start {
        request = request.with_start(start);
    }
    if let Some(end) = args.time.end {
        request = request.with_end(end);
    }
    if let Some((width, height)) = args.size {
        request = request.with_size(width, height);
    }
    for panel in &args.panels {
        if fields_of(panel).next().is_none() {
            return Err(Error::invalid_request(
                "--panel needs a field or an expression",
            ));
        }
        request = request.with_panel(fields_of(panel));
    }
    for plot in &args.xy {
        let mut expressions = fields_of(plot);
        let x = expressions.next().unwrap_or_default();
        request = request.with_xy(x, expressions);
    }
    if args.no_modes {
        request = request.without_flight_modes();
    }
    if args.no_marks {
        request = request.without_marks();
    }
    Ok(request)
}

/// Returns the fields and expressions in the argument of an option, which are separated by `;`.
fn fields_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').map(str::trim).filter(|field| !field.is_empty())
}

/// Prints the numbers of plotted and omitted values. No font has the characters `missing`.
fn print_summary(plot: &Plot, out: &Path, start: Instant, missing: &str) {
    let lines = plot.lines();
    let xy_lines = plot.chart.xy.iter().flat_map(|panel| &panel.lines);
    let count = lines.clone().count() + xy_lines.clone().count();
    let values = lines.clone().map(|line| line.signal.values);
    let values = values.chain(xy_lines.map(|line| line.values)).sum();
    let nanos = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    say!(
        "{} → {}: {} of {} in {}",
        plot.log,
        out.display(),
        count_of(count as u64, "line"),
        count_of(values, "value"),
        Span(nanos),
    );
    // Outliers have a line of their own.
    let left_out = |line: &Line| line.signal.dropped - line.signal.out_of_range;
    for line in lines.filter(|line| left_out(line) > 0) {
        let (name, count) = (&line.name, Count(left_out(line)));
        say!("  {name}: {count} left out: not a number, or without a time");
    }
    if !missing.is_empty() {
        say!(
            "  no font of this system has the characters {missing}, drawn as boxes; SVG \
             files have them as text"
        );
    }
    if let Some(outliers) = &plot.outliers {
        say!("  {outliers}; --start and --end choose other times");
    }
    let counts = plot.chart.panels.iter().map(|panel| panel.all_lines().count());
    for count in counts.filter(|count| *count > DISTINCT_LINES) {
        let lines = count_of(count as u64, "line");
        say!(
            "  {lines} in one plot: only {DISTINCT_LINES} look different from each other"
        );
    }
    plot.partial_topics.iter().for_each(|note| say!("  {note}"));
    notices::lidar_warnings(&plot.log, &plot.lidar_warnings);
}
