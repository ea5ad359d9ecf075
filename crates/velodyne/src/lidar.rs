//! A lidar of a log: its model, its calibration, and the options for decoding its points.
//! All of these are detected or set by the user.

mod codes;

mod check;
mod clock_state;
mod info;
mod late_blanking;
mod lidar_clock;
mod packet_headers;
mod probe;
mod program_defaults;
mod rate_and_motor;
mod scan_cache;
mod utc_check;

use std::{collections::BTreeMap, sync::Arc};

use logtool_core::{Columns, Result, TimeMargin, Topic, TopicContent, TopicOrigin};
use serde::{Deserialize, Serialize};

use crate::{
    POINTS_TOPIC,
    calibration::Calibration,
    hour::HOUR,
    lidar::utc_check::StatusTime,
    model::{Model, ReturnMode, Sensor},
    packet::Firings,
    points::{
        self, Axes, Formula, PointDecoder, PointOptions, ScanIndex, ScanNumbers,
        TimeSource,
    },
};

pub use crate::lidar::clock_state::ClockState;
pub use crate::lidar::clock_state::ParseClockStateError;
pub use crate::lidar::codes::CODES;
pub(crate) use crate::lidar::codes::{CLOCK_UNSET, with_lidar_codes};
pub use crate::lidar::info::CalibrationOrigin;
pub use crate::lidar::info::LidarInfo;
pub use crate::lidar::info::ParseOriginError;
pub(crate) use crate::lidar::info::VALIDITY_WARNING;
pub use crate::lidar::lidar_clock::ClockChoice;
pub use crate::lidar::packet_headers::PacketExtractor;
pub use crate::lidar::packet_headers::record_as_packet;
pub use crate::lidar::probe::Probe;
pub use crate::lidar::scan_cache::ScanCache;
pub(crate) use crate::lidar::utc_check::time_scale;

/// An upper bound of the duration of a packet, in nanoseconds. The longest packet is that
/// of a VLP-16, 1.33 ms.
const MAX_PACKET_NANOS: u64 = 2_000_000;

/// Settings that replace detected values, and options for points.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LidarOptions {
    /// The model. The default is the model that the packets indicate.
    pub model: Option<Model>,
    /// The return mode. The default is the mode that the packets state.
    pub returns: Option<ReturnMode>,
    /// The calibration. The default is the calibration in the packets.
    pub calibration: Option<Arc<Calibration>>,
    /// Options for decoding points.
    pub points: PointOptions,
    /// Whether scans start at the scan start of `points` even if the lidar blanks another
    /// sector.
    pub keep_scan_start: bool,
    /// Whether points have the times of the lidar's own clock. This requires that the clock
    /// of the lidar is UTC, and that the offset of the log's clock from UTC is known.
    pub utc: bool,
    /// The clock to use if the clock of the log and that of the lidar disagree.
    pub clock: ClockChoice,
}

/// A lidar of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lidar {
    /// The model and its return mode.
    pub sensor: Sensor,
    /// The calibration and its origin.
    pub calibration: Calibration,
    /// A warning if the calibration that the lidar sends is incomplete.
    pub calibration_warning: Option<String>,
    /// Options for decoding points.
    pub points: PointOptions,
    /// The state of the clock in the packets, if they state it.
    pub clock: Option<ClockState>,
    /// Whether the clock of the lidar is UTC, because a receiver sets it.
    #[serde(default)]
    pub is_utc: bool,
    /// The start of an hour of the lidar's clock, according to the packets, in nanoseconds
    /// on the clock of the log.
    #[serde(default)]
    pub hour_nanos: Option<i64>,
    /// A warning about the clock that the times of the points come from.
    #[serde(default)]
    pub clock_warning: Option<String>,
    /// The reasons for the model, one sentence each.
    pub reasons: Vec<String>,
    /// A warning if the packets indicate a different model from the one that the user set.
    /// It contains the reasons for the indicated model.
    #[serde(default)]
    pub model_warning: Option<String>,
    /// Observations that contradict the model, one sentence each.
    pub conflicts: Vec<String>,
    /// A warning that packets come more often than the model sends them.
    #[serde(default)]
    pub rate_warning: Option<String>,
    /// A warning that the motor does not turn.
    #[serde(default)]
    pub motor_warning: Option<String>,
    /// Warnings about times in the packets that contradict the clock of the log or each
    /// other.
    #[serde(default)]
    pub time_warnings: Vec<String>,
    /// The time in the status bytes of an HDL-64E. It is `None` after it was compared
    /// with the clock of the log.
    #[serde(skip)]
    status_time: Option<StatusTime>,
    /// A description of the return modes of the first packets, if they differ.
    #[serde(default)]
    pub returns_change: Option<String>,
}

impl LidarOptions {
    /// Returns the defaults.
    pub(crate) const fn new() -> Self {
        let points = PointOptions {
            formula: Formula::Manual,
            axes: Axes::Ros,
            scan_start: 0,
            time: TimeSource::Record,
            fixed_returns: false,
            blanked: None,
        };
        Self {
            model: None,
            returns: None,
            calibration: None,
            points,
            keep_scan_start: false,
            utc: false,
            clock: ClockChoice::Auto,
        }
    }
}

impl Lidar {
    /// Returns a decoder of the packets of this lidar. Scans start where `scans` states.
    ///
    /// # Errors
    /// `NoSuch` if `columns` has columns that points do not have. `Unsupported` if the
    /// calibration and the sensor have different numbers of lasers.
    pub fn decoder(
        &self,
        columns: &Columns,
        scans: Arc<ScanIndex>,
    ) -> Result<PointDecoder> {
        let decoder =
            PointDecoder::new(self.sensor, &self.calibration, self.points, columns)?;
        Ok(decoder.with_scans(ScanNumbers::Indexed(scans)))
    }

    /// Returns the duration of `packet` in nanoseconds, which depends on the return mode
    /// of the packet.
    pub fn packet_nanos(&self, packet: &[u8]) -> f64 {
        let sensor = |firings: Firings<'_>| {
            self.points.sensor_for(self.sensor, &firings.headers())
        };
        Firings::new(packet).map_or(self.sensor, sensor).packet_nanos()
    }

    /// Returns the maximum distance between the time of a point and the time of the
    /// record of its packet. This is nearly the duration of a packet. It is half an hour
    /// longer if points have the times of the lidar's own clock, because that clock may
    /// contradict the clock of the log.
    pub fn time_margin(&self) -> TimeMargin {
        let delay_at_sector = self
            .points
            .blanked
            .map_or(0, |sector| sector.longest_delay(self.sensor.packet_nanos()));
        let packet_nanos = MAX_PACKET_NANOS.saturating_add(delay_at_sector);
        let nanos = match self.points.time {
            TimeSource::Record => packet_nanos,
            TimeSource::Sensor { .. } => {
                packet_nanos.saturating_add(HOUR.unsigned_abs() / 2)
            }
        };
        TimeMargin { before: nanos, after: nanos }
    }

    /// Returns a description of how the points are computed, as metadata for outputs.
    pub fn provenance(&self) -> BTreeMap<String, String> {
        let mut metadata = BTreeMap::from([
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
                format!(
                    "{}{}",
                    f64::from(self.points.scan_start) / 100.0,
                    info::DEGREES
                ),
            ),
        ]);
        let warnings =
            self.calibration.warnings.iter().chain(&self.calibration_warning);
        let warnings: Vec<&str> = warnings.map(String::as_str).collect();
        if !warnings.is_empty() {
            metadata.insert(info::CALIBRATION_WARNING.to_owned(), warnings.join("; "));
        }
        let time_source = match self.points.time {
            TimeSource::Record => "those of the records",
            TimeSource::Sensor { .. } => "those of the lidar's own clock",
        };
        metadata.insert("times".to_owned(), time_source.to_owned());
        if let Some(sector) = self.points.blanked {
            let (start, end) = sector.edges_deg();
            let suffix = if sector.starts_later {
                ", but not from the start of the log"
            } else {
                ""
            };
            let description = format!(
                "{end} to {start} deg: the lidar does not measure from {start} to {end} deg{suffix}"
            );
            metadata.insert(info::FIELD_OF_VIEW.to_owned(), description);
        }
        if let Some(change) = &self.returns_change {
            metadata.insert("returns".to_owned(), change.clone());
        }
        if self.calibration.sends_corrected_intensity {
            let by_lidar = "corrected by the lidar itself (power level A8)";
            let description = if self.points.formula.corrects_twice() {
                format!("{by_lidar}, and once more, as this formula does")
            } else {
                format!("{by_lidar}: not corrected again")
            };
            metadata.insert("intensity".to_owned(), description);
        }
        if let Err(mismatch) = self.calibration.check_model(self.sensor.model) {
            metadata
                .insert(info::CALIBRATION_MISMATCH.to_owned(), mismatch.to_string());
        }
        if let Some(clock_warning) = &self.clock_warning {
            metadata.insert(info::CLOCK_WARNING.to_owned(), clock_warning.clone());
        }
        let warnings: Vec<&str> = self.packet_warnings().map(String::as_str).collect();
        if !warnings.is_empty() {
            metadata.insert(info::PACKET_WARNING.to_owned(), warnings.join("; "));
        }
        if let Some(model_warning) = &self.model_warning {
            metadata.insert(info::MODEL_WARNING.to_owned(), model_warning.clone());
        }
        if !self.conflicts.is_empty() {
            metadata.insert(info::MODEL_CONFLICT.to_owned(), self.conflicts.join("; "));
        }
        if let Some(clock) = &self.clock {
            metadata.insert(info::CLOCK.to_owned(), clock.to_string());
        }
        metadata
    }

    /// Returns all warnings, one sentence each.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        let conflicts = self.conflicts.iter().map(|conflict| {
            format!("taken for a {}, although: {conflict}", self.sensor.model)
        });
        let warnings = self
            .packet_warnings()
            .chain(&self.calibration.warnings)
            .chain(&self.calibration_warning)
            .chain(&self.clock_warning)
            .chain(&self.returns_change);
        self.model_warning.iter().cloned().chain(conflicts).chain(warnings.cloned())
    }

    /// Returns the warnings about the rate, the motor and the times in the packets.
    fn packet_warnings(&self) -> impl Iterator<Item = &String> {
        self.rate_warning.iter().chain(&self.motor_warning).chain(&self.time_warnings)
    }

    /// Returns the topic of the points, which are decoded from the records of the topic
    /// `packets`.
    pub fn topic(&self, packets: &Topic) -> Topic {
        let mut metadata = packets.metadata.clone();
        metadata.extend(self.provenance());
        Topic {
            name: POINTS_TOPIC.into(),
            instance: packets.instance,
            origin: TopicOrigin::Derived,
            content: TopicContent::LidarPoints,
            encoding: packets.encoding.clone(),
            type_name: "points".into(),
            definition: String::new(),
            schema: points::schema(),
            records: packets.records,
            bytes: packets.bytes,
            time: packets.time,
            implausible_times: packets.implausible_times,
            before_start: packets.before_start,
            latched: Vec::new(),
            header_len: 0,
            descriptor: Vec::new(),
            metadata,
        }
    }
}
