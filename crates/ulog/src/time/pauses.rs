//! Finds pauses in which a counter wrapped around unnoticed.
//!
//! A record with a 16-bit counter has a time only modulo 66 ms. If such records follow a
//! pause and precede the next 64-bit timestamp, the length of the pause does not follow
//! from the records before it. So the index pass also uses the wider timestamp after
//! them: the last value of the counters must be close to it. If it is not, the pause is
//! where the step of the counter differs most from the usual steps: before one of its
//! records, or after the last one. The correct value of the first record after the pause
//! is stored. Readers correct this record, and the following records continue from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::counter;

/// The maximum number of corrections.
const MAX_CORRECTIONS: usize = 1 << 16;
/// The widths of counters, in bits.
const WIDTHS: [u32; 3] = [8, 16, 32];

/// The correct value of a counter after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Correction {
    /// The index of the record among all records with counters.
    pub(crate) ordinal: u64,
    /// The width of the counter in bits.
    pub(crate) bits: u32,
    /// The value, unwrapped, in the unit of the counter.
    pub(crate) value: u64,
}

/// A record with a counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterSample {
    pub(crate) stream: u16,
    pub(crate) bits: u32,
    /// The duration of one count in microseconds.
    pub(crate) unit: u64,
    pub(crate) ordinal: u64,
    /// The value, unwrapped.
    pub(crate) value: u64,
    /// The previous value of the topic, if there was one.
    pub(crate) previous: Option<u64>,
    /// Whether a wider record has set the clock.
    pub(crate) has_clock: bool,
}

/// Finds pauses that the counters themselves do not show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pauses {
    series: BTreeMap<u16, CounterSeries>,
    /// For each width, the streams with records since the last wider timestamp.
    open_streams: [Vec<u16>; WIDTHS.len()],
    corrections: Vec<Correction>,
    /// The total duration of all dropouts so far, in microseconds.
    dropped: u64,
    /// The number of 64-bit timestamps that may have been the first after a long pause.
    jumps: u64,
    /// The number of corrections that exceeded the limit.
    dropped_corrections: u64,
}

/// The records of one counter since the last wider timestamp.
#[derive(Clone, Copy, Debug, Default)]
struct CounterSeries {
    bits: u32,
    unit: u64,
    /// The last value, and the step to it from the previous value.
    last: u64,
    step: Option<u64>,
    /// The most likely position of a pause.
    candidate: Option<PauseCandidate>,
    dropped: u64,
    /// The number of possible jumps before these records, and whether a record followed
    /// the first possible jump since then. The pause was before that record.
    jumps: u64,
    is_after_jump: bool,
    /// The last wider timestamp, if there was one, and the distance from it to the
    /// first record after it.
    anchor: Option<u64>,
    lead: Option<u64>,
    /// The usual distances: from record to record, from a wider timestamp to the first
    /// record after it, and from the last record to the next wider timestamp.
    usual_step: Option<u64>,
    usual_lead: Option<u64>,
    usual_lag: u64,
    /// The recent deviation of steps from the usual step.
    jitter: u64,
}

/// A record that may be preceded by a pause.
#[derive(Clone, Copy, Debug)]
struct PauseCandidate {
    ordinal: u64,
    value: u64,
    /// The deviation of the step to this record from the usual step.
    deviation: u64,
}

impl Pauses {
    /// Adds a dropout.
    pub(crate) fn add_dropout(&mut self, millis: u16) {
        self.dropped += u64::from(millis) * 1_000;
    }

    /// Notes a 64-bit timestamp that may be the first one after a long pause.
    pub(crate) fn note_possible_jump(&mut self) {
        self.jumps += 1;
    }

    /// Adds a record with a counter.
    pub(crate) fn record(&mut self, sample: CounterSample) {
        let CounterSample { stream, bits, unit, ordinal, value, previous, has_clock } =
            sample;
        let (dropped, jumps) = (self.dropped, self.jumps);
        let new_series =
            || CounterSeries { dropped, jumps, ..CounterSeries::default() };
        let series = self.series.entry(stream).or_insert_with(new_series);
        (series.bits, series.unit) = (bits, unit);
        let dropped = std::mem::replace(&mut series.dropped, self.dropped);
        let dropped = (self.dropped - dropped) / unit;
        let step = previous.map(|previous| value.abs_diff(previous));
        if series.candidate.is_none() {
            series.lead = series.anchor.map(|anchor| value.abs_diff(anchor));
        }
        let lead = series.lead.filter(|_| series.candidate.is_none());
        let deviation = |distance: Option<u64>, usual: Option<u64>| {
            Some(distance?.abs_diff(usual? + dropped))
        };
        let deviations =
            [deviation(step, series.usual_step), deviation(lead, series.usual_lead)];
        let deviation = match deviations.into_iter().flatten().min() {
            Some(deviation) => deviation,
            // This is the first record, and no other record has set the clock.
            None if previous.is_none() && !has_clock => u64::MAX,
            None => 0,
        };
        let was_after_jump = series.is_after_jump;
        series.is_after_jump |= series.jumps != self.jumps;
        if series.candidate.is_none()
            && let Some(width) = WIDTHS.iter().position(|width| *width == bits)
        {
            self.open_streams[width].push(stream);
        }
        let is_closer = |candidate: PauseCandidate| {
            !was_after_jump && series.is_later(candidate.deviation, deviation)
        };
        if series.candidate.is_none_or(is_closer) {
            series.candidate = Some(PauseCandidate { ordinal, value, deviation });
        }
        (series.last, series.step) = (value, step);
        series.usual_step = series.usual_step.or(step);
    }

    /// Processes a trusted timestamp of `bits` bits, in microseconds. Counters with
    /// fewer bits must end at this time. Returns the streams whose last value was
    /// wrong, with the correct values.
    pub(crate) fn anchor(&mut self, bits: u32, micros: u64) -> Vec<(u16, u64)> {
        let mut corrected_streams = Vec::new();
        for (streams, width) in self.open_streams.iter_mut().zip(WIDTHS) {
            if width >= bits || streams.is_empty() {
                continue;
            }
            for stream in streams.drain(..) {
                let Some(series) = self.series.get_mut(&stream) else { continue };
                series.jumps = self.jumps;
                let Some(correction) = series.close(micros / series.unit.max(1)) else {
                    continue;
                };
                corrected_streams.push((stream, series.last));
                if self.corrections.len() < MAX_CORRECTIONS {
                    self.corrections.push(correction);
                } else {
                    self.dropped_corrections += 1;
                }
            }
        }
        corrected_streams
    }

    /// Merges new corrections into `known`, in file order. Returns true if there were
    /// any. Only the corrections of the widest counters are taken, because the times of
    /// narrower counters depend on them.
    pub(crate) fn add_to(&self, known: &mut Vec<Correction>) -> bool {
        let is_known = |correction: &Correction| {
            let index =
                known.binary_search_by_key(&correction.ordinal, |known| known.ordinal);
            index.is_ok_and(|index| known[index] == *correction)
        };
        let new = self.corrections.iter().filter(|correction| !is_known(correction));
        let Some(bits) = new.map(|new| new.bits).max() else { return false };
        let mut merged: BTreeMap<u64, Correction> = BTreeMap::new();
        let wider = known.iter().filter(|known| known.bits >= bits);
        let new = self.corrections.iter().filter(|correction| correction.bits == bits);
        merged.extend(
            wider.chain(new).map(|correction| (correction.ordinal, *correction)),
        );
        *known = merged.into_values().take(MAX_CORRECTIONS).collect();
        true
    }

    /// Returns the number of corrections that exceeded the limit.
    pub(crate) fn dropped_corrections(&self) -> u64 {
        self.dropped_corrections
    }
}

impl CounterSeries {
    /// Returns true if the later of two candidates is the position of a pause. Their
    /// steps deviate by `earlier` and `later` from the usual steps.
    fn is_later(&self, earlier: u64, later: u64) -> bool {
        if earlier.max(later) <= self.jitter + self.jitter / 2 {
            // Both steps are usual: the pause is more likely where more time passes.
            self.usual_lag > self.usual_lead.or(self.usual_step).unwrap_or(0)
        } else {
            later > earlier
        }
    }

    /// Ends the series at the wider timestamp `anchor`, in the unit of the counter.
    /// Returns the necessary correction.
    fn close(&mut self, anchor: u64) -> Option<Correction> {
        let candidate = self.candidate.take()?;
        let span = 1_u64 << self.bits;
        self.anchor = Some(anchor);
        let is_after_jump = std::mem::take(&mut self.is_after_jump);
        if anchor.abs_diff(self.last) <= span / 2 {
            if candidate.deviation <= span / 8 {
                self.jitter = candidate.deviation.max(self.jitter - self.jitter / 128);
            }
            self.usual_step = self.step.or(self.usual_step);
            self.usual_lead = self.lead.or(self.usual_lead);
            self.usual_lag = anchor.saturating_sub(self.last);
            return None;
        }
        let lag = anchor.wrapping_sub(self.last) & (span - 1);
        let distance = lag.abs_diff(self.usual_lag);
        let distance = distance.min(span - distance);
        let is_after_last_record = self.is_later(candidate.deviation, distance);
        if is_after_last_record && !is_after_jump {
            return None; // the pause is after the last record
        }
        let elapsed = self.last.saturating_sub(candidate.value);
        let clock = anchor.saturating_sub(self.usual_lag + elapsed);
        let value = counter::nearest_value(candidate.value & (span - 1), span, clock);
        self.last = value + elapsed;
        let (ordinal, bits) = (candidate.ordinal, self.bits);
        (value != candidate.value).then_some(Correction { ordinal, bits, value })
    }
}
