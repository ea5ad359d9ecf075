//! `logtool report`: what is to be seen of a log, on one page.

mod images;
mod plots;
mod said;
mod scan;
mod track;

use std::{io::Write as _, path::Path};

use anyhow::{Context as _, Result};
use logtool_core::{Damage, Manifest, TimeRange, Timestamp};
use logtool_plot::{Block, Page, Section};
use logtool_sinks::Existing;

use crate::{
    args::{GlobalArgs, ReportArgs, TimeChoice},
    commands::{info, plot},
    complaint::Complaint,
    findings::Findings,
    human::{Bytes, counted},
    interrupt, lidars,
    new_log::explained,
    opened::{self, Opened},
    outcome::Outcome,
    provenance,
    terminal::say,
};

pub(super) fn run(args: &ReportArgs, global: &GlobalArgs) -> Result<Outcome> {
    let name = args.out.file_name().and_then(|name| name.to_str());
    let end = args.out.extension().and_then(|end| end.to_str()).unwrap_or_default();
    let is_page = ["html", "htm"].iter().any(|known| end.eq_ignore_ascii_case(known));
    let Some(name) = name.filter(|_| is_page) else {
        let what = format!("{} is no page", args.out.display());
        return Err(Complaint::misuse(what).hint("it has to end in .html").into());
    };
    let existing = if args.force { Existing::Replace } else { Existing::Refuse };
    let parent = args.out.parent().filter(|dir| !dir.as_os_str().is_empty());
    let outputs = interrupt::outputs(parent.unwrap_or(Path::new(".")), existing);
    let mut staged = outputs.create(name).map_err(|err| explained(err.into()))?;

    let lidar = lidars::options(&args.lidar, TimeChoice::Boot)?;
    let opened = opened::open_with(&args.file, global, &lidar)?;
    let mut findings = Findings::of(&opened.input, opened.log.manifest());
    findings.check(global.strict)?;
    let mut page =
        page(&opened, &mut findings).with_context(|| opened.input.name.clone())?;
    page.provenance = provenance::of([&opened.input], global)?.json();
    findings.check(global.strict)?;
    let html = page.html();
    staged.write_all(html.as_bytes())?;
    staged.finish()?;
    outputs.commit().map_err(|err| explained(err.into()))?;
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
    Ok(findings.tell(global.quiet))
}

fn page(opened: &Opened, findings: &mut Findings) -> Result<Page> {
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
    let time = manifest.time.unwrap_or(TimeRange::just(Timestamp::default()));
    let bands = plot::bands(log, time)?;
    let plots = plots::of_px4(log, time, &bands, &mut seen)?;
    let tracks = track::all(log, time, &bands, &mut seen)?;
    let scans = scan::first_of_each(log)?;
    let images = images::first_of_each(log)?;
    let messages = said::messages(opened, &mut seen)?;
    findings.add(manifest, &logtool_core::TopicSet::All, &seen.damage);
    add("Summary", vec![Block::Text(info::describe(opened, findings)?)]);
    add("Track", tracks);
    add("Scans", scans);
    add("Images", images);
    add("Plots", plots);
    add("Messages", messages);
    add("Parameters", said::parameters(opened)?);
    let title = opened.input.file_name().to_owned();
    let about = format!("{}, by logtool {}", kind(manifest), env!("CARGO_PKG_VERSION"));
    Ok(Page { title, about, sections, ..Page::default() })
}

fn kind(manifest: &Manifest) -> String {
    format!("A log of the format {}, {}", manifest.format, Bytes(manifest.bytes))
}

/// What was found damaged while the pieces were made.
struct Seen {
    damage: Vec<Damage>,
}
