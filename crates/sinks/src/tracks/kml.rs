//! KML 2.2 (OGC 07-147r2): a placemark for each segment.

use std::fmt::{Result, Write};

use logtool_core::Provenance;

use crate::{
    provenance::CREATED_BY,
    tracks::{
        fix::Fix,
        segment::{TrackInfo, TrackSegment},
        text::{UtcTime, XmlText},
    },
};

/// The colour of a track without modes.
const DEFAULT_COLOR: [u8; 3] = [0xff, 0, 0];

/// The width of lines in pixels, like that of ulog2kml.
const LINE_WIDTH: u32 = 3;

/// Writes the start of the file, before the segments.
pub(super) fn write_start(text: &mut String, track: &TrackInfo) -> Result {
    writeln!(text, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(text, r#"<kml xmlns="http://www.opengis.net/kml/2.2">"#)?;
    writeln!(text, "<Document>")?;
    writeln!(text, "<name>{}</name>", XmlText(&track.topic))?;
    let log = XmlText(&track.log);
    writeln!(text, "<description>{log}, by {CREATED_BY}</description>")?;
    let Some(provenance) = &track.provenance else { return Ok(()) };
    let (name, provenance) = (Provenance::NAME, XmlText(provenance));
    let data = format!(r#"<Data name="{name}"><value>{provenance}</value></Data>"#);
    writeln!(text, "<ExtendedData>{data}</ExtendedData>")
}

/// Writes a segment: a line, or a point if it has only one fix. Altitudes are absolute if all fixes
/// of the segment have one; otherwise the segment is on the ground.
pub(super) fn write_segment(
    text: &mut String,
    track: &TrackInfo,
    segment: &TrackSegment<'_>,
) -> Result {
    if segment.is_duplicate() {
        return Ok(());
    }
    writeln!(text, "<Placemark>")?;
    match segment.mode {
        Some(mode) => {
            let (topic, mode) = (XmlText(&track.topic), XmlText(&mode.name));
            writeln!(text, "<name>{topic}: {mode}</name>")?;
        }
        None => writeln!(text, "<name>{}</name>", XmlText(&track.topic))?,
    }
    if let Some((first, last)) = segment.time_span().filter(|_| track.is_utc) {
        let (first, last) = (UtcTime(first), UtcTime(last));
        writeln!(text, "<TimeSpan><begin>{first}</begin><end>{last}</end></TimeSpan>")?;
    }
    let [red, green, blue] = segment.mode.map_or(DEFAULT_COLOR, |mode| mode.color);
    let color = format!("ff{blue:02x}{green:02x}{red:02x}");
    match segment.fixes {
        [fix] => {
            let style = format!("<IconStyle><color>{color}</color></IconStyle>");
            writeln!(text, "<Style>{style}</Style>\n<Point>")?;
            write_altitude_mode(text, segment.fixes)?;
            write!(text, "<coordinates>")?;
            write_coordinates(text, fix)?;
            writeln!(text, "</coordinates>\n</Point>")?;
        }
        fixes => {
            let style = format!("<color>{color}</color><width>{LINE_WIDTH}</width>");
            writeln!(text, "<Style><LineStyle>{style}</LineStyle></Style>")?;
            writeln!(text, "<LineString>")?;
            write_altitude_mode(text, fixes)?;
            writeln!(text, "<coordinates>")?;
            for fix in fixes {
                write_coordinates(text, fix)?;
                text.push('\n');
            }
            writeln!(text, "</coordinates>\n</LineString>")?;
        }
    }
    writeln!(text, "</Placemark>")
}

/// Writes the end of the file, after the segments.
pub(super) fn write_end(text: &mut String) -> Result {
    writeln!(text, "</Document>\n</kml>")
}

fn write_altitude_mode(text: &mut String, fixes: &[Fix]) -> Result {
    let is_absolute = fixes.iter().all(|fix| fix.altitude.is_some());
    if !is_absolute && fixes.len() > 1 {
        // The line follows the ground between the fixes.
        writeln!(text, "<tessellate>1</tessellate>")?;
    }
    let mode = if is_absolute { "absolute" } else { "clampToGround" };
    writeln!(text, "<altitudeMode>{mode}</altitudeMode>")
}

fn write_coordinates(text: &mut String, fix: &Fix) -> Result {
    write!(text, "{},{}", fix.longitude, fix.latitude)?;
    match fix.altitude {
        Some(altitude) => write!(text, ",{altitude}"),
        None => Ok(()),
    }
}
