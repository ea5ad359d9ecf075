//! `logtool messages`: what the vehicle said.

use std::io::{self, BufWriter, StdoutLock, Write as _};

use anyhow::{Context as _, Result};
use logtool_core::{Columns, Manifest, Selection, Timestamp, TopicId};

use crate::{
    args::{GlobalArgs, MessagesArgs, Order},
    clock::ShownClock,
    complaint::Complaint,
    findings::Findings,
    opened,
    outcome::Outcome,
    reader::Reader,
    row::Rows,
    terminal,
};

pub(super) fn run(args: &MessagesArgs, global: &GlobalArgs) -> Result<Outcome> {
    let opened = opened::open(&args.file, global)?;
    let manifest = opened.log.manifest();
    let prepare = || {
        let clock = ShownClock::new(manifest, args.clock.time)?;
        anyhow::Ok((clock, topic(manifest)?))
    };
    let (clock, topic) = prepare().with_context(|| opened.input.name.clone())?;
    let selection =
        Selection { topics: [topic].into_iter().collect(), ..Default::default() };
    let mut findings = Findings::of(&opened.input, manifest);
    findings.check(global.strict)?;

    let topics = selection.topics.clone();
    let make_rows = if args.json { Rows::json } else { Rows::text };
    let mut reader = Reader::new(
        &*opened.log,
        selection,
        Order::File,
        Columns::default(),
        make_rows,
    );
    let mut lines = Lines { out: terminal::stdout(), waiting: Vec::new(), bytes: 0 };
    reader.each(
        &mut |_, rows, row| {
            if args.level.is_none_or(|least| rows.is_urgent(row, least)) {
                let mut line = Vec::new();
                rows.write(row, &clock, None, &mut line);
                lines.add(rows.time(row), line)?;
            }
            Ok(true)
        },
        &mut |damage| {
            findings.add(manifest, &topics, damage);
            findings.check(global.strict)
        },
    )?;
    lines.flush()?;
    Ok(findings.tell(global.quiet))
}

fn topic(manifest: &Manifest) -> Result<TopicId> {
    manifest.topic("messages").map_err(|_| {
        let what = format!("a {} log has no messages", manifest.format);
        Complaint::new(what).into()
    })
}

/// Lines in the order of time. (The file has them in the order in which they came to
/// the logger, and an event is quicker than a text.)
struct Lines {
    out: BufWriter<StdoutLock<'static>>,
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
