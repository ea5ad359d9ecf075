//! Reads all samples of signals: numbers, or the norm of a vector.

#[cfg(feature = "align")]
use std::sync::Arc;

#[cfg(feature = "align")]
use logtool_core::Topic;
use logtool_core::{Damage, Log, TimeRange};

#[cfg(feature = "align")]
use crate::{
    error::Context as _,
    records::signals::{ValuePart, find, numbers::norm},
};
use crate::{
    error::{Error, Remedy, Result},
    records::signals::{ReceiveNumbers, RequestedSignal, gather},
};

/// The maximum number of samples, which take 256 MiB.
const MAX_SAMPLES: usize = 1 << 24;

/// Reads all samples of `signals` within `time`, each in the order of the file. Returns them in the
/// order of the request, and the damage.
///
/// # Errors
/// If reading fails, or a signal has too many samples.
pub(crate) fn read_all(
    log: &dyn Log,
    signals: &[RequestedSignal],
    time: TimeRange,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(Vec<Samples>, Vec<Damage>)> {
    let (sample_lists, damage) =
        gather(log, signals, time, &Samples::default, progress)?;
    let mut too_long =
        signals.iter().zip(&sample_lists).filter(|(_, samples)| samples.too_many);
    if let Some((signal, _)) = too_long.next() {
        let message = format!("`{}` has more than {MAX_SAMPLES} samples", signal.name);
        return Err(Error::other(message).with_remedy(Remedy::SelectTimes));
    }
    Ok((sample_lists, damage))
}

/// All samples of a signal.
#[cfg(feature = "align")]
pub(crate) struct SignalSamples {
    /// The times in nanoseconds and the values, in the order of the file.
    pub samples: Vec<(i64, f64)>,
    /// The signal.
    pub signal: RequestedSignal,
    /// The damage of the records that could not be read.
    pub damage: Vec<Damage>,
}

/// Reads the signal `text`. If it names a list, or several columns of one topic, e.g.
/// `/imu/data.angular_velocity` or `sensor_combined.gyro_rad`, the signal is the norm of that
/// vector.
#[cfg(feature = "align")]
pub(crate) fn read_samples(
    log: &dyn Log,
    text: &str,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<SignalSamples> {
    let signal = combine(find(log, &[text.to_owned()])?, text, log)?;
    let time = TimeRange::default();
    let (mut all_samples, damage) =
        read_all(log, std::slice::from_ref(&signal), time, progress)?;
    let samples = all_samples.pop().unwrap_or_default();
    Ok(SignalSamples { samples: samples.samples, signal, damage })
}

/// Combines `signals` to one signal.
#[cfg(feature = "align")]
fn combine(
    signals: Vec<RequestedSignal>,
    text: &str,
    log: &dyn Log,
) -> Result<RequestedSignal> {
    let mut signals = signals.into_iter();
    let mut combined =
        signals.next().with_context(|| format!("there is no `{text}`"))?;
    let label = |signal: &RequestedSignal| {
        let topic = log.manifest().topic(signal.topic).map(Topic::label);
        topic.map(std::borrow::Cow::into_owned).unwrap_or_default()
    };
    if let Some(input) =
        combined.inputs.first_mut().filter(|input| input.part == ValuePart::Count)
    {
        input.part = ValuePart::Norm;
        combined.name = format!("|{text}|");
    }
    for more in signals {
        if more.topic != combined.topic {
            let (first_label, second_label) = (label(&combined), label(&more));
            let message = format!(
                "`{text}` is in several topics, {first_label} and {second_label}"
            );
            return Err(Error::invalid_request(message).with_hint("name one of them"));
        }
        combined.inputs.extend(more.inputs);
        combined.function = Arc::new(norm);
        combined.name = format!("|{text}|");
    }
    Ok(combined)
}

/// All samples of a signal.
#[derive(Default)]
pub(crate) struct Samples {
    /// The times in nanoseconds and the values, in the order of the file.
    pub samples: Vec<(i64, f64)>,
    /// The number of values whose time is unknown.
    pub untimed: u64,
    too_many: bool,
}

impl ReceiveNumbers for Samples {
    fn add(&mut self, time: i64, number: f64) {
        if self.samples.len() < MAX_SAMPLES {
            self.samples.push((time, number))
        } else {
            self.too_many = true
        }
    }

    fn add_untimed(&mut self) {
        self.untimed += 1;
    }
}
