//! Measures how regularly records come: rates, periods and gaps of each topic.

mod ordered_times;
mod periods;
mod time_sorter;

use logtool_core::{Log, Timestamp, Topic, TopicId};
use serde::Serialize;

use crate::{
    error::Result,
    inspect::info::frequency::{
        ordered_times::OrderedTimes, periods::Periods, time_sorter::TimeSorter,
    },
    time::clock::Seconds,
};

/// The periods and gaps between the records of a topic. A period is the time from one record
/// to the next.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct Frequency {
    /// One record per median period, like `rosbag info --freq` computes it. `None` if most
    /// records have the time of the record before.
    pub rate_hz: Option<f64>,
    /// The shortest period, in nanoseconds.
    pub min_period_ns: u64,
    /// The median period, in nanoseconds.
    pub median_period_ns: u64,
    /// Whether the median is only exact to a thousandth, because the log has too many
    /// different periods to keep all of them in memory.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub median_is_estimate: bool,
    /// The longest period, in nanoseconds.
    pub max_period_ns: u64,
    /// The standard deviation of the periods, in nanoseconds.
    pub jitter_ns: f64,
    /// The time at which the longest period starts, on the clock of the log.
    pub largest_gap_at_s: Seconds,
}

/// Measures all topics of `log` and returns their frequencies, indexed by topic. A topic with
/// fewer than two records has none. Records with impossible times are left out, as in
/// [`Topic::rate_hz`].
///
/// The records of most topics are in the order of time, and only the last time of a topic is
/// kept. Topics whose records are not in this order are read again and sorted.
///
/// # Errors
/// If reading fails.
pub(super) fn measure(log: &dyn Log) -> Result<Vec<Option<Frequency>>> {
    let mut ordered = OrderedTimes::new(log);
    ordered.read(log)?;
    if ordered.has_late_topics() {
        TimeSorter::new(&mut ordered).read(log)?;
    }
    Ok(ordered.periods.into_iter().map(Periods::frequency).collect())
}

/// Returns whether a record of this topic may have been written at `time`.
fn is_possible(log: &dyn Log, id: TopicId, time: Timestamp) -> bool {
    log.manifest().topic(id).is_ok_and(|topic: &Topic| {
        (topic.implausible_times, topic.before_start) == (0, 0)
            || topic.time.is_none_or(|possible| possible.contains(time))
    })
}
