//! One table of several topics, on one axis of time.

use logtool::{
    Error, Result, selection,
    signals::Span,
    time::{clock::ShownClock, typed::TypedTime},
    units::counted,
};
use logtool_core::{
    AsofJob, Columns, Manifest, TableSink, Topic, TopicOrigin, TopicSet, View,
    asof_schema, merge_asof,
};
use logtool_sinks::{FileNames, NameStyle, Room};

use crate::commands::convert::{
    job::{Job, Made},
    sink,
};

/// What the table is called.
const NAME: &str = "merged";

/// Writes the table that `job` asks for.
pub(super) fn write(job: &Job<'_>) -> Result<Made> {
    let (log, args) = (&*job.opened.log, job.args);
    let manifest = log.manifest();
    let clock = ShownClock::new(manifest, args.clock.time())?;
    let mut topics = topics(manifest, &args.records.topics)?;
    let columns =
        Columns { view: View::Flat, labels: job.labels.clone(), ..Columns::default() };
    let mut columns_of = selection::columns(log, &mut topics, &columns, &args.fields)?;
    for (id, _) in manifest.topics().filter(|(id, _)| topics.contains(*id)) {
        columns_of.entry(id).or_insert_with(|| columns.clone());
    }
    if columns_of.is_empty() {
        let hint = "`logtool info` lists the topics and how many records they have";
        return Err(Error::not_found("there are no records to merge").with_hint(hint));
    }
    let Some(rate) = args.rate else {
        return Err(Error::invalid("--merge needs a --rate"));
    };
    // A time that is years off would have a row for each moment until then.
    let asked = clock.range(args.records.from, args.end())?;
    let span = Span::of(log, &topics, asked)?;
    let time = if span.stray.is_some() { span.usual } else { asked };
    let asof = AsofJob {
        columns_of,
        time,
        period_nanos: rate.period_nanos,
        base: clock.base(),
        max_age_nanos: max_age(args.max_age)?,
        progress: job.progress,
    };
    let schema = asof_schema(log, &asof)?;
    let names = FileNames::new(NameStyle::FirstBare, &[]);
    let sink: Box<dyn TableSink> = sink::new(job, names, Room::default());
    let mut writer = sink.table(&table(manifest, &schema), &schema)?;
    let report = merge_asof(log, &asof, &mut *writer)?;
    writer.finish()?;
    sink.finish()?;
    let left_out = report.left_out;
    let remark = (left_out > 0).then(|| {
        format!("{} left out: their times cannot be right", counted(left_out, "record"))
    });
    let stray = span.stray.map(|time| {
        let time = clock.typed(time);
        format!(
            "rows are of the times of nine of ten records; others are over an hour away, \
             as {time}: --from and --to choose other times"
        )
    });
    let remarks = remark.into_iter().chain(stray).chain(sink.remarks());
    Ok(Made {
        topics,
        tables: 1,
        rows: report.rows,
        damage: report.read.damage,
        remarks: remarks.collect(),
        ..Made::default()
    })
}

/// The topics that `globs` mean: by default those that the file names and has records
/// of.
fn topics(manifest: &Manifest, globs: &[String]) -> Result<TopicSet> {
    if !globs.is_empty() {
        return selection::topics(manifest, globs, true);
    }
    let is_meant =
        |topic: &Topic| topic.origin == TopicOrigin::Logged && topic.records != Some(0);
    Ok(manifest.topics().filter(|(_, t)| is_meant(t)).map(|(id, _)| id).collect())
}

fn max_age(typed: Option<TypedTime>) -> Result<Option<u64>> {
    match typed {
        None => Ok(None),
        Some(TypedTime::Nanos(nanos @ 0..)) => Ok(Some(nanos.unsigned_abs())),
        Some(_) => {
            let what = "--max-age is no date, and not negative";
            Err(Error::invalid(what).with_hint("it is like 0.5 or 2s"))
        }
    }
}

/// What a sink has to know of the table.
fn table(manifest: &Manifest, schema: &arrow_schema::SchemaRef) -> Topic {
    Topic {
        origin: TopicOrigin::Derived,
        encoding: manifest.format.clone(),
        ..Topic::new(NAME, schema.clone())
    }
}
