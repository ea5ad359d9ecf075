//! Reads signals with as many values as a plot can show.

use logtool_core::{Damage, Log, TimeRange, Timestamp, TopicSet};
use logtool_plot::{Sampler, Signal};

use crate::{
    error::Result,
    records::signals::{ReceiveNumbers, RequestedSignal, gather},
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

/// Returns the time range of the records of `topics`, and a sampler for a signal in it with
/// `columns` columns.
///
/// # Errors
/// If reading fails.
pub(crate) fn sampler(
    log: &dyn Log,
    topics: &TopicSet,
    time: TimeRange,
    columns: usize,
) -> Result<(RecordSpan, Sampler)> {
    let span @ RecordSpan { shown, value_times, .. } =
        RecordSpan::from_log(log, topics, time)?;
    let sampler = Sampler::new(shown.start.as_nanos(), shown.end.as_nanos(), columns);
    let sampler =
        sampler.with_range(value_times.start.as_nanos(), value_times.end.as_nanos());
    Ok((span, sampler))
}

/// Reads `signals` within `time`. Each of `columns` columns keeps the lowest and the highest
/// value of its time. Values that hold until the next one start with the last value before
/// `time`. `progress` is called with numbers of bytes that were read.
///
/// # Errors
/// If reading fails.
pub(crate) fn read(
    log: &dyn Log,
    signals: &[RequestedSignal],
    time: TimeRange,
    columns: usize,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<SampledSignals> {
    let topics = signals.iter().map(|signal| signal.topic).collect();
    let (span, sampler) = sampler(log, &topics, time, columns)?;
    let (signals, damage) = read_into(log, signals, time, &span, &sampler, progress)?;
    Ok(SampledSignals { signals, span, damage })
}

/// Like [`read`], for signals with this `span` and copies of `sampler`. Returns the signals, in
/// the order of the request, and the damage.
///
/// # Errors
/// If reading fails.
pub(crate) fn read_into(
    log: &dyn Log,
    signals: &[RequestedSignal],
    time: TimeRange,
    span: &RecordSpan,
    sampler: &Sampler,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(Vec<Signal>, Vec<Damage>)> {
    let (mut samplers, mut damage) =
        gather(log, signals, time, &|| sampler.clone(), progress)?;
    let (held_signals, indices): (Vec<RequestedSignal>, Vec<usize>) = signals
        .iter()
        .zip(0..)
        .filter(|(signal, _)| signal.is_held && time.start > Timestamp::MIN)
        .map(|(signal, index)| (signal.clone(), index))
        .unzip();
    if !held_signals.is_empty() {
        let before = TimeRange { start: Timestamp::MIN, end: time.start };
        let (last, more) =
            gather(log, &held_signals, before, &LatestValue::default, &|_| {})?;
        for (last, index) in last.into_iter().zip(indices) {
            if let (Some((_, value)), Some(sampler)) = (last.0, samplers.get_mut(index))
            {
                sampler.add_initial(span.shown.start.as_nanos(), value);
            }
        }
        for more in more {
            if !damage.contains(&more) {
                damage.push(more);
            }
        }
    }
    let signal = |(sampler, requested): (Sampler, &RequestedSignal)| {
        if requested.is_held { sampler.held_signal() } else { sampler.signal() }
    };
    Ok((samplers.into_iter().zip(signals).map(signal).collect(), damage))
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

    fn add_untimed(&mut self) {}
}

impl ReceiveNumbers for Sampler {
    fn add(&mut self, time: i64, number: f64) {
        Self::add(self, time, number);
    }

    fn add_untimed(&mut self) {
        Self::add_dropped(self);
    }
}
