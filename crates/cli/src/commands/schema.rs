//! `logtool schema`: prints the definitions and the columns of topics.

use std::io::{self, Write};

use logtool::{
    Result,
    formats::LogFormat,
    input::open,
    schema::{ColumnSchema, TopicSchema},
    selection,
    units::escape_unprintable,
};

use crate::{
    args::{GlobalArgs, SchemaArgs, TimeChoice},
    exit_status::Outcome,
    lidar_options, notices,
    terminal::{self, wrap},
};

pub(super) fn run(args: &SchemaArgs, global: &GlobalArgs) -> Result<Outcome> {
    let lidar = lidar_options::options(&args.lidar, TimeChoice::Boot)?;
    let opened = open::open_with(&args.file, &global.session, &lidar)?;
    let manifest = opened.log.manifest();
    let mut findings = opened.input.findings(manifest);
    findings.check(global.strictness())?;
    let selected = selection::topics_with_derived(manifest, &args.topics)?;
    let topics = manifest.topics().filter(|(id, _)| selected.contains(*id));
    let is_ulog = LogFormat::from_manifest(manifest) == Some(LogFormat::Ulog);
    let mut out = terminal::stdout();
    for (index, (_, topic)) in topics.enumerate() {
        let schema = TopicSchema::new(topic);
        if args.json {
            serde_json::to_writer(&mut out, &schema)?;
            writeln!(out)?;
        } else {
            if index > 0 {
                writeln!(out)?;
            }
            let mut text = Vec::new();
            print_text(&mut text, &schema, is_ulog)?;
            let text = wrap::for_stdout(&String::from_utf8_lossy(&text));
            out.write_all(text.as_bytes())?;
        }
    }
    out.flush()?;
    Ok(notices::losses(findings, global.quiet))
}

/// Prints a schema for people. `is_ulog` states whether it is of a ULog.
fn print_text(
    out: &mut impl Write,
    schema: &TopicSchema,
    is_ulog: bool,
) -> io::Result<()> {
    let about = [&schema.type_name, &schema.encoding].into_iter();
    let about: Vec<&str> =
        about.map(String::as_str).filter(|text| !text.is_empty()).collect();
    writeln!(
        out,
        "{}  {}",
        escape_unprintable(&schema.topic),
        escape_unprintable(&about.join(", "))
    )?;
    if let Some(md5sum) = &schema.md5sum {
        writeln!(out, "  md5sum {}", escape_unprintable(md5sum))?;
    }
    if !schema.definition.trim().is_empty() {
        writeln!(out, "  definition")?;
        for line in schema.definition.lines() {
            // A ULog has all fields of a type on one line.
            for part in line.trim_end().split_inclusive(|c| is_ulog && c == ';') {
                writeln!(out, "    {}", escape_unprintable(part))?;
            }
        }
    }
    writeln!(out, "  columns")?;
    let widths = schema.columns.iter().map(|column| column.name.chars().count());
    let width = widths.max().unwrap_or(0).min(40);
    for ColumnSchema { name, data_type, unit, .. } in &schema.columns {
        let (name, data_type) =
            (escape_unprintable(name), escape_unprintable(data_type));
        let unit = unit.as_ref().map(|unit| format!("  [{unit}]")).unwrap_or_default();
        writeln!(out, "    {name:width$}  {data_type}{unit}")?;
    }
    Ok(())
}
