//! GPX 1.1: one track, with a GPX segment for each part without interruption.

use std::fmt::{Result, Write};

use crate::{
    provenance::CREATED_BY,
    tracks::{
        fix::Fix,
        segment::{TrackInfo, TrackSegment},
        text::{UtcTime, XmlText},
    },
};

/// Writes the start of the file, before the segments.
pub(super) fn write_start(text: &mut String, track: &TrackInfo) -> Result {
    writeln!(text, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    let namespace = r#"xmlns="http://www.topografix.com/GPX/1/1""#;
    writeln!(text, r#"<gpx version="1.1" creator="{CREATED_BY}" {namespace}>"#)?;
    if let Some(provenance) = &track.provenance {
        let provenance = XmlText(provenance);
        writeln!(text, "<metadata><desc>{provenance}</desc></metadata>")?;
    }
    let (topic, log) = (XmlText(&track.topic), XmlText(&track.log));
    writeln!(text, "<trk>\n<name>{topic}</name>\n<src>{log}</src>")
}

/// Writes a segment. The first fix of a mode has the name of the mode.
pub(super) fn write_segment(
    text: &mut String,
    track: &TrackInfo,
    segment: &TrackSegment<'_>,
) -> Result {
    if !segment.is_joined {
        writeln!(text, "<trkseg>")?;
    }
    let mut mode = segment.mode.filter(|_| segment.is_new_mode);
    // The last fix of a continued segment is written as the first fix of the next segment.
    let count = segment.fixes.len() - usize::from(segment.is_continued);
    for fix in segment.fixes.iter().take(count) {
        write_point(text, track, fix, mode.take().map(|mode| mode.name.as_str()))?;
    }
    if segment.is_continued { Ok(()) } else { writeln!(text, "</trkseg>") }
}

/// Writes the end of the file, after the segments.
pub(super) fn write_end(text: &mut String) -> Result {
    writeln!(text, "</trk>\n</gpx>")
}

fn write_point(
    text: &mut String,
    track: &TrackInfo,
    fix: &Fix,
    name: Option<&str>,
) -> Result {
    // The schema requires longitudes below 180.
    let longitude = if fix.longitude == 180.0 { -180.0 } else { fix.longitude };
    write!(text, r#"<trkpt lat="{}" lon="{longitude}">"#, fix.latitude)?;
    if let Some(altitude) = fix.altitude {
        write!(text, "<ele>{altitude}</ele>")?;
    }
    if let Some(nanos) = fix.nanos.filter(|_| track.is_utc) {
        write!(text, "<time>{}</time>", UtcTime(nanos))?;
    }
    if let Some(name) = name {
        write!(text, "<name>{}</name>", XmlText(name))?;
    }
    writeln!(text, "</trkpt>")
}
