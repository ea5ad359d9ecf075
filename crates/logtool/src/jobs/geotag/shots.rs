//! Reads the shots of the camera from a ULog: their times, positions and directions.
//!
//! The topics are those of PX4 (`CameraCapture.msg`, `CameraTrigger.msg`, `CameraFeedback.cpp`): a
//! capture has the position and the attitude at its time, a trigger only has a time.

use logtool_core::{Manifest, TopicSet};

use crate::{
    error::{Error, Result},
    records::{log::Log, number_table::NumberTable},
    source::losses::{Findings, Strictness},
    text::units::count_of,
    time::clock,
};

const CAPTURE: &str = "camera_capture";
const TRIGGER: &str = "camera_trigger";

/// Positions that are farther apart than this are not interpolated.
const MAX_GAP_NANOS: i64 = 3_000_000_000;

/// The earliest plausible UTC, 2000-01-01: some cameras count from 1970 or from their start.
const EARLIEST_UTC_MICROS: f64 = 946_684_800e6;

/// A position on WGS 84.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// The latitude in degrees, positive in the north.
    pub latitude: f64,
    /// The longitude in degrees, positive in the east.
    pub longitude: f64,
    /// The altitude in metres above mean sea level, if it is known.
    pub altitude: Option<f64>,
}

/// A shot of the camera in the log.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Shot {
    /// The time in nanoseconds on the clock of the log.
    pub time_ns: i64,
    /// The time in nanoseconds of Unix time, if it is known.
    pub utc_ns: Option<i64>,
    /// The number that the autopilot gave to the image.
    pub sequence: u32,
    /// The position of the vehicle, if it is known.
    pub position: Option<Position>,
    /// The topic of the position.
    pub position_topic: Option<&'static str>,
    /// The direction of the image in degrees from true north, from 0 to 360, if it is known.
    pub direction_deg: Option<f64>,
}

/// The shots of a log.
pub(super) struct Shots {
    /// The shots, in the order of time.
    pub(super) list: Vec<Shot>,
    /// The topic of the shots.
    pub(super) topic: &'static str,
    /// Whether the times for the comparison with photos are UTC.
    pub(super) is_utc: bool,
    /// Remarks for users, a sentence each.
    pub(super) remarks: Vec<String>,
}

impl Shots {
    /// Reads the shots of `log`, and adds the damage of their topics to `losses`.
    ///
    /// # Errors
    /// `NotFound` if there are no shots; others if reading fails, or if something is lost in a
    /// strict request.
    pub(super) fn read(
        log: &Log,
        losses: &mut Findings,
        strictness: Strictness,
    ) -> Result<Self> {
        let mut reader = ShotReader { log, losses, strictness };
        let fields = [
            "timestamp_utc",
            "seq",
            "lat",
            "lon",
            "alt",
            "q[0]",
            "q[1]",
            "q[2]",
            "q[3]",
            "result",
        ];
        let mut remarks = Vec::new();
        let capture = reader.table(CAPTURE, &fields)?;
        let capture = capture.filter(|table| !table.times.is_empty());
        let (table, topic) = match capture {
            Some(table) => (table, CAPTURE),
            None => {
                let fields = ["timestamp_utc", "seq", "feedback"];
                let trigger = reader.table(TRIGGER, &fields)?;
                let trigger = trigger.filter(|table| !table.times.is_empty());
                (trigger.ok_or_else(no_shots)?, TRIGGER)
            }
        };
        let tracks = Track::read_all(&mut reader)?;
        let to_unix = clock::unix_offset(&log.manifest().clock);
        let mut rows: Vec<usize> = (0..table.times.len()).collect();
        let before = rows.len();
        if topic == CAPTURE {
            rows.retain(|row| table.number("result", *row) != 0.0);
            let failed = before - rows.len();
            if failed > 0 {
                let failed = count_of(failed as u64, "capture");
                remarks.push(format!("{failed} that the camera reported as failed"));
            }
        } else if rows.iter().any(|row| table.number("feedback", *row) == 1.0) {
            // The hot shoe reports each exposure; triggers only ask for it.
            rows.retain(|row| table.number("feedback", *row) == 1.0);
            let triggers = count_of((before - rows.len()) as u64, "trigger");
            remarks
                .push(format!("{triggers} without the feedback of the camera ignored"));
        }
        let shot = |row: usize| {
            let time_ns = table.times.get(row).copied().unwrap_or_default();
            let own_utc = table.number("timestamp_utc", row);
            let utc_ns = if (EARLIEST_UTC_MICROS..9e15).contains(&own_utc) {
                Some((own_utc as i64).saturating_mul(1_000))
            } else {
                to_unix.map(|offset| time_ns.saturating_add(offset))
            };
            let number = |field: &str| table.number(field, row);
            let recorded = position(number("lat"), number("lon"), number("alt"));
            let recorded = recorded.map(|position| (position, topic));
            let position_and_topic = recorded.or_else(|| {
                let interpolated =
                    |track: &Track| Some((track.position_at(time_ns)?, track.topic));
                tracks.iter().find_map(interpolated)
            });
            let q = ["q[0]", "q[1]", "q[2]", "q[3]"].map(number);
            Shot {
                time_ns,
                utc_ns,
                sequence: table.number("seq", row) as u32,
                position: position_and_topic.map(|(position, _)| position),
                position_topic: position_and_topic.map(|(_, topic)| topic),
                direction_deg: heading(q),
            }
        };
        let mut list: Vec<Shot> = rows.into_iter().map(shot).collect();
        list.sort_by_key(|shot| shot.time_ns);
        if list.is_empty() {
            return Err(no_shots());
        }
        let is_utc = list.iter().all(|shot| shot.utc_ns.is_some());
        Ok(Self { list, topic, is_utc, remarks })
    }

    /// Returns the times that are compared with those of photos: UTC if all are known.
    pub(super) fn times(&self) -> Vec<i64> {
        let time = |shot: &Shot| match shot.utc_ns {
            Some(utc) if self.is_utc => utc,
            _ => shot.time_ns,
        };
        self.list.iter().map(time).collect()
    }
}

fn no_shots() -> Error {
    Error::not_found("the log has no shots of a camera").with_hint(format!(
        "they are in the topics {CAPTURE} and {TRIGGER}, which PX4 logs if a camera is configured"
    ))
}

/// Reads tables and collects their damage.
struct ShotReader<'l> {
    log: &'l Log,
    losses: &'l mut Findings,
    strictness: Strictness,
}

impl ShotReader<'_> {
    fn table(&mut self, topic: &str, fields: &[&str]) -> Result<Option<NumberTable>> {
        let table = NumberTable::read(self.log, topic, fields)?;
        if let Some(NumberTable { topics, damage, .. }) = &table {
            self.add(self.log.manifest(), topics, damage)?;
        }
        Ok(table)
    }

    fn add(
        &mut self,
        manifest: &Manifest,
        topics: &TopicSet,
        damage: &[logtool_core::Damage],
    ) -> Result<()> {
        self.losses.add(manifest, topics, damage);
        self.losses.check(self.strictness)
    }
}

/// Positions over time.
struct Track {
    topic: &'static str,
    /// The times in nanoseconds and the positions, sorted by time.
    fixes: Vec<(i64, Position)>,
}

impl Track {
    /// Reads the positions of the vehicle: the estimate, then those of the receiver.
    fn read_all(reader: &mut ShotReader<'_>) -> Result<Vec<Self>> {
        let mut tracks = Vec::new();
        for topic in ["vehicle_global_position", "vehicle_gps_position", "sensor_gps"] {
            // Releases from 1.15 on have degrees and metres, earlier receivers 1e-7 degrees and
            // millimetres.
            let fields = [
                "lat",
                "lon",
                "alt",
                "lat_lon_valid",
                "alt_valid",
                "latitude_deg",
                "longitude_deg",
                "altitude_msl_m",
                "fix_type",
            ];
            let Some(table) = reader.table(topic, &fields)? else { continue };
            let is_scaled = topic != "vehicle_global_position"
                && table.column("latitude_deg").is_none();
            let fix = |(row, time): (usize, &i64)| {
                let number = |new: &str, old: &str, scale: f64| {
                    let new = table.number(new, row);
                    let old = table.number(old, row);
                    if !new.is_nan() {
                        new
                    } else if is_scaled {
                        old / scale
                    } else {
                        old
                    }
                };
                // A topic without a flag, or without the kind of the fix, has only valid rows.
                let is_invalid = table.number("lat_lon_valid", row) == 0.0
                    || table.number("fix_type", row) < 2.0;
                let altitude = number("altitude_msl_m", "alt", 1e3);
                let is_high = table.number("alt_valid", row) != 0.0;
                let altitude = if is_high { altitude } else { f64::NAN };
                let position = position(
                    number("latitude_deg", "lat", 1e7),
                    number("longitude_deg", "lon", 1e7),
                    altitude,
                )?;
                (!is_invalid).then_some((*time, position))
            };
            let mut fixes: Vec<_> =
                table.times.iter().enumerate().filter_map(fix).collect();
            fixes.sort_by_key(|(time, _)| *time);
            tracks.push(Self { topic, fixes });
        }
        Ok(tracks)
    }

    /// Returns the position at `time`, interpolated between neighbours that are not too far apart.
    fn position_at(&self, time: i64) -> Option<Position> {
        let after = self.fixes.partition_point(|(fix, _)| *fix < time);
        let (next_time, next) = self.fixes.get(after)?;
        if *next_time == time {
            return Some(*next);
        }
        let (last_time, last) = self.fixes.get(after.checked_sub(1)?)?;
        let gap = next_time.checked_sub(*last_time)?;
        if gap > MAX_GAP_NANOS {
            return None;
        }
        let part = (time - last_time) as f64 / gap as f64;
        let between = |a: f64, b: f64| a + (b - a) * part;
        // The short way, also across the antimeridian.
        let turn = next.longitude - last.longitude;
        let turn = (turn + 180.0).rem_euclid(360.0) - 180.0;
        let longitude = last.longitude + turn * part;
        Some(Position {
            latitude: between(last.latitude, next.latitude),
            longitude: (longitude + 180.0).rem_euclid(360.0) - 180.0,
            altitude: last.altitude.zip(next.altitude).map(|(a, b)| between(a, b)),
        })
    }
}

/// Returns a position, unless the values are impossible. PX4 logs zeros before the first fix.
fn position(latitude: f64, longitude: f64, altitude: f64) -> Option<Position> {
    let is_possible = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
    let is_set = latitude != 0.0 || longitude != 0.0;
    // No image is farther from the sea level than this, and millimetres fit into 32 bits.
    let altitude = Some(altitude).filter(|altitude| altitude.abs() < 1e6);
    (is_possible && is_set).then_some(Position { latitude, longitude, altitude })
}

/// Returns the heading of a rotation from the body to north, east and down, in degrees from 0 to 360.
fn heading([w, x, y, z]: [f64; 4]) -> Option<f64> {
    let norm = w * w + x * x + y * y + z * z;
    if !norm.is_finite() || (norm - 1.0).abs() > 0.1 {
        return None; // not a rotation: PX4 logs zeros or NaN if there is none
    }
    let yaw = (2.0 * (w * z + x * y)).atan2(1.0 - 2.0 * (y * y + z * z));
    Some(yaw.to_degrees().rem_euclid(360.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(fixes: &[(i64, f64, f64)]) -> Track {
        let fixes = fixes.iter().map(|(seconds, latitude, longitude)| {
            let (latitude, longitude, altitude) = (*latitude, *longitude, Some(10.0));
            (seconds * 1_000_000_000, Position { latitude, longitude, altitude })
        });
        Track { topic: "vehicle_global_position", fixes: fixes.collect() }
    }

    #[test]
    fn positions_are_interpolated_across_the_antimeridian() {
        let track = track(&[(1, 10.0, 179.0), (3, 12.0, -179.0), (7, 13.0, -178.0)]);
        let at = |millis: i64| track.position_at(millis * 1_000_000);
        let middle = at(2_500).unwrap();
        assert_eq!((middle.latitude, middle.longitude), (11.5, -179.5));
        assert_eq!(at(1_000).unwrap().longitude, 179.0);
        assert_eq!((at(999), at(7_001)), (None, None), "nothing is extrapolated");
        assert_eq!(at(5_000), None, "a gap of four seconds");
    }

    #[test]
    fn impossible_positions_are_unknown() {
        assert_eq!(position(0.0, 0.0, 5.0), None);
        assert_eq!(position(91.0, 0.0, 5.0), None);
        assert_eq!(position(f64::NAN, 8.0, 5.0), None);
        assert_eq!(position(1.0, 8.0, f64::NAN).unwrap().altitude, None);
    }

    #[test]
    fn heading_is_known_for_rotations_only() {
        let half = 0.5_f64.sqrt();
        let west = heading([half, 0.0, 0.0, -half]).unwrap();
        assert!((west - 270.0).abs() < 1e-9, "{west}");
        assert_eq!(heading([0.0; 4]), None);
        assert_eq!(heading([f64::NAN, 0.0, 0.0, 0.0]), None);
    }
}
