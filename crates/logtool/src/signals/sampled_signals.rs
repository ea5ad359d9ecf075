//! Reads signals with as many values as a plot can show.

use logtool_core::{Damage, Log, TimeRange, Timestamp};
use logtool_plot::{Sampler, Signal};

use crate::{
    error::Result,
    signals::{ReceiveNumbers, RequestedSignal, gather},
    time::record_span::RecordSpan,
};

/// Signals that were read.
pub(crate) struct SampledSignals {
    /// The signals, in the order of the request.
    pub signals: Vec<Signal>,
    /// The time range of the records.
    pub span: RecordSpan,
    /// The damage that was found.
    pub damage: Vec<Damage>,
}

/// Reads `wanted` within `time`. Each of `columns` columns keeps the lowest and the highest
/// value of its time. Values that hold until the next one start with the last value before
/// `time`. `progress` is called with numbers of bytes that were read.
///
/// # Errors
/// If reading fails.
pub(crate) fn read(
    log: &dyn Log,
    wanted: &[RequestedSignal],
    time: TimeRange,
    columns: usize,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<SampledSignals> {
    let topics = wanted.iter().map(|wanted| wanted.topic).collect();
    let span @ RecordSpan { usual, reach, .. } =
        RecordSpan::from_log(log, &topics, time)?;
    let new = || {
        let sampler =
            Sampler::new(usual.start.as_nanos(), usual.end.as_nanos(), columns);
        sampler.with_range(reach.start.as_nanos(), reach.end.as_nanos())
    };
    let (mut made, mut damage) = gather(log, wanted, time, &new, progress)?;
    let (held, of): (Vec<RequestedSignal>, Vec<usize>) = wanted
        .iter()
        .zip(0..)
        .filter(|(wanted, _)| wanted.is_held && time.start > Timestamp::MIN)
        .map(|(wanted, index)| (wanted.clone(), index))
        .unzip();
    if !held.is_empty() {
        let before = TimeRange { start: Timestamp::MIN, end: time.start };
        let (last, more) = gather(log, &held, before, &LatestValue::default, &|_| {})?;
        for (last, index) in last.into_iter().zip(of) {
            if let (Some((_, value)), Some(sampler)) = (last.0, made.get_mut(index)) {
                sampler.begin(usual.start.as_nanos(), value);
            }
        }
        for more in more {
            if !damage.contains(&more) {
                damage.push(more);
            }
        }
    }
    let signal = |(sampler, wanted): (Sampler, &RequestedSignal)| {
        if wanted.is_held { sampler.held_signal() } else { sampler.signal() }
    };
    let signals = made.into_iter().zip(wanted).map(signal).collect();
    Ok(SampledSignals { signals, span, damage })
}

/// The last value and its time.
#[derive(Default)]
struct LatestValue(Option<(i64, f64)>);

impl ReceiveNumbers for LatestValue {
    fn add(&mut self, time: i64, number: f64) {
        if self.0.is_none_or(|(last, _)| last <= time) {
            self.0 = Some((time, number));
        }
    }

    fn leave_out(&mut self) {}
}

impl ReceiveNumbers for Sampler {
    fn add(&mut self, time: i64, number: f64) {
        Self::add(self, time, number);
    }

    fn leave_out(&mut self) {
        Self::leave_out(self);
    }
}
