//! `logtool messages`: prints the text messages of a log.

use std::io::{self, Write as _};

use logtool::{
    Error, Result,
    error::Context as _,
    input::{growing_log::GrowingLog, open},
    log_messages::{self, MessageFilter, MessageTopics},
    read::{LogReader, MakeRows},
    time::clock::ShownClock,
};
use logtool_core::{Columns, Log, Selection, Timestamp, TopicSet};

use crate::{
    args::{GlobalArgs, MessagesArgs, RecordOrder},
    exit_status::Outcome,
    notices,
    process::interrupt,
    terminal::{self, Stdout, say},
};

pub(super) fn run(args: &MessagesArgs, global: &GlobalArgs) -> Result<Outcome> {
    let filter = filter(args)?;
    let (mut growing, opened) = if args.follow {
        let (growing, opened) = GrowingLog::open(&args.file, &global.session)?;
        (Some(growing), opened)
    } else {
        (None, open::open(&args.file, &global.session)?)
    };
    let manifest = opened.log.manifest();
    let prepare = || {
        let clock = ShownClock::new(manifest, args.clock.choice())?;
        let time = clock.range(args.time.start, args.time.end)?;
        Ok::<_, Error>((clock, time, log_messages::require_topics(manifest)?))
    };
    let (clock, time, messages) =
        prepare().with_context(|| opened.input.name.clone())?;
    let name = &opened.input.name;
    global.session.warn_of_late_times(name, manifest, args.time.start, args.time.end);
    let MessageTopics { topics, repeated, text_rows, json_rows, .. } = messages;
    let selection = Selection { topics: topics.clone(), time };
    let mut findings = opened.input.findings(manifest);
    findings.check(global.strictness())?;

    let make_rows = if args.json { json_rows } else { text_rows };
    let style = MessageStyle { filter, make_rows, clock };
    let mut lines = SortedLines::new();
    let mut count = 0_u64;
    let mut add = |more: &mut Lines, lines: &mut SortedLines| {
        for (time, line) in more.drain(..) {
            lines.add(time, line)?;
            count += 1;
        }
        Ok(true)
    };
    style.reader(&*opened.log, selection).for_each(
        &mut |more| add(more, &mut lines),
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
    )?;
    lines.flush()?;
    if let Some(growing) = &mut growing {
        let stop = interrupt::stop_signal();
        while let Some(part) = growing.wait(&stop)? {
            let manifest = part.log.manifest();
            findings.add(manifest, &TopicSet::All, &part.known_damage());
            findings.check(global.strictness())?;
            let Some(messages) = log_messages::topics(manifest) else { continue };
            let topics = messages.topics;
            let selection = Selection { topics: topics.clone(), time };
            style.reader(&part.log, selection).for_each(
                &mut |more| add(more, &mut lines),
                &mut |damage| {
                    findings.add(manifest, &topics, &part.damage_in_file(damage));
                    findings.check(global.strictness())
                },
            )?;
            lines.flush()?;
            findings.set_log_bytes(growing.read_bytes());
        }
    }
    if !global.quiet {
        if count == 0 {
            let text = "no messages match the selected times and filters";
            notices::warnings(&opened.input.name, &[text.to_owned()]);
        }
        for name in repeated {
            say!(
                "left out: {name}, which repeats others; `logtool cat --topic {name}` \
                 prints it"
            );
        }
    }
    Ok(notices::losses(findings, global.quiet))
}

/// Returns the filter that the options state.
fn filter(args: &MessagesArgs) -> Result<MessageFilter> {
    let mut filter = MessageFilter::new().with_sources(&args.source)?;
    if let Some(level) = args.level {
        filter = filter.with_level(level);
    }
    for text in &args.contains {
        filter = filter.with_text(text);
    }
    match &args.regex {
        Some(pattern) => filter.with_regex(pattern),
        None => Ok(filter),
    }
}

/// Lines and their times.
type Lines = Vec<(Timestamp, Vec<u8>)>;

/// Which messages are printed, and how.
struct MessageStyle {
    filter: MessageFilter,
    make_rows: MakeRows,
    clock: ShownClock,
}

impl MessageStyle {
    /// Returns a reader that makes the lines of the messages of `log` in `selection`.
    fn reader<'l>(
        &self,
        log: &'l dyn Log,
        selection: Selection,
    ) -> LogReader<'l, Lines> {
        let (filter, clock) = (self.filter.clone(), self.clock);
        LogReader::new(
            log,
            selection,
            RecordOrder::File,
            Columns::default(),
            self.make_rows,
            move |_, rows, row, lines: &mut Lines| {
                if filter.accepts(rows, row) {
                    let mut line = Vec::new();
                    rows.write(row, &clock, None, &mut line);
                    lines.push((rows.time(row), line));
                }
            },
        )
    }
}

/// Lines that are printed in time order. The file has them in the order in which they came to
/// the logger, and events come sooner than strings.
struct SortedLines {
    out: Stdout,
    waiting: Lines,
    bytes: usize,
}

/// The maximum length of the lines that wait to be sorted.
const MAX_BYTES: usize = 16 << 20;

impl SortedLines {
    fn new() -> Self {
        Self { out: terminal::stdout(), waiting: Vec::new(), bytes: 0 }
    }

    fn add(&mut self, time: Timestamp, line: Vec<u8>) -> io::Result<()> {
        self.bytes += line.len();
        self.waiting.push((time, line));
        if self.bytes > MAX_BYTES { self.flush() } else { Ok(()) }
    }

    /// Prints the lines that wait.
    fn flush(&mut self) -> io::Result<()> {
        self.waiting.sort_by_key(|(time, _)| *time);
        for (_, line) in self.waiting.drain(..) {
            self.out.write_all(&line)?;
        }
        self.bytes = 0;
        self.out.flush()
    }
}
