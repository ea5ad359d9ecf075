//! `logtool plan`: prints splits of logs.

use std::io::{self, Write};

use logtool::{
    Plan, PlanRequest, Result, Split,
    time::clock,
    translate::MessageTypes,
    units::{Bytes, count_of, escape_unprintable},
};
use logtool_core::Clock;

use crate::{
    args::{GlobalArgs, LogFormat, PlanArgs},
    error,
    exit_status::Outcome,
    lidar_options, notices,
    terminal::{self, color, say},
};

pub(super) fn run(args: &PlanArgs, global: &GlobalArgs) -> Result<Outcome> {
    let clock = args.clock.choice();
    let mut request = PlanRequest::new(&args.inputs)
        .with_topics(&args.records.topics)
        .with_columns(&args.fields)
        .with_time(args.records.time.start, args.records.time.end)
        .with_clock(clock)
        .with_lidar(lidar_options::options(&args.lidar, clock)?);
    if args.flat {
        request = request.with_flat_columns();
    }
    if args.spark {
        request = request.with_spark_types();
    }
    if let Some(format) = args.messages {
        let types = match args.foxglove {
            true => MessageTypes::Foxglove,
            false => MessageTypes::Any,
        };
        request = request.with_messages(format, types);
    }
    if let Some(size) = args.target_bytes {
        request = request.with_target_bytes(size.0);
    }
    let Plan { splits, failed, losses, .. } = request.run(&global.session)?;
    let mut worst = Outcome::Done;
    for mut findings in losses {
        findings.check(global.strictness())?;
        worst = worst.max(notices::losses(findings, global.quiet));
    }
    for (_, err) in &failed {
        error::print(err);
        worst = Outcome::Failed;
    }
    let mut out = terminal::stdout();
    if args.json {
        for split in &splits {
            serde_json::to_writer(&mut out, split)?;
            writeln!(out)?;
        }
    } else {
        print_table(&mut out, &splits)?;
    }
    out.flush()?;
    if splits.is_empty() && failed.is_empty() && !global.quiet {
        let nothing = clock::empty_selection(&Clock::default());
        say!("{} {nothing}", color::for_stderr().yellow("warning:"));
    }
    Ok(worst)
}

/// Prints a line for each split: the log, the topic, the bytes and the records.
fn print_table(out: &mut impl Write, splits: &[Split]) -> io::Result<()> {
    let widths = splits.iter().map(|split| split.topic().chars().count());
    let width = widths.max().unwrap_or(0).min(40);
    for of_log in splits.chunk_by(|split, next| split.path() == next.path()) {
        let Some(first) = of_log.first() else { continue };
        let count = count_of(of_log.len() as u64, "split");
        writeln!(
            out,
            "{}  {}, {count}",
            escape_unprintable(first.path()),
            LogFormat::from_name(first.format())
                .map_or(first.format(), |format| format.title())
        )?;
        for split in of_log {
            let (topic, bytes) =
                (escape_unprintable(split.topic()), Bytes(split.bytes()));
            let records = match split.records() {
                Some(records) => format!("about {}", count_of(records, "record")),
                None => "unknown number of records".to_owned(),
            };
            writeln!(out, "  {topic:width$}  {bytes}, {records}")?;
        }
    }
    Ok(())
}
