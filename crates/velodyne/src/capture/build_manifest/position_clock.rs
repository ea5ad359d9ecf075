//! Evaluates the clock of a lidar and that of the capture from position packets.
//!
//! A packet contains the time of the lidar in microseconds past the hour, and the last
//! sentence of the receiver, which states the last full second. If the lidar follows the
//! receiver, the minutes and seconds of both agree.

use logtool_core::{ClockFit, Timestamp};

use crate::{
    anomaly::Anomaly,
    capture::{
        codes,
        decode::position::{LOCKED, Position},
        item::NO_TIME,
    },
    clock_fit,
    hour::{HOUR, format_past_hour},
    lidar::{ClockState, time_scale},
    points::nearest_time_past_hour,
};

/// The maximum number of offsets of each kind: three days at one per second.
const MAX_OBSERVATIONS: usize = 1 << 18;

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 24 * HOUR;

/// The week number of GPS overflows after this duration.
const ROLLOVER: i64 = 1_024 * 7 * DAY;

/// The possible time from the second that a sentence states to its packet: a sentence
/// takes up to a second to arrive, and is repeated until the next one arrives.
const SENTENCE_AGE: std::ops::RangeInclusive<i64> = -SECOND..=3 * SECOND;

/// A sentence that is repeated for longer, by the clock of the lidar, is outdated,
/// because the receiver stopped sending.
const MAX_REPETITION: i64 = 2 * SECOND;

/// Statistics of the position packets of a lidar.
#[derive(Clone, Debug, Default)]
pub(super) struct PositionClock {
    packets: u64,
    /// The number of packets that state that the clock follows the pulse of a receiver.
    locked: u64,
    /// The number of packets with a sentence of a receiver that has a fix.
    valid: u64,
    /// UTC minus the time of the capture in nanoseconds, for packets that are locked and
    /// valid.
    locked_offsets: Vec<i64>,
    /// The offsets of packets that are valid and not locked, used if there are no others.
    /// Some HDL-32E never state a lock.
    unlocked_offsets: Vec<i64>,
    /// The offsets of packets whose time contradicts their sentence, from the sentence
    /// alone.
    contradicting_offsets: Vec<i64>,
    /// The time of the first contradicting sentence and that of the lidar, in nanoseconds
    /// past the hour.
    first_contradiction: Option<(i64, i64)>,
    /// The time of the last sentence, and the timestamp of the first packet with it.
    last_sentence: Option<(i64, u32)>,
}

impl PositionClock {
    /// Adds the packet `payload`, captured at `time`.
    pub(super) fn add(&mut self, payload: &[u8], time: Timestamp) {
        let Some(position) = Position::parse(payload) else { return };
        let is_locked = position.pulse == LOCKED;
        let is_valid = position.fix.is_valid == Some(true);
        self.packets += 1;
        self.locked += u64::from(is_locked);
        self.valid += u64::from(is_valid);
        let nanos = time.as_nanos();
        // Without a date, the day nearest to the time of the capture is used.
        let utc_without_date = || {
            let nanos_of_day = position.fix.nanos_of_day?;
            let difference = nanos.saturating_sub(nanos_of_day).rem_euclid(DAY);
            Some(nanos.saturating_sub(if difference > DAY / 2 {
                difference - DAY
            } else {
                difference
            }))
        };
        let sentence = position.fix.utc_nanos.or_else(utc_without_date);
        let Some(sentence) = sentence.filter(|_| is_valid && time != NO_TIME) else {
            return;
        };
        if self.is_outdated(sentence, position.stamp) {
            return;
        }
        // The sentence states the last full second, and the timestamp is that of the
        // packet.
        let utc = nearest_time_past_hour(sentence, 0, position.stamp);
        let agrees = SENTENCE_AGE.contains(&(utc - sentence));
        let (offsets, utc) = match (agrees, is_locked) {
            (false, _) => (&mut self.contradicting_offsets, sentence),
            (true, true) => (&mut self.locked_offsets, utc),
            (true, false) => (&mut self.unlocked_offsets, utc),
        };
        if !agrees {
            let stamp = i64::from(position.stamp) * 1_000;
            self.first_contradiction.get_or_insert((sentence.rem_euclid(HOUR), stamp));
        }
        if let Some(offset) = utc.checked_sub(nanos)
            && offsets.len() < MAX_OBSERVATIONS
        {
            offsets.push(offset);
        }
    }

    /// Returns whether a packet with this `stamp` repeats an outdated `sentence`, and
    /// stores the sentence if it is new.
    fn is_outdated(&mut self, sentence: i64, stamp: u32) -> bool {
        match self.last_sentence {
            Some((last, first_stamp)) if last == sentence => {
                let elapsed = (i64::from(stamp) - i64::from(first_stamp)) * 1_000;
                (MAX_REPETITION..HOUR / 2).contains(&elapsed.rem_euclid(HOUR))
            }
            _ => {
                self.last_sentence = Some((sentence, stamp));
                false
            }
        }
    }

    /// Returns the state of the lidar's clock.
    pub(super) fn state(&self) -> ClockState {
        match (self.is_locked(), self.is_valid()) {
            (_, true) if self.contradicts() => ClockState::NotUtc,
            (true, true) => ClockState::Locked,
            (false, true) => ClockState::NmeaOnly,
            (true, false) => ClockState::PulseOnly,
            (false, false) => ClockState::Unset,
        }
    }

    /// Describes the number of packets that are locked and valid.
    pub(super) fn evidence(&self) -> String {
        let Self { packets, locked, valid, .. } = self;
        format!("{locked} of {packets} packets are locked, {valid} valid")
    }

    /// Returns whether the clock of the lidar is UTC.
    pub(super) fn is_utc(&self) -> bool {
        self.is_valid() && !self.contradicts()
    }

    /// Returns whether the clock of the lidar contradicts most sentences.
    fn contradicts(&self) -> bool {
        let agreeing = self.locked_offsets.len() + self.unlocked_offsets.len();
        self.contradicting_offsets.len() > agreeing
    }

    /// Returns a warning if the clock of the lidar contradicts sentences.
    pub(super) fn contradiction(&self) -> Option<Anomaly> {
        let (sentence, stamp) = self.first_contradiction?;
        let count = self.contradicting_offsets.len();
        let total = count + self.locked_offsets.len() + self.unlocked_offsets.len();
        let consequence = if self.contradicts() {
            "the time of the lidar is not UTC, and NMEA is used"
        } else {
            "the others are used"
        };
        let lead_nanos =
            nearest_time_past_hour(sentence, 0, (stamp / 1_000) as u32) - sentence;
        let hint = time_scale(lead_nanos).map_or_else(String::new, |scale| {
            format!("; the time of the lidar looks like {scale}")
        });
        let text = format!(
            "minute and second of NMEA contradict the time of the lidar in {count} of {total} \
             position packets: the first has {} past the hour by NMEA and {} by the lidar; \
             {consequence}{hint}",
            format_past_hour(sentence),
            format_past_hour(stamp)
        );
        Some(Anomaly::new(&codes::CLOCK_NMEA, text))
    }

    /// Returns the offset between UTC and the clock of the capture, from the locked packets
    /// of all lidars or, unless `requires_lock` is true, from the others. If all packets
    /// contradict their sentences, the sentences are used.
    pub(super) fn fit<'c>(
        clocks: impl Iterator<Item = &'c Self> + Clone,
        requires_lock: bool,
    ) -> Option<ClockFit> {
        let collect = |offsets: fn(&Self) -> &Vec<i64>| -> Vec<i64> {
            clocks.clone().flat_map(offsets).copied().collect()
        };
        let locked = collect(|clock| &clock.locked_offsets);
        if let Some(fit) = clock_fit::fit(locked, "position packets") {
            return Some(fit);
        }
        if !requires_lock {
            let unlocked = collect(|clock| &clock.unlocked_offsets);
            let source = "position packets without a pulse";
            if let Some(fit) = clock_fit::fit(unlocked, source) {
                return Some(fit);
            }
        }
        fit_to_sentences(&collect(|clock| &clock.contradicting_offsets))
    }

    fn is_locked(&self) -> bool {
        self.locked * 2 > self.packets
    }

    fn is_valid(&self) -> bool {
        self.valid * 2 > self.packets
    }
}

/// Returns the offset between UTC and the clock of the capture from the `offsets` of
/// sentences. A sentence states the last full second, so UTC is later by up to its age.
/// Returns `None` if the clock of the capture is within these limits, because it is then
/// as accurate as the sentences.
fn fit_to_sentences(offsets: &[i64]) -> Option<ClockFit> {
    let max = *offsets.iter().max()?;
    let min = *offsets.iter().min()?;
    let limits = max..=min.saturating_add(*SENTENCE_AGE.end());
    (!limits.contains(&0)).then(|| ClockFit {
        offset_nanos: max,
        spread_nanos: SECOND.unsigned_abs(),
        observations: offsets.len() as u64,
        source: "NMEA sentences, which the time of the lidar contradicts".into(),
    })
}

/// Corrects `fit` for an overflow of the GPS week, and reports the difference between the
/// clock of the capture and UTC in `anomalies`.
pub(super) fn correct(mut fit: ClockFit, anomalies: &mut Vec<Anomaly>) -> ClockFit {
    let lag = fit.offset_nanos.saturating_neg();
    let rollovers = lag.saturating_add(ROLLOVER / 2).div_euclid(ROLLOVER);
    let difference = lag.saturating_sub(rollovers.saturating_mul(ROLLOVER));
    if rollovers > 0 && difference.abs() < DAY {
        let text = format!(
            "the dates in NMEA are {} weeks before those of the capture: the week number of \
             the GPS receiver has overflowed (it has 10 bits); the weeks are added",
            1_024 * rollovers
        );
        anomalies.push(Anomaly::new(&codes::CLOCK_ROLLOVER, text));
        fit.offset_nanos = difference.saturating_neg();
    }
    let offset_nanos = fit.offset_nanos.saturating_abs();
    if offset_nanos > SECOND {
        let direction = if fit.offset_nanos > 0 { "behind" } else { "ahead of" };
        let text = format!(
            "the clock of the computer that captured the packets is {} {direction} UTC as \
             the position packets state it",
            format_duration(offset_nanos)
        );
        anomalies.push(Anomaly::new(&codes::CLOCK_HOST, text));
    }
    fit
}

/// Formats a duration in its two largest units.
fn format_duration(nanos: i64) -> String {
    let seconds = nanos / SECOND;
    match seconds {
        0..60 => format!("{:.3} s", nanos as f64 / 1e9),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2023-11-14 22:59:59 UTC: date -u -d "2023-11-14 22:59:59" +%s
    const SENTENCE_TIME: i64 = 1_700_002_799 * SECOND;

    /// Creates a position packet with this sentence, timestamp and state of the pulse.
    fn packet(body: &str, stamp: u32, pulse: u8) -> Vec<u8> {
        let sum = body.bytes().fold(0, |sum, byte| sum ^ byte);
        let sentence = format!("${body}*{sum:02X}\r\n");
        let mut bytes = vec![0; 512];
        bytes[198..202].copy_from_slice(&stamp.to_le_bytes());
        bytes[202] = pulse;
        bytes[206..206 + sentence.len()].copy_from_slice(sentence.as_bytes());
        bytes
    }

    fn rmc(time: &str, date: &str) -> String {
        format!("GPRMC,{time},A,5021.8167,N,00733.5167,E,000.0,360.0,{date},,,A")
    }

    /// Returns the clock after packets with this sentence. `packets` contains their
    /// timestamps past the hour and their times after [`SENTENCE_TIME`], both in
    /// microseconds.
    fn clock(body: &str, packets: &[(u32, i64)]) -> PositionClock {
        let mut clock = PositionClock::default();
        for (stamp, micros) in packets {
            let time = Timestamp::from_nanos(SENTENCE_TIME + micros * 1_000);
            clock.add(&packet(body, *stamp, LOCKED), time);
        }
        clock
    }

    fn fit(clock: &PositionClock) -> (Option<i64>, Vec<Anomaly>) {
        let mut anomalies = Vec::new();
        let fit = PositionClock::fit([clock].into_iter(), false);
        let fit = fit.map(|fit| correct(fit, &mut anomalies));
        (fit.map(|fit| fit.offset_nanos), anomalies)
    }

    #[test]
    fn sentence_agrees_up_to_its_age_across_the_hour() {
        for (stamp, micros) in
            [(3_599_000_000, 0), (3_599_960_000, 960_000), (900_000, 1_900_000)]
        {
            let clock = clock(&rmc("225959", "141123"), &[(stamp, micros)]);
            assert!(clock.is_utc() && clock.contradiction().is_none(), "{stamp}");
            assert_eq!(fit(&clock), (Some(0), vec![]));
        }
    }

    #[test]
    fn timestamp_in_another_minute_contradicts_nmea_which_is_used() {
        for stamp in [1_500_010_000, 3_570_000_000, 19_000_000, 3_590_000_000] {
            let clock = clock(&rmc("225959", "141123"), &[(stamp, 960_000)]);
            assert!(!clock.is_utc());
            assert_eq!(clock.state(), ClockState::NotUtc);
            let text = clock.contradiction().unwrap().text;
            assert!(text.contains("59:59.000 past the hour by NMEA"), "{text}");
            // The clock of the capture is within the second that NMEA states.
            assert_eq!(fit(&clock), (None, vec![]));
        }
        // A clock of the capture that is 40 minutes ahead.
        let lead_nanos = 2_400_960_000;
        let clock = clock(&rmc("225959", "141123"), &[(1_500_010_000, lead_nanos)]);
        let (offset, anomalies) = fit(&clock);
        assert_eq!(offset, Some(-lead_nanos * 1_000));
        assert!(anomalies[0].text.contains("40 min 0 s ahead of UTC"), "{anomalies:?}");
    }

    #[test]
    fn sentence_without_a_date_is_on_the_day_of_the_capture() {
        let body = "GPGGA,225959,5021.8167,N,00733.5167,E,1,08,0.9,112.4,M,47.9,M,,";
        assert_eq!(fit(&clock(body, &[(3_599_960_000, 960_000)])), (Some(0), vec![]));
        let clock = clock(body, &[(1_500_010_000, 960_000)]);
        assert!(clock.contradiction().is_some() && !clock.is_utc());
    }

    #[test]
    fn week_overflow_is_corrected_but_other_wrong_dates_are_not() {
        // date -d "2023-11-14 - 1024 weeks": 2004-03-30, and 2048 weeks: 1984-08-14.
        for date in ["300304", "140884"] {
            let clock = clock(&rmc("225959", date), &[(3_599_960_000, 960_000)]);
            let (offset, anomalies) = fit(&clock);
            assert_eq!(offset, Some(0), "{date}");
            assert!(anomalies[0].text.contains("weeks before"), "{anomalies:?}");
        }
        let clock = clock(&rmc("225959", "131122"), &[(3_599_960_000, 960_000)]);
        let (offset, anomalies) = fit(&clock);
        assert_eq!(offset, Some(-366 * DAY));
        assert!(anomalies[0].text.contains("366 d 0 h ahead of UTC"), "{anomalies:?}");
    }

    #[test]
    fn sentence_repeated_for_seconds_is_outdated() {
        let second = |n: u32| (100_000_000 + n * 1_000_000, i64::from(n) * 1_000_000);
        let packets: Vec<(u32, i64)> = (0..60).map(second).collect();
        // 22:01:40, like the first timestamp. Then the receiver is unplugged.
        let clock = clock(&rmc("220140", "141123"), &packets);
        let contradicting = clock.contradicting_offsets.len();
        assert_eq!((clock.locked_offsets.len(), contradicting), (2, 0));
        // Across the full hour, the age follows from the timestamps.
        let packets = [(3_599_960_000, 960_000), (100_000, 1_100_000)];
        let clock = self::clock(&rmc("225959", "141123"), &packets);
        assert_eq!(clock.locked_offsets, [0, 0]);
    }
}
