//! The offset between the clock of the program and UTC, from GPS messages.

use logtool_core::{
    ClockFit, Timestamp,
    calendar::{date_from_days, days_since_1970},
};

use crate::{clock_fit, vel::message::Gps};

/// The maximum number of offsets in each list: three days at one message per second.
const MAX_OBSERVATIONS: usize = 1 << 18;

const SECOND: i64 = 1_000_000_000;

/// The UTC times of GPS messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct GpsTimes {
    /// UTC minus the clock of the program in nanoseconds, for messages with a fix and
    /// without a warning.
    offsets: Vec<i64>,
    /// The offsets of all other messages. Used only if `offsets` is empty.
    without_fix: Vec<i64>,
}

impl GpsTimes {
    /// Adds a message that was recorded at `time`.
    pub(crate) fn observe(&mut self, time: Timestamp, gps: &Gps) {
        let Some(utc) = utc_nanos(gps) else { return };
        let Some(offset) = utc.checked_sub(time.as_nanos()) else { return };
        let offsets = if gps.quality > 0 && gps.warning == 0 {
            &mut self.offsets
        } else {
            &mut self.without_fix
        };
        if offsets.len() < MAX_OBSERVATIONS {
            offsets.push(offset);
        }
    }

    /// Returns the median offset and the spread, or `None` without offsets.
    pub(crate) fn fit(self) -> Option<ClockFit> {
        let offsets =
            if self.offsets.is_empty() { self.without_fix } else { self.offsets };
        clock_fit::fit(offsets, "messages of gps")
    }
}

/// Returns the time that `gps` states in nanoseconds since 1970, or `None` if it is not a
/// valid time.
fn utc_nanos(gps: &Gps) -> Option<i64> {
    let [day, month, year] = gps.date.map(i64::from);
    let [hour, minute, second] = gps.time.map(i64::from);
    let year = if (0..100).contains(&year) { 2000 + year } else { year };
    let is_plausible = (1980..2200).contains(&year)
        && (1..=12).contains(&month)
        && (1..=days_since_1970(year, month + 1, 1) - days_since_1970(year, month, 1))
            .contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    let seconds =
        ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    is_plausible.then(|| seconds * SECOND)
}

/// Returns a message that states only the UTC time `nanos` since 1970. Returns `None` if
/// this is not a whole second, or outside the range of such messages.
pub(crate) fn gps_message_at(nanos: i64) -> Option<Gps> {
    let seconds = nanos.div_euclid(SECOND);
    let (days, second_of_day) =
        (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date_from_days(days);
    let date = [day, month, year];
    let time = [second_of_day / 3_600, second_of_day / 60 % 60, second_of_day % 60];
    let gps = Gps {
        date: date.map(|part| part as i32),
        time: time.map(|part| part as i32),
        ..Gps::default()
    };
    (utc_nanos(&gps) == Some(nanos)).then_some(gps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gps_at(second: i32) -> Gps {
        Gps {
            date: [30, 9, 2010],
            time: [13, 11, second],
            quality: 1,
            ..Gps::default()
        }
    }

    #[test]
    fn only_valid_dates_are_converted_to_utc() {
        // date -u -d "2010-09-30 13:11:07" +%s
        assert_eq!(utc_nanos(&gps_at(7)), Some(1_285_852_267_000_000_000));
        let short = Gps { date: [30, 9, 10], ..gps_at(7) };
        assert_eq!(utc_nanos(&short), utc_nanos(&gps_at(7)));
        assert_eq!(utc_nanos(&Gps { date: [0, 0, 0], ..gps_at(7) }), None);
        let is_valid = |date| utc_nanos(&Gps { date, ..gps_at(7) }).is_some();
        assert!(
            is_valid([29, 2, 2024])
                && !is_valid([29, 2, 2023])
                && !is_valid([31, 2, 24])
        );
        assert!(
            is_valid([31, 12, 2024])
                && !is_valid([32, 12, 2024])
                && !is_valid([31, 11, 2024])
        );
    }

    #[test]
    fn gps_message_states_only_whole_seconds() {
        // date -u -d @1437687665 +%FT%T
        let gps = gps_message_at(1_437_687_665 * SECOND).unwrap();
        assert_eq!((gps.date, gps.time), ([23, 7, 2015], [21, 41, 5]));
        assert_eq!((gps.warning, gps.quality), (0, 0));
        let leap_day = gps_message_at(951_782_400 * SECOND).unwrap();
        assert_eq!((leap_day.date, leap_day.time), ([29, 2, 2000], [0; 3]));
        let last = gps_message_at(1_735_689_599 * SECOND).unwrap();
        assert_eq!((last.date, last.time), ([31, 12, 2024], [23, 59, 59]));
        assert_eq!(
            gps_message_at(1_437_687_665_703_000_000),
            None,
            "not a whole second"
        );
        assert_eq!(gps_message_at(0), None, "no receiver reports 1970");
    }

    #[test]
    fn fourth_field_is_a_warning_and_not_part_of_the_time() {
        let warned = Gps { warning: 1, ..gps_at(7) };
        assert_eq!(utc_nanos(&warned), utc_nanos(&gps_at(7)));
        // A message with a warning counts only where no other message states UTC.
        let mut times = GpsTimes::default();
        times.observe(Timestamp::from_nanos(0), &warned);
        assert_eq!(times.clone().fit().unwrap().offset_nanos, 1_285_852_267 * SECOND);
        times.observe(Timestamp::from_nanos(0), &gps_at(9));
        assert_eq!(times.fit().unwrap().offset_nanos, 1_285_852_269 * SECOND);
    }

    #[test]
    fn fit_is_the_median_offset_with_its_spread() {
        let mut times = GpsTimes::default();
        for (second, late) in [(1, 0), (2, 30_000_000), (3, 10_000_000)] {
            let nanos = i64::from(second) * 1_000_000_000 + late;
            times.observe(Timestamp::from_nanos(nanos), &gps_at(second));
        }
        let without_fix = Gps { quality: 0, ..gps_at(30) };
        times.observe(Timestamp::from_nanos(0), &without_fix);
        let fit = times.fit().unwrap();
        assert_eq!(fit.offset_nanos, 1_285_852_259_990_000_000);
        assert_eq!(fit.spread_nanos, 10_000_000);
        assert_eq!(fit.observations, 3);
    }
}
