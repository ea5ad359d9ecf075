//! `logtool report`: what is to be seen of a log, on one page.

mod images;
mod log_messages;
mod plots;
mod scan;
mod track;

use std::io::Write as _;

use logtool::{
    Error, Result,
    error::Context as _,
    input::open::{self, Opened},
    losses::Findings,
    output::{guarded, provenance},
    time::{clock::ShownClock, record_span},
    units::{Bytes, counted},
};
use logtool_core::{Damage, Manifest, TimeRange, Timestamp};
use logtool_plot::{Block, Page, Section};
use logtool_sinks::Existing;

use crate::{
    args::{GlobalArgs, ReportArgs, TimeChoice},
    commands::{info, plot, report::plots::Shown},
    exit_status::Outcome,
    lidar_options, notices,
    terminal::say,
};

pub(super) fn run(args: &ReportArgs, global: &GlobalArgs) -> Result<Outcome> {
    let name = args.out.file_name().map(|name| name.to_string_lossy());
    let end = args.out.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let is_page = ["html", "htm"].iter().any(|known| end.eq_ignore_ascii_case(known));
    let Some(name) = name.filter(|_| is_page) else {
        let what = format!("{} is no page", args.out.display());
        return Err(Error::invalid(what).with_hint("it has to end in .html"));
    };
    let existing = if args.force { Existing::Replace } else { Existing::Refuse };
    let outputs = guarded::one_file(&args.out, existing, &global.session)?;
    let mut staged = outputs.create(&name)?;

    let lidar = lidar_options::options(&args.lidar, TimeChoice::Boot)?;
    let opened = open::open_with(&args.file, &global.session, &lidar)?;
    lidar_options::check_calibration(&args.lidar, opened.log.manifest())
        .with_context(|| opened.input.name.clone())?;
    let mut findings = Findings::of(&opened.input, opened.log.manifest());
    findings.check(global.strict)?;
    let mut page = page(&opened, args, &mut findings)
        .with_context(|| opened.input.name.clone())?;
    page.provenance = provenance::of([&opened.input], &global.session)?.json();
    findings.check(global.strict)?;
    let html = page.html();
    staged.write_all(html.as_bytes())?;
    staged.finish()?;
    outputs.commit()?;
    if !global.quiet {
        let pieces = page.sections.iter().map(|section| section.blocks.len() as u64);
        say!(
            "{} → {}: {}, {}",
            opened.input.name,
            args.out.display(),
            counted(pieces.sum(), "piece"),
            Bytes(html.len() as u64)
        );
    }
    Ok(notices::losses(findings, global.quiet))
}

fn page(opened: &Opened, args: &ReportArgs, findings: &mut Findings) -> Result<Page> {
    let log = &*opened.log;
    let manifest = log.manifest();
    let mut seen = Seen { damage: Vec::new() };
    let mut sections = Vec::new();
    let mut add = |title: &str, blocks: Vec<Block>| {
        if !blocks.is_empty() {
            sections.push(Section { title: title.to_owned(), blocks });
        }
    };
    // First what reads, so that the summary knows all that is damaged.
    let all = manifest.time.unwrap_or(TimeRange::from_timestamp(Timestamp::default()));
    let clock = ShownClock::new(manifest, args.clock)?;
    let asked = clock.range(args.time.start, args.time.end)?;
    let time = record_span::within(asked, all);
    if time.is_empty() {
        return Err(Error::failed("the log has nothing at that time"));
    }
    let is_part = args.time.start.or(args.time.end).is_some();
    let bands = plot::bands(log, time.end.as_nanos())?;
    // What is not asked for by its time may have any.
    let shown = Shown { time: asked, choice: args.clock, clock: &clock, bands: &bands };
    let plots = plots::all(log, &shown, &mut seen)?;
    let tracks = track::all(log, asked, &bands, &mut seen)?;
    let scans = scan::first_of_each(log, asked)?;
    let images = images::first_of_each(log, asked)?;
    let messages = log_messages::messages(opened, asked, clock, &mut seen)?;
    findings.add(manifest, &logtool_core::TopicSet::All, &seen.damage);
    let summary = if is_part { "Summary of the whole log" } else { "Summary" };
    let text = info::describe(opened, findings)?;
    // The facts come first; the tables of all topics, which may be long, at the end.
    let (facts, tables) = text.split_once("\n\n").unwrap_or((&text, ""));
    add(summary, vec![Block::Text(facts.to_owned())]);
    add("Track", tracks);
    add("Scans", scans);
    add("Images", images);
    add("Plots", plots);
    add("Messages", messages);
    add("Parameters", log_messages::parameters(opened)?);
    let tables = Some(tables).filter(|tables| !tables.is_empty());
    add(
        "Topics",
        tables.map(|text| Block::Text(text.to_owned())).into_iter().collect(),
    );
    let title = opened.input.file_name().to_owned();
    let mut about =
        format!("{}, by logtool {}", kind(manifest), env!("CARGO_PKG_VERSION"));
    if is_part {
        let (start, end) = (clock.text(time.start), clock.text(time.end));
        about += &format!(
            "; all but the summary and the parameters only from {start} to {end}"
        );
    }
    Ok(Page { title, about, sections, ..Page::default() })
}

fn kind(manifest: &Manifest) -> String {
    format!("A log of the format {}, {}", manifest.format, Bytes(manifest.bytes))
}

/// What was found damaged while the pieces were made.
struct Seen {
    damage: Vec<Damage>,
}
