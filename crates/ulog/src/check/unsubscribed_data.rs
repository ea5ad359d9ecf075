//! Finds data messages after the unsubscription of their message id.

use logtool_core::{Finding, Findings};

use crate::check::codes as code;

/// The activity of all message ids in a segment, indexed by message id.
#[derive(Default)]
pub(super) struct SubscriptionActivity(Vec<Activity>);

/// The activity of one message id in a segment.
#[derive(Clone, Copy, Default)]
struct Activity {
    /// The state at the end of the segment; `None` if the segment does not change it.
    is_subscribed: Option<bool>,
    /// The data messages before the first change in this segment. They are late if the id was
    /// unsubscribed in an earlier segment.
    before_change: Data,
    /// The data messages after an unsubscription in this segment.
    late: Data,
}

/// The number of data messages, and the offset of the first one.
#[derive(Clone, Copy, Default)]
struct Data {
    count: u64,
    first_offset: u64,
}

impl SubscriptionActivity {
    /// Records a subscription (`A`) or an unsubscription (`R`).
    pub(super) fn change(&mut self, id: u16, is_subscribed: bool) {
        self.activity(id).is_subscribed = Some(is_subscribed);
    }

    /// Records the data message at the offset `offset`.
    #[inline]
    pub(super) fn data(&mut self, id: u16, offset: u64) {
        let activity = self.activity(id);
        match activity.is_subscribed {
            Some(true) => {}
            Some(false) => activity.late.add(Data { count: 1, first_offset: offset }),
            None => activity.before_change.add(Data { count: 1, first_offset: offset }),
        }
    }

    #[inline]
    fn activity(&mut self, id: u16) -> &mut Activity {
        let index = usize::from(id);
        if index >= self.0.len() {
            self.0.resize(index + 1, Activity::default());
        }
        &mut self.0[index]
    }

    /// Adds the next segment.
    pub(super) fn add(&mut self, next: Self) {
        for (id, activity) in (0_u16..).zip(next.0) {
            let total = self.activity(id);
            match total.is_subscribed {
                Some(false) => total.late.add(activity.before_change),
                _ => total.before_change.add(activity.before_change),
            }
            total.late.add(activity.late);
            total.is_subscribed = activity.is_subscribed.or(total.is_subscribed);
        }
    }

    /// Adds a finding for each message id with late data.
    pub(super) fn finish(self, findings: &mut Findings) {
        for (id, Activity { late, .. }) in (0_u16..).zip(self.0) {
            if late.count > 0 {
                let message = format!("data of the message id {id}");
                let finding = Finding::new(&code::UNSUBSCRIBED, message);
                findings.add(
                    finding
                        .with_bytes(late.first_offset..late.first_offset)
                        .with_count(late.count),
                );
            }
        }
    }
}

impl Data {
    fn add(&mut self, next: Self) {
        if self.count == 0 {
            self.first_offset = next.first_offset;
        }
        self.count += next.count;
    }
}
