//! Losses, summed for each topic.

use std::collections::BTreeMap;

use logtool_core::{TimeRange, TopicId};

use crate::source::losses::Findings;

/// The losses of one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopicLoss {
    /// The label of the topic. `None` where the topic of the lost bytes is unknown.
    pub topic: Option<String>,
    /// The number of records that are known to be lost.
    pub records: u64,
    /// The number of damaged byte ranges.
    pub damaged_ranges: u64,
    /// The number of damaged ranges with an unknown number of lost records.
    pub uncounted_ranges: u64,
    /// The times between which the records were lost, on the clock of the log, where known.
    pub time: Option<TimeRange>,
}

impl Findings {
    /// Returns the losses of each topic; losses of unknown topics come last.
    pub fn topic_losses(&mut self) -> Vec<TopicLoss> {
        let mut losses: BTreeMap<Option<TopicId>, TopicLoss> = BTreeMap::new();
        for finding in self.sorted_findings() {
            let damage = &finding.damage;
            if !damage.kind.is_loss() {
                continue;
            }
            let loss = losses.entry(damage.topic).or_default();
            loss.topic.clone_from(&finding.topic);
            loss.records = loss.records.saturating_add(damage.records);
            loss.damaged_ranges += 1;
            loss.uncounted_ranges += u64::from(damage.records == 0);
            loss.time = match (loss.time, damage.time) {
                (Some(known), Some(time)) => Some(known.cover(&time)),
                (known, time) => known.or(time),
            };
        }
        let mut losses: Vec<TopicLoss> = losses.into_values().collect();
        losses.sort_by_key(|loss| loss.topic.is_none());
        losses
    }
}
