//! GeoJSON (RFC 7946): one feature for each segment, each in a separate line of text.
//!
//! The properties of a feature are the topic, the log, the mode and its colour (`stroke`, a name
//! that viewers support), and its first and last time. If times are UTC, they include the time of
//! each position (`coordTimes`); otherwise the first and the last time are seconds. The collection
//! has an additional member, `provenance`.

use std::fmt::{Result, Write};

use logtool_core::Provenance;
use serde_json::Value;

use crate::tracks::{
    fix::Fix,
    segment::{TrackInfo, TrackSegment},
    text::UtcTime,
};

/// Writes the start of the file, before the segments.
pub(super) fn write_start(text: &mut String, track: &TrackInfo) -> Result {
    write!(text, r#"{{"type":"FeatureCollection","#)?;
    if let Some(provenance) = &track.provenance {
        write!(text, r#""{}":{provenance},"#, Provenance::NAME)?;
    }
    write!(text, r#""features":["#)
}

/// Writes a segment: a line, or a point if it has only one fix.
pub(super) fn write_segment(
    text: &mut String,
    track: &TrackInfo,
    segment: &TrackSegment<'_>,
    is_first: bool,
) -> Result {
    if segment.is_duplicate() {
        return Ok(());
    }
    text.push_str(if is_first { "\n" } else { ",\n" });
    write!(text, r#"{{"type":"Feature","geometry":{{"type":"#)?;
    match segment.fixes {
        [fix] => {
            write!(text, r#""Point","coordinates":"#)?;
            write_coordinates(text, fix)?;
        }
        fixes => {
            write!(text, r#""LineString","coordinates":["#)?;
            write_list(text, fixes, write_coordinates)?;
            text.push(']');
        }
    }
    let (topic, log) = (json_quoted(&track.topic), json_quoted(&track.log));
    write!(text, r#"}},"properties":{{"topic":{topic},"log":{log}"#)?;
    if let Some(mode) = segment.mode {
        let ([red, green, blue], name) = (mode.color, json_quoted(&mode.name));
        write!(text, r#","mode":{name},"stroke":"#)?;
        write!(text, r##""#{red:02x}{green:02x}{blue:02x}""##)?;
    }
    if let Some((first, last)) = segment.time_span() {
        if track.is_utc {
            let (first, last) = (UtcTime(first), UtcTime(last));
            write!(text, r#","startTime":"{first}","endTime":"{last}","#)?;
            write!(text, r#""coordTimes":["#)?;
            write_list(text, segment.fixes, write_time)?;
            text.push(']');
        } else {
            let (first, last) = (first as f64 / 1e9, last as f64 / 1e9);
            write!(text, r#","startSeconds":{first},"endSeconds":{last}"#)?;
        }
    }
    write!(text, "}}}}")
}

/// Writes the end of the file, after the segments.
pub(super) fn write_end(text: &mut String) -> Result {
    writeln!(text, "\n]}}")
}

/// Writes `fixes` with `write_fix`, with commas between them.
fn write_list(
    text: &mut String,
    fixes: &[Fix],
    write_fix: impl Fn(&mut String, &Fix) -> Result,
) -> Result {
    for (index, fix) in fixes.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        write_fix(text, fix)?;
    }
    Ok(())
}

fn write_coordinates(text: &mut String, fix: &Fix) -> Result {
    write!(text, "[{},{}", fix.longitude, fix.latitude)?;
    match fix.altitude {
        Some(altitude) => write!(text, ",{altitude}]"),
        None => write!(text, "]"),
    }
}

fn write_time(text: &mut String, fix: &Fix) -> Result {
    match fix.nanos {
        Some(nanos) => write!(text, "\"{}\"", UtcTime(nanos)),
        None => write!(text, "null"),
    }
}

fn json_quoted(text: &str) -> String {
    Value::from(text).to_string()
}
