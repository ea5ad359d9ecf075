//! Pauses in which a counter wrapped around unseen.
//!
//! A record with a counter of 16 bits shows its time up to whole multiples of 66 ms. If it
//! comes after a pause and before the next timestamp of 64 bits, the records before it do
//! not show how long the pause was. So the survey looks at both sides: when a wider timestamp comes,
//! the counters since the one before have to end there. If they do not, the pause lies
//! where the steps of the counter are least like those before: before one of its records,
//! or behind the last. The survey notes the right value of the first record after the
//! pause. Readers correct this record, and the records behind it continue from there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::counter;

/// How many corrections are kept.
const MAX_CORRECTIONS: usize = 1 << 16;
/// The widths of counters, in bits.
const WIDTHS: [u32; 3] = [8, 16, 32];

/// The right value of a counter after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Correction {
    /// The position of the record among all records with counters.
    pub(crate) ordinal: u64,
    /// How many bits the counter has.
    pub(crate) bits: u32,
    /// The value, unwrapped, in the counter's own unit.
    pub(crate) value: u64,
}

/// A record with a counter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) stream: u16,
    pub(crate) bits: u32,
    /// How many microseconds a count is.
    pub(crate) unit: u64,
    pub(crate) ordinal: u64,
    /// The value, unwrapped, and the one that its topic had before, if it had one.
    pub(crate) value: u64,
    pub(crate) before: Option<u64>,
    /// Whether a wider record has set the clock.
    pub(crate) has_clock: bool,
}

/// Finds the pauses that counters do not show.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pauses {
    series: BTreeMap<u16, Series>,
    /// The streams of each width with records since the last wider timestamp.
    open: [Vec<u16>; WIDTHS.len()],
    found: Vec<Correction>,
    /// How long all dropouts lasted so far, in microseconds.
    dropped: u64,
    /// How often a timestamp of 64 bits may have been the first one after a long pause.
    jumps: u64,
    /// How many corrections there was no room for.
    lost: u64,
}

/// The records of one counter since the last wider timestamp.
#[derive(Clone, Copy, Debug, Default)]
struct Series {
    bits: u32,
    unit: u64,
    /// The last value, and the step to it from the one before.
    last: u64,
    step: Option<u64>,
    /// Where a pause would be.
    split: Option<Split>,
    dropped: u64,
    /// How many possible jumps there were before these records, and whether a record came
    /// after the first one since then: the pause was before that record.
    jumps: u64,
    is_after_jump: bool,
    /// The last wider timestamp, if there was one, and how far the first record since then
    /// is behind it.
    anchor: Option<u64>,
    lead: Option<u64>,
    /// The usual distances: from record to record, from a wider timestamp to the first
    /// record behind it, and from the last record to the next wider timestamp.
    usual_step: Option<u64>,
    usual_lead: Option<u64>,
    usual_lag: u64,
    /// How far steps are from the usual one lately.
    jitter: u64,
}

/// A record that a pause may lie before.
#[derive(Clone, Copy, Debug)]
struct Split {
    ordinal: u64,
    value: u64,
    /// How far the step to it is from the usual one.
    deviation: u64,
}

impl Pauses {
    /// Takes notice of a dropout.
    pub(crate) fn drop_out(&mut self, millis: u16) {
        self.dropped += u64::from(millis) * 1_000;
    }

    /// Takes notice of a timestamp of 64 bits that may be the first one after a long pause.
    pub(crate) fn may_jump(&mut self) {
        self.jumps += 1;
    }

    /// Takes notice of a record with a counter.
    pub(crate) fn record(&mut self, counted: Counted) {
        let Counted { stream, bits, unit, ordinal, value, before, has_clock } = counted;
        let (dropped, jumps) = (self.dropped, self.jumps);
        let new = || Series { dropped, jumps, ..Series::default() };
        let series = self.series.entry(stream).or_insert_with(new);
        (series.bits, series.unit) = (bits, unit);
        let dropped = std::mem::replace(&mut series.dropped, self.dropped);
        let dropped = (self.dropped - dropped) / unit;
        let step = before.map(|before| value.abs_diff(before));
        if series.split.is_none() {
            series.lead = series.anchor.map(|anchor| value.abs_diff(anchor));
        }
        let lead = series.lead.filter(|_| series.split.is_none());
        let off = |distance: Option<u64>, usual: Option<u64>| {
            Some(distance?.abs_diff(usual? + dropped))
        };
        let offs = [off(step, series.usual_step), off(lead, series.usual_lead)];
        let deviation = match offs.into_iter().flatten().min() {
            Some(deviation) => deviation,
            // The first record, and no record has set the clock.
            None if before.is_none() && !has_clock => u64::MAX,
            None => 0,
        };
        let was_after_jump = series.is_after_jump;
        series.is_after_jump |= series.jumps != self.jumps;
        if series.split.is_none()
            && let Some(width) = WIDTHS.iter().position(|width| *width == bits)
        {
            self.open[width].push(stream);
        }
        let is_here = |split: Split| {
            !was_after_jump && series.is_later_of(split.deviation, deviation)
        };
        if series.split.is_none_or(is_here) {
            series.split = Some(Split { ordinal, value, deviation });
        }
        (series.last, series.step) = (value, step);
        series.usual_step = series.usual_step.or(step);
    }

    /// Takes notice of a believed timestamp of `bits` bits, in microseconds: the counters
    /// with fewer bits have to end there. Returns the streams whose last value was wrong,
    /// each with the right one.
    pub(crate) fn anchor(&mut self, bits: u32, micros: u64) -> Vec<(u16, u64)> {
        let mut moved = Vec::new();
        for (open, width) in self.open.iter_mut().zip(WIDTHS) {
            if width >= bits || open.is_empty() {
                continue;
            }
            for stream in open.drain(..) {
                let Some(series) = self.series.get_mut(&stream) else { continue };
                series.jumps = self.jumps;
                let Some(correction) = series.close(micros / series.unit.max(1)) else {
                    continue;
                };
                moved.push((stream, series.last));
                if self.found.len() < MAX_CORRECTIONS {
                    self.found.push(correction);
                } else {
                    self.lost += 1;
                }
            }
        }
        moved
    }

    /// Adds the corrections that were found to the `known` ones, in the order of the file; returns
    /// true if there was anything. Only those of the widest counters are taken: the times
    /// of narrower ones depend on them.
    pub(crate) fn add_to(&self, known: &mut Vec<Correction>) -> bool {
        let is_known = |found: &Correction| {
            let at = known.binary_search_by_key(&found.ordinal, |known| known.ordinal);
            at.is_ok_and(|at| known[at] == *found)
        };
        let new = self.found.iter().filter(|found| !is_known(found));
        let Some(bits) = new.map(|new| new.bits).max() else { return false };
        let mut all: BTreeMap<u64, Correction> = BTreeMap::new();
        let wider = known.iter().filter(|known| known.bits >= bits);
        let new = self.found.iter().filter(|found| found.bits == bits);
        all.extend(
            wider.chain(new).map(|correction| (correction.ordinal, *correction)),
        );
        *known = all.into_values().take(MAX_CORRECTIONS).collect();
        true
    }

    /// For how many corrections there was no room.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }
}

impl Series {
    /// Returns true if a pause lies at the later of two places. The steps there deviate
    /// by `earlier` and `later` from the usual ones.
    fn is_later_of(&self, earlier: u64, later: u64) -> bool {
        match earlier.max(later) <= self.jitter + self.jitter / 2 {
            // Both are as usual: the pause is more likely where more time passes.
            true => self.usual_lag > self.usual_lead.or(self.usual_step).unwrap_or(0),
            false => later > earlier,
        }
    }

    /// Ends at a wider timestamp `anchor`, in the counter's unit; returns the correction
    /// that this takes.
    fn close(&mut self, anchor: u64) -> Option<Correction> {
        let split = self.split.take()?;
        let span = 1_u64 << self.bits;
        self.anchor = Some(anchor);
        let is_after_jump = std::mem::take(&mut self.is_after_jump);
        if anchor.abs_diff(self.last) <= span / 2 {
            if split.deviation <= span / 8 {
                self.jitter = split.deviation.max(self.jitter - self.jitter / 128);
            }
            self.usual_step = self.step.or(self.usual_step);
            self.usual_lead = self.lead.or(self.usual_lead);
            self.usual_lag = anchor.saturating_sub(self.last);
            return None;
        }
        let lag = anchor.wrapping_sub(self.last) & (span - 1);
        let off = lag.abs_diff(self.usual_lag);
        let off = off.min(span - off);
        let is_behind = self.is_later_of(split.deviation, off);
        if is_behind && !is_after_jump {
            return None; // the pause lies behind the last record
        }
        let since = self.last.saturating_sub(split.value);
        let clock = anchor.saturating_sub(self.usual_lag + since);
        let value = counter::nearest(split.value & (span - 1), span, clock);
        self.last = value + since;
        let (ordinal, bits) = (split.ordinal, self.bits);
        (value != split.value).then_some(Correction { ordinal, bits, value })
    }
}
