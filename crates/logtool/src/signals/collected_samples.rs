//! Reads all samples of one signal: a number, or the norm of a vector.

use std::sync::Arc;

use logtool_core::{Damage, Log, TimeRange, Topic};

use crate::{
    error::{Context as _, Error, Remedy, Result},
    signals::{
        ReceiveNumbers, RequestedSignal, ValuePart, find, gather, numbers::norm,
    },
};

/// The maximum number of samples, which take 256 MiB.
const MOST: usize = 1 << 24;

/// All samples of a signal.
pub(crate) struct SignalSamples {
    /// The times in nanoseconds and the values, in the order of the file.
    pub samples: Vec<(i64, f64)>,
    /// The signal.
    pub wanted: RequestedSignal,
    /// The damage of the records that could not be read.
    pub damage: Vec<Damage>,
}

/// Reads the signal `text`. If it names a list, or several columns of one topic, e.g.
/// `/imu/data.angular_velocity` or `sensor_combined.gyro_rad`, the signal is the norm of that
/// vector.
pub(crate) fn read_samples(
    log: &dyn Log,
    text: &str,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<SignalSamples> {
    let wanted = combine(find(log, &[text.to_owned()])?, text, log)?;
    let time = TimeRange::default();
    let new = Samples::default;
    let (mut made, damage) =
        gather(log, std::slice::from_ref(&wanted), time, &new, progress)?;
    let made = made.pop().unwrap_or_default();
    if made.too_many {
        let what = format!("`{text}` has more than {MOST} samples");
        return Err(Error::failed(what).with_remedy(Remedy::SelectTimes));
    }
    Ok(SignalSamples { samples: made.samples, wanted, damage })
}

/// Combines `found` to one signal.
fn combine(
    found: Vec<RequestedSignal>,
    text: &str,
    log: &dyn Log,
) -> Result<RequestedSignal> {
    let mut found = found.into_iter();
    let mut all = found.next().with_context(|| format!("there is no `{text}`"))?;
    let label = |wanted: &RequestedSignal| {
        let topic = log.manifest().get(wanted.topic).map(Topic::label);
        topic.map(std::borrow::Cow::into_owned).unwrap_or_default()
    };
    if let Some(input) =
        all.inputs.first_mut().filter(|input| input.part == ValuePart::Count)
    {
        input.part = ValuePart::Norm;
        all.name = format!("|{text}|");
    }
    for more in found {
        if more.topic != all.topic {
            let (one, other) = (label(&all), label(&more));
            let what = format!("`{text}` is in several topics, {one} and {other}");
            return Err(Error::invalid(what).with_hint("name one of them"));
        }
        all.inputs.extend(more.inputs);
        all.of = Arc::new(norm);
        all.name = format!("|{text}|");
    }
    Ok(all)
}

/// Keeps all samples.
#[derive(Default)]
struct Samples {
    samples: Vec<(i64, f64)>,
    too_many: bool,
}

impl ReceiveNumbers for Samples {
    fn add(&mut self, time: i64, number: f64) {
        if self.samples.len() < MOST {
            self.samples.push((time, number))
        } else {
            self.too_many = true
        }
    }

    fn leave_out(&mut self) {}
}
