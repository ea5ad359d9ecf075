//! The lists of the photos and their shots: a CSV table, and KML placemarks.

use std::fmt::{self, Write as _};

use logtool_sinks::XmlText;

use crate::{
    jobs::geotag::{
        PhotoMatch,
        shots::{Position, Shot},
    },
    time::clock::{Iso, Seconds},
};

/// Returns the table of `matches`, and of the shots without a photo.
///
/// Columns: `photo`, `status` (`tagged`, or why not), `sequence`, `log_time_s` and `time_utc` of the
/// shot, `latitude_deg`, `longitude_deg`, `altitude_m` above mean sea level, `direction_deg`,
/// `position_topic`, `photo_time` (of the camera's clock), `difference_s` (how much later the shot is
/// than the photo, with the offset of the clocks). Unknown values are empty.
pub(super) fn csv(
    matches: &[PhotoMatch],
    unused: &[Shot],
    offset: Option<i64>,
) -> Result<String, fmt::Error> {
    let mut text =
        "photo,status,sequence,log_time_s,time_utc,latitude_deg,longitude_deg,\
                    altitude_m,direction_deg,position_topic,photo_time,difference_s\n"
            .to_owned();
    for PhotoMatch { photo, shot, taken_ns, is_utc, failure } in matches {
        let status = failure.as_deref().unwrap_or("tagged");
        write!(text, "{},{}", Cell(photo), Cell(status))?;
        write_shot(&mut text, shot.as_ref())?;
        write!(text, ",{}", optional(taken_ns.map(Iso)))?;
        let difference = shot.as_ref().zip(*taken_ns).zip(offset);
        let difference = difference.and_then(|((shot, taken), offset)| {
            let time = if *is_utc { shot.utc_ns? } else { shot.time_ns };
            time.checked_sub(taken)?.checked_sub(offset)
        });
        writeln!(text, ",{}", optional(difference.map(Seconds)))?;
    }
    for shot in unused {
        write!(text, ",no photo")?;
        write_shot(&mut text, Some(shot))?;
        writeln!(text, ",,")?;
    }
    Ok(text)
}

/// Writes eight cells about a shot, each after a comma.
fn write_shot(text: &mut String, shot: Option<&Shot>) -> fmt::Result {
    let Some(shot) = shot else {
        return text.write_str(",,,,,,,,");
    };
    let position = shot.position.map(rounded_position);
    write!(text, ",{},{}", shot.sequence, Seconds(shot.time_ns))?;
    write!(text, ",{}", optional(shot.utc_ns.map(Iso)))?;
    write!(text, ",{}", optional(position.map(|position| position.latitude)))?;
    write!(text, ",{}", optional(position.map(|position| position.longitude)))?;
    write!(text, ",{}", optional(position.and_then(|position| position.altitude)))?;
    write!(text, ",{}", optional(shot.direction_deg.map(rounded_direction)))?;
    write!(text, ",{}", shot.position_topic.unwrap_or_default())
}

/// Returns the placemarks of the tagged photos, each with a link to its copy.
pub(super) fn kml(log: &str, matches: &[PhotoMatch]) -> Result<String, fmt::Error> {
    let mut text = String::new();
    writeln!(text, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(text, r#"<kml xmlns="http://www.opengis.net/kml/2.2">"#)?;
    writeln!(text, "<Document>\n<name>Photos of {}</name>", XmlText(log))?;
    for PhotoMatch { photo, shot, failure, .. } in matches {
        let Some(shot) = shot.as_ref().filter(|_| failure.is_none()) else { continue };
        let Some(position) = shot.position.map(rounded_position) else { continue };
        writeln!(text, "<Placemark>\n<name>{}</name>", XmlText(photo))?;
        // The text of a description is HTML, so the name is escaped twice.
        let name = XmlText(&XmlText(photo).to_string()).to_string();
        writeln!(
            text,
            "<description>&lt;img src=\"{name}\" width=\"480\"/&gt;</description>"
        )?;
        if let Some(utc) = shot.utc_ns {
            writeln!(text, "<TimeStamp><when>{}</when></TimeStamp>", Iso(utc))?;
        }
        if let Some(direction) = shot.direction_deg.map(rounded_direction) {
            let heading = format!("<heading>{direction}</heading>");
            writeln!(text, "<Style><IconStyle>{heading}</IconStyle></Style>")?;
        }
        let mode =
            if position.altitude.is_some() { "absolute" } else { "clampToGround" };
        write!(text, "<Point><altitudeMode>{mode}</altitudeMode><coordinates>")?;
        write!(text, "{},{}", position.longitude, position.latitude)?;
        if let Some(altitude) = position.altitude {
            write!(text, ",{altitude}")?;
        }
        writeln!(text, "</coordinates></Point>\n</Placemark>")?;
    }
    writeln!(text, "</Document>\n</kml>")?;
    Ok(text)
}

/// Returns `position` with angles in steps of about a micrometre on the ground, and the altitude in
/// millimetres: further digits are noise of calculations.
fn rounded_position(position: Position) -> Position {
    Position {
        latitude: round_to_step(position.latitude, 1e11),
        longitude: round_to_step(position.longitude, 1e11),
        altitude: position.altitude.map(|altitude| round_to_step(altitude, 1e3)),
    }
}

/// Returns a direction in thousandths of a degree.
fn rounded_direction(degrees: f64) -> f64 {
    round_to_step(degrees, 1e3)
}

fn round_to_step(value: f64, steps_per_unit: f64) -> f64 {
    (value * steps_per_unit).round() / steps_per_unit
}

fn optional(value: Option<impl fmt::Display>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// A cell of a CSV table (RFC 4180).
struct Cell<'t>(&'t str);

impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains([',', '"', '\n', '\r']) {
            write!(f, "\"{}\"", self.0.replace('"', "\"\""))
        } else {
            f.write_str(self.0)
        }
    }
}
