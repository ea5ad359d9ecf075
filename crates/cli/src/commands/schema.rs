//! `logtool schema`: what topics look like.

use std::io::{self, Write};

use logtool::{Result, input::open, losses::Findings, selection, units::plain};
use logtool_core::Topic;
use serde::Serialize;

use crate::{
    args::{GlobalArgs, SchemaArgs, TimeChoice},
    exit_status::Outcome,
    lidar_options, notices, terminal,
};

pub(super) fn run(args: &SchemaArgs, global: &GlobalArgs) -> Result<Outcome> {
    let lidar = lidar_options::options(&args.lidar, TimeChoice::Boot)?;
    let opened = open::open_with(&args.file, &global.session, &lidar)?;
    let manifest = opened.log.manifest();
    let mut findings = Findings::of(&opened.input, manifest);
    findings.check(global.strict)?;
    let wanted = selection::topics(manifest, &args.topics, true)?;
    let topics = manifest.topics().filter(|(id, _)| wanted.contains(*id));
    let mut out = terminal::stdout();
    for (index, (_, topic)) in topics.enumerate() {
        match args.json {
            true => {
                serde_json::to_writer(&mut out, &Schema::of(topic))?;
                writeln!(out)?;
            }
            false => {
                if index > 0 {
                    writeln!(out)?;
                }
                text(&mut out, &Schema::of(topic))?;
            }
        }
    }
    out.flush()?;
    Ok(notices::losses(findings, global.quiet))
}

/// What a topic looks like.
#[derive(Serialize)]
struct Schema<'t> {
    topic: String,
    type_name: &'t str,
    encoding: &'t str,
    #[serde(skip_serializing_if = "Option::is_none")]
    md5sum: Option<&'t str>,
    definition: &'t str,
    columns: Vec<Column<'t>>,
}

#[derive(Serialize)]
struct Column<'t> {
    name: &'t str,
    #[serde(rename = "type")]
    data_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'t str>,
}

impl<'t> Schema<'t> {
    fn of(topic: &'t Topic) -> Self {
        let fields = topic.schema.fields().iter();
        let columns = fields.map(|field| Column {
            name: field.name(),
            data_type: field.data_type().to_string(),
            unit: field.metadata().get("unit").map(String::as_str),
        });
        Self {
            topic: topic.label().into_owned(),
            type_name: &topic.type_name,
            encoding: &topic.encoding,
            md5sum: topic.metadata.get("md5sum").map(String::as_str),
            definition: &topic.definition,
            columns: columns.collect(),
        }
    }
}

/// The schema for people.
fn text(out: &mut impl Write, schema: &Schema<'_>) -> io::Result<()> {
    let Schema { topic, type_name, encoding, md5sum, definition, columns } = schema;
    let about = [*type_name, *encoding].into_iter().filter(|text| !text.is_empty());
    let about: Vec<&str> = about.collect();
    writeln!(out, "{}  {}", plain(topic), plain(&about.join(", ")))?;
    if let Some(md5sum) = md5sum {
        writeln!(out, "  md5sum {}", plain(md5sum))?;
    }
    if !definition.trim().is_empty() {
        writeln!(out, "  definition")?;
        for line in definition.lines() {
            writeln!(out, "    {}", plain(line.trim_end()))?;
        }
    }
    writeln!(out, "  columns")?;
    let width = columns.iter().map(|column| column.name.chars().count()).max();
    let width = width.unwrap_or(0).min(40);
    for Column { name, data_type, unit } in columns {
        let name = plain(name);
        let unit = unit.map(|unit| format!("  [{unit}]")).unwrap_or_default();
        writeln!(out, "    {name:width$}  {}{unit}", plain(data_type))?;
    }
    Ok(())
}
