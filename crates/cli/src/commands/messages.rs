//! `logtool messages`: what the vehicle said.

use std::io::Write as _;

use anyhow::{Context as _, Result};
use logtool_core::{Columns, Manifest, Selection, TopicId};

use crate::{
    args::{GlobalArgs, MessagesArgs},
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
    let mut reader =
        Reader::new(&*opened.log, selection, Columns::default(), make_rows);
    let (mut out, mut line) = (terminal::stdout(), Vec::new());
    reader.each(
        &mut |_, rows, row| {
            if args.level.is_none_or(|least| rows.is_urgent(row, least)) {
                line.clear();
                rows.write(row, &clock, None, &mut line);
                out.write_all(&line)?;
            }
            Ok(true)
        },
        &mut |damage| {
            findings.add(manifest, &topics, damage);
            findings.check(global.strict)
        },
    )?;
    out.flush()?;
    Ok(findings.tell(global.quiet))
}

fn topic(manifest: &Manifest) -> Result<TopicId> {
    manifest.topic("messages").map_err(|_| {
        let what = format!("a {} log has no messages", manifest.format);
        Complaint::new(what).into()
    })
}
