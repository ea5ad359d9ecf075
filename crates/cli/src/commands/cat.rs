//! `logtool cat`: records, in the order of the file or of time.

mod derived_rows;
mod record_style;

use std::io::{self, Write};

use logtool::{
    Error, Remedy, Result,
    error::Context as _,
    formats,
    input::{growing_log::GrowingLog, open},
    labels,
    read::RecordOrder,
    rows::{Label, PrintedRows},
    selection,
    series::{self, DerivedTables},
    time::clock::{self, ShownClock},
};
use logtool_core::{
    Log as _, Manifest, Selection, TimeBase, Timestamp, Topic, TopicOrigin, TopicSet,
};
use logtool_sinks::Infinities;

use self::{derived_rows::DerivedRows, record_style::RecordStyle};
use crate::{
    args::{CatArgs, CatFormat, GlobalArgs, TimeArgs},
    exit_status::Outcome,
    lidar_options, notices,
    process::interrupt,
    terminal::{self, say},
};

pub(super) fn run(args: &CatArgs, global: &GlobalArgs) -> Result<Outcome> {
    let labels = args.labels.read()?;
    let (mut growing, opened) = if args.follow {
        if args.order == RecordOrder::Time {
            return Err(Error::invalid_request(
                "--follow prints records in the order of the file",
            ));
        }
        let (growing, opened) = GrowingLog::open(&args.file, &global.session)?;
        (Some(growing), opened)
    } else {
        let lidar = lidar_options::options(&args.lidar, args.clock.choice())?;
        (None, open::open_with(&args.file, &global.session, &lidar)?)
    };
    let (log, name) = (&*opened.log, &opened.input.name);
    let manifest = log.manifest();
    let prepare = || {
        let clock = ShownClock::new(manifest, args.clock.choice())?;
        let time = clock.range(args.records.time.start, args.records.time.end)?;
        let patterns = series::patterns_of_topics(&args.records.topics, &args.derive);
        let topics = match patterns {
            // The topics of a log that has just begun may follow.
            Some(_) if args.follow && !has_logged_topics(manifest) => TopicSet::EMPTY,
            Some(patterns) => selection::topics(manifest, &patterns)?,
            None => TopicSet::EMPTY,
        };
        let derived = DerivedTables::new(log, &args.derive)?;
        Ok::<_, Error>((clock, Selection { topics, time }, derived))
    };
    let (clock, selection, derived) = prepare().with_context(|| name.clone())?;
    let TimeArgs { start, end } = args.records.time;
    global.session.warn_of_late_times(name, manifest, start, end);
    let mut findings = opened.input.findings(manifest);
    findings.check(global.strictness())?;
    lidar_options::check_each(&args.lidar, manifest, &selection.topics)
        .with_context(|| name.clone())?;
    if !global.quiet {
        notices::lidars(name, manifest, &selection.topics);
        notices::warnings(name, &formats::raw_topics(manifest, &selection.topics));
    }

    let is_text = match args.format {
        Some(format) => format == CatFormat::Text,
        None => !args.json && terminal::stdout_is_seen(),
    };
    let wanted = manifest.topics().filter(|(id, topic)| {
        selection.topics.contains(*id) && topic.records != Some(0)
    });
    let labels_of_topics =
        wanted.map(|(_, topic)| topic).chain(derived.topics()).map(Topic::label);
    let width = labels_of_topics.map(|label| label.len()).max().unwrap_or(0).min(40);
    let has_names = is_text || args.labels.labels;
    let labels =
        labels.or_else(|| has_names.then(|| labels::from_manifest(manifest)).flatten());
    let topics = selection.topics.clone();
    if is_text && args.keep_infinities {
        return Err(Error::invalid_request(
            "text has no `null` in place of infinities",
        )
        .with_hint("--keep-infinities goes with --format json"));
    }
    let make_rows = match (is_text, args.keep_infinities) {
        (true, _) => PrintedRows::text,
        (false, true) => PrintedRows::json_with_infinities,
        (false, false) => PrintedRows::json,
    };
    let mut derived_rows = DerivedRows::default();
    if !args.derive.is_empty() {
        let (tables, damage) = derived
            .read(log, selection.time, TimeBase::default(), &|_| {})
            .map_err(|err| err.with_log_name(name))?;
        findings.add(manifest, &derived.source_topics(manifest), &damage);
        findings.check(global.strictness())?;
        let labels = derived.topics().map(|topic| Label::new(&topic.label(), width));
        derived_rows = DerivedRows::new(labels, &tables, make_rows, clock)?;
    }
    let has_logged = topics != TopicSet::EMPTY;
    let is_by_time = args.order == RecordOrder::Time;
    let style = RecordStyle { make_rows, width, labels, clock, order: args.order };
    let time = selection.time;
    let reader = style.reader(log, selection);
    let mut out = terminal::stdout();
    let limit = args.count.unwrap_or(u64::MAX);
    let mut remaining = limit;
    let mut nulls = 0;
    if remaining > 0 && has_logged {
        let read = reader.for_each(
            &mut |lines| {
                if is_by_time {
                    derived_rows.insert_by_time(lines);
                }
                remaining -= lines.print(remaining, &mut out, &mut nulls)?;
                Ok(remaining > 0)
            },
            &mut |damage| {
                match &growing {
                    None => findings.add(manifest, &topics, damage),
                    Some(log) => {
                        let damage = log.without_incomplete_message(damage);
                        findings.add(manifest, &topics, &damage);
                    }
                }
                findings.check(global.strictness())
            },
        );
        read.map_err(|err| err.with_log_name(name))?;
    }
    if let Some(growing) = &mut growing {
        out.flush()?;
        let stop = interrupt::stop_signal();
        while remaining > 0
            && let Some(part) = growing.wait(&stop)?
        {
            let manifest = part.log.manifest();
            findings.add(manifest, &TopicSet::All, &part.known_damage());
            findings.check(global.strictness())?;
            // A topic may be in no part.
            let Ok(topics) = selection::topics(manifest, &args.records.topics) else {
                continue;
            };
            let selection = Selection { topics: topics.clone(), time };
            style.reader(&part.log, selection).for_each(
                &mut |lines| {
                    remaining -= lines.print(remaining, &mut out, &mut nulls)?;
                    Ok(remaining > 0)
                },
                &mut |damage| {
                    findings.add(manifest, &topics, &part.damage_in_file(damage));
                    findings.check(global.strictness())
                },
            )?;
            out.flush()?;
            findings.set_log_bytes(growing.read_bytes());
        }
    }
    let mut lines = Lines::default();
    while remaining > 0 && derived_rows.add(None, &mut lines) {
        remaining -= lines.print(remaining, &mut out, &mut nulls)?;
    }
    out.flush()?;
    if remaining == limit && limit > 0 && !global.quiet {
        notices::warnings(name, &[clock::empty_selection(&manifest.clock)]);
    }
    if let Some(remark) = Infinities::remark(nulls).filter(|_| !global.quiet) {
        say!("note: {name}: {remark}");
        notices::remedy(&Remedy::KeepInfinities);
    }
    Ok(notices::losses(findings, global.quiet))
}

/// Returns whether topics are declared in the log.
fn has_logged_topics(manifest: &Manifest) -> bool {
    manifest.topics.iter().any(|topic| topic.origin == TopicOrigin::Logged)
}

/// Lines to print.
#[derive(Default)]
struct Lines {
    text: Vec<u8>,
    /// Where in the text each line ends.
    ends: Vec<usize>,
    /// How many infinities of each line are null.
    nulls: Vec<u64>,
    /// The time of each line.
    times: Vec<Timestamp>,
}

impl Lines {
    /// Prints at most `max` of the lines, adds their infinities that are null to `nulls`, and
    /// removes all lines. Returns the number of printed lines.
    fn print(
        &mut self,
        max: u64,
        out: &mut impl Write,
        nulls: &mut u64,
    ) -> io::Result<u64> {
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        let printed = self.ends.len().min(max);
        if let Some(end) = printed.checked_sub(1).and_then(|last| self.ends.get(last)) {
            out.write_all(&self.text[..*end])?;
        }
        *nulls += self.nulls.iter().take(printed).sum::<u64>();
        self.text.clear();
        self.ends.clear();
        self.nulls.clear();
        self.times.clear();
        Ok(printed as u64)
    }
}
