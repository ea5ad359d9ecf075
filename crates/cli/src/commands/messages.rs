//! `logtool messages`: what the vehicle said.

mod rosout;

use std::io::{self, Write as _};

use logtool::{
    Error, Result,
    error::Context as _,
    formats::LogFormat,
    input::open,
    losses::Findings,
    read::{MakeRows, Reader},
    rows::Rows,
    time::clock::ShownClock,
};
use logtool_core::{Columns, Manifest, Selection, Timestamp, TopicSet};

use crate::{
    args::{GlobalArgs, MessagesArgs, Order},
    exit_status::Outcome,
    notices,
    terminal::{self, Stdout, say},
};

pub(super) fn run(args: &MessagesArgs, global: &GlobalArgs) -> Result<Outcome> {
    let opened = open::open(&args.file, &global.session)?;
    let manifest = opened.log.manifest();
    let prepare = || {
        let clock = ShownClock::new(manifest, args.clock.choice())?;
        let time = clock.range(args.time.start, args.time.end)?;
        Ok::<_, Error>((clock, time, said(manifest)?))
    };
    let (clock, time, (topics, text, json)) =
        prepare().with_context(|| opened.input.name.clone())?;
    let selection = Selection { topics: topics.clone(), time };
    let mut findings = Findings::of(&opened.input, manifest);
    findings.check(global.strict)?;

    let make_rows = if args.json { json } else { text };
    let level = args.level;
    let reader = Reader::new(
        &*opened.log,
        selection,
        Order::File,
        Columns::default(),
        make_rows,
        move |_, rows, row, lines: &mut Vec<(Timestamp, Vec<u8>)>| {
            if level.is_none_or(|least| rows.is_urgent(row, least)) {
                let mut line = Vec::new();
                rows.write(row, &clock, None, &mut line);
                lines.push((rows.time(row), line));
            }
        },
    );
    let mut lines = Lines { out: terminal::stdout(), waiting: Vec::new(), bytes: 0 };
    let mut count = 0_u64;
    reader.each(
        &mut |more| {
            for (time, line) in more.drain(..) {
                lines.add(time, line)?;
                count += 1;
            }
            Ok(true)
        },
        &mut |damage| {
            findings.add(manifest, &topics, damage);
            findings.check(global.strict)
        },
    )?;
    lines.flush()?;
    if !global.quiet {
        if count == 0 {
            say!("{}: no messages are selected", opened.input.name);
        }
        tell_repeats(manifest);
    }
    Ok(notices::losses(findings, global.quiet))
}

/// Tells which topics were left out, as they repeat others.
fn tell_repeats(manifest: &Manifest) {
    let (_, repeats) = rosout::topics(manifest);
    for topic in repeats.into_iter().filter_map(|id| manifest.get(id).ok()) {
        let name = topic.label();
        say!(
            "left out: {name}, which repeats others: `logtool cat` with --topic {name}"
        );
    }
}

/// The topics of what was said, and what makes rows of them: text, and JSON.
pub(super) type Said = (TopicSet, MakeRows, MakeRows);

/// What was said in a log, if anything was.
pub(super) fn said(manifest: &Manifest) -> Result<Said> {
    let (nodes, _) = rosout::topics(manifest);
    if !nodes.is_empty() {
        return Ok((nodes.into_iter().collect(), rosout::text, rosout::json));
    }
    let topic = manifest.topic("messages").map_err(|_| {
        let of_ros = match LogFormat::of(manifest) {
            Some(format) if format.has_messages() => {
                ": no topic of the type rosgraph_msgs/Log"
            }
            _ => "",
        };
        Error::failed(format!("a {} log has no messages{of_ros}", manifest.format))
    })?;
    Ok(([topic].into_iter().collect(), Rows::text, Rows::json))
}

/// Lines in the order of time. (The file has them in the order in which they came to
/// the logger, and an event is quicker than a text.)
struct Lines {
    out: Stdout,
    waiting: Vec<(Timestamp, Vec<u8>)>,
    bytes: usize,
}

/// No more than so many bytes of lines are kept to be put in order.
const MAX_BYTES: usize = 16 << 20;

impl Lines {
    fn add(&mut self, time: Timestamp, line: Vec<u8>) -> io::Result<()> {
        self.bytes += line.len();
        self.waiting.push((time, line));
        if self.bytes > MAX_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.waiting.sort_by_key(|(time, _)| *time);
        for (_, line) in self.waiting.drain(..) {
            self.out.write_all(&line)?;
        }
        self.bytes = 0;
        self.out.flush()
    }
}
