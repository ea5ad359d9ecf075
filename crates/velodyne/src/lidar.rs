//! A lidar of a log: which one it is, how it is calibrated, and how points are to be made
//! of its packets; all of it found out, or told by the user.

mod codes;

mod check;
mod info;
mod later_fields;
mod motion;
mod own_clock;
mod packet_timing;
mod probe;
mod scans;
mod stock;
mod utc_check;

use std::{collections::BTreeMap, sync::Arc};

use logtool_core::{Columns, Reach, Result, Topic, TopicOrigin};
use serde::{Deserialize, Serialize};

use crate::{
    calibration::Calibration,
    model::{Model, ReturnMode, Sensor},
    packet::Firings,
    points::{
        self, Axes, Formula, PointDecoder, PointOptions, ScanIndex, Scans, TimeSource,
    },
};

use crate::lidar::utc_check::StatusTime;
pub(crate) use crate::lidar::{
    codes::CLOCK_UNSET, info::VALIDITY_WARNING, utc_check::scale,
};
pub use crate::lidar::{
    codes::CODES,
    info::{CalibrationOrigin, LidarInfo, ParseOriginError},
    own_clock::ClockChoice,
    packet_timing::{Packets, itself},
    probe::Probe,
    scans::ScanCache,
};

/// Nanoseconds in an hour.
const HOUR: i64 = 3_600_000_000_000;

/// No packet takes longer, in nanoseconds: the longest is that of a VLP-16, 1.33 ms.
const LONGEST_PACKET: u64 = 2_000_000;

/// What the user knows better, and how points are to be made.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LidarOptions {
    /// The model, instead of what the packets tell.
    pub model: Option<Model>,
    /// The returns that are sent, instead of what the packets tell.
    pub returns: Option<ReturnMode>,
    /// The calibration, instead of that in the packets.
    pub calibration: Option<Arc<Calibration>>,
    /// How points are to be made of packets.
    pub points: PointOptions,
    /// Whether scans begin at the cut of `points` also where the lidar blanks another sector.
    pub keeps_cut: bool,
    /// Whether points are to have the times of the lidar's own clock, where that tells
    /// UTC and the log's clock can be brought to it.
    pub utc: bool,
    /// Which clock is believed then, if both do not agree.
    pub clock: ClockChoice,
}

/// A lidar of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lidar {
    /// Which one, and what it sends.
    pub sensor: Sensor,
    /// How it is calibrated, and where that is from.
    pub calibration: Calibration,
    /// What is missing of the calibration that it sends itself, if something is.
    pub complaint: Option<String>,
    /// How points are made.
    pub points: PointOptions,
    /// What the clock in the packets is worth, as far as they say it themselves.
    pub clock: Option<String>,
    /// Whether that is UTC: a receiver sets it.
    #[serde(default)]
    pub tells_utc: bool,
    /// Where an hour of it begins on the clock of the log, in nanoseconds, as packets say.
    #[serde(default)]
    pub hour_nanos: Option<i64>,
    /// What has to be said aloud of the clock of which points have their times.
    #[serde(default)]
    pub clock_remark: Option<String>,
    /// What speaks for the model, a sentence each.
    pub reasons: Vec<String>,
    /// What the packets say instead, and why, where the user says otherwise.
    #[serde(default)]
    pub overruled: Option<String>,
    /// What speaks against it, and was overruled, a sentence each.
    pub conflicts: Vec<String>,
    /// Warns that packets come more often than the model sends them.
    #[serde(default)]
    pub rate_warning: Option<String>,
    /// Warns that the motor does not turn.
    #[serde(default)]
    pub motor_warning: Option<String>,
    /// Warns that the time that the lidar states contradicts the clock of the log or itself.
    #[serde(default)]
    pub time_warnings: Vec<String>,
    /// The time in the status bytes of an HDL-64E, until it is compared.
    #[serde(skip)]
    status_time: Option<StatusTime>,
    /// Which returns its first packets hold, if they do not all hold the same.
    #[serde(default)]
    pub change: Option<String>,
}

impl LidarOptions {
    /// What points are made of if the user says nothing.
    pub(crate) const fn new() -> Self {
        let points = PointOptions {
            formula: Formula::Manual,
            axes: Axes::Ros,
            cut: 0,
            time: TimeSource::Record,
            fixed_returns: false,
            blanked: None,
        };
        Self {
            model: None,
            returns: None,
            calibration: None,
            points,
            keeps_cut: false,
            utc: false,
            clock: ClockChoice::Auto,
        }
    }
}

impl Lidar {
    /// A decoder of its packets, of which scans begin where `scans` says.
    ///
    /// # Errors
    /// `NoSuch` if `columns` has some that points do not have, `Unsupported` if the
    /// calibration is of fewer or of more lasers than the sensor has.
    pub fn decoder(
        &self,
        columns: &Columns,
        scans: Arc<ScanIndex>,
    ) -> Result<PointDecoder> {
        let decoder =
            PointDecoder::new(self.sensor, &self.calibration, self.points, columns)?;
        Ok(decoder.with_scans(Scans::Indexed(scans)))
    }

    /// How long `packet` of it lasts, in nanoseconds: as the returns take that it holds.
    pub fn packet_nanos(&self, packet: &[u8]) -> f64 {
        let sensor = |of: Firings<'_>| self.points.sensor(self.sensor, &of.outline());
        Firings::new(packet).map_or(self.sensor, sensor).packet_nanos()
    }

    /// How far its points may be from the time of the record of their packet: nearly a
    /// packet's time; half an hour where the lidar's own clock tells them, for that may
    /// contradict the log's.
    pub fn reach(&self) -> Reach {
        let blanked = self
            .points
            .blanked
            .map_or(0, |sector| sector.longest_delay(self.sensor.packet_nanos()));
        let packet = LONGEST_PACKET.saturating_add(blanked);
        let nanos = match self.points.time {
            TimeSource::Record => packet,
            TimeSource::Sensor { .. } => packet + HOUR.unsigned_abs() / 2,
        };
        Reach { before: nanos, after: nanos }
    }

    /// What makes its points what they are, for whatever is written of them.
    pub fn provenance(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::from([
            (info::LIDAR.to_owned(), self.sensor.to_string()),
            (info::REASONS.to_owned(), self.reasons.join("; ")),
            (
                info::CALIBRATION.to_owned(),
                CalibrationOrigin::from(&self.calibration).to_string(),
            ),
            (info::FORMULA.to_owned(), self.points.formula.to_string()),
            ("axes".to_owned(), format!("{:?}", self.points.axes).to_lowercase()),
            (
                info::SCAN_START.to_owned(),
                format!("{}{}", f64::from(self.points.cut) / 100.0, info::DEGREES),
            ),
        ]);
        let odd = self.calibration.remarks.iter().chain(&self.complaint);
        let odd: Vec<&str> = odd.map(String::as_str).collect();
        if !odd.is_empty() {
            all.insert(info::CALIBRATION_WARNING.to_owned(), odd.join("; "));
        }
        let times = match self.points.time {
            TimeSource::Record => "those of the records",
            TimeSource::Sensor { .. } => "those of the lidar's own clock",
        };
        all.insert("times".to_owned(), times.to_owned());
        if let Some(sector) = self.points.blanked {
            let (from, to) = sector.edges_deg();
            let when = if sector.is_later {
                ", but not from the start of the log"
            } else {
                ""
            };
            let told = format!(
                "{to} to {from} deg: the lidar does not measure from {from} to {to} deg{when}"
            );
            all.insert(info::FIELD_OF_VIEW.to_owned(), told);
        }
        if let Some(change) = &self.change {
            all.insert("returns".to_owned(), change.clone());
        }
        if self.calibration.sends_corrected_intensity {
            let by_lidar = "corrected by the lidar itself (power level A8)";
            let told = match self.points.formula.corrects_corrected() {
                true => format!("{by_lidar}, and once more, as this formula does"),
                false => format!("{by_lidar}: not corrected again"),
            };
            all.insert("intensity".to_owned(), told);
        }
        if let Err(misfit) = self.calibration.suits(self.sensor.model) {
            all.insert(info::CALIBRATION_MISFIT.to_owned(), misfit.to_string());
        }
        if let Some(remark) = &self.clock_remark {
            all.insert(info::CLOCK_WARNING.to_owned(), remark.clone());
        }
        let packets = self.rate_warning.iter().chain(&self.motor_warning);
        let packets = packets.chain(&self.time_warnings);
        let packets: Vec<&str> = packets.map(String::as_str).collect();
        if !packets.is_empty() {
            all.insert(info::PACKET_WARNING.to_owned(), packets.join("; "));
        }
        if let Some(overruled) = &self.overruled {
            all.insert(info::MODEL_WARNING.to_owned(), overruled.clone());
        }
        if !self.conflicts.is_empty() {
            all.insert(info::MODEL_CONFLICT.to_owned(), self.conflicts.join("; "));
        }
        if let Some(clock) = &self.clock {
            all.insert(info::CLOCK.to_owned(), clock.clone());
        }
        all
    }

    /// What has to be said aloud, a sentence each.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        let conflict = |conflict: &String| {
            format!("taken for a {}, although: {conflict}", self.sensor.model)
        };
        let overruled = self.overruled.iter().cloned();
        let conflicts = overruled.chain(self.conflicts.iter().map(conflict));
        let complaint = self.complaint.iter().cloned();
        let clock = self.clock_remark.iter().chain(&self.change).cloned();
        let calibration = self.calibration.remarks.iter().cloned();
        let packets = self.rate_warning.iter().chain(&self.motor_warning);
        let packets = packets.chain(&self.time_warnings).cloned();
        conflicts.chain(packets).chain(calibration).chain(complaint).chain(clock)
    }

    /// The topic of its points, made of the records of `packets`.
    pub fn topic(&self, packets: &Topic) -> Topic {
        let mut metadata = packets.metadata.clone();
        metadata.extend(self.provenance());
        Topic {
            name: "points".into(),
            instance: packets.instance,
            origin: TopicOrigin::Derived,
            encoding: packets.encoding.clone(),
            type_name: "points".into(),
            definition: String::new(),
            schema: points::schema(),
            records: packets.records,
            bytes: packets.bytes,
            time: packets.time,
            odd_times: packets.odd_times,
            before_start: packets.before_start,
            latched: Vec::new(),
            envelope: 0,
            descriptor: Vec::new(),
            metadata,
        }
    }
}
