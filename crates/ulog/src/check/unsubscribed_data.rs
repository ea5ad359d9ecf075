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
    /// Data messages before the first change. They are late if the id was unsubscribed
    /// in an earlier segment.
    before: Data,
    /// Data messages after an unsubscription in this segment.
    late: Data,
}

/// The number of data messages, and the offset of the first.
#[derive(Clone, Copy, Default)]
struct Data {
    count: u64,
    first: u64,
}

impl SubscriptionActivity {
    /// Records a subscription (`A`) or an unsubscription (`R`).
    pub(super) fn change(&mut self, id: u16, is_subscribed: bool) {
        self.activity(id).is_subscribed = Some(is_subscribed);
    }

    /// Records the data message at offset `at`.
    #[inline]
    pub(super) fn data(&mut self, id: u16, at: u64) {
        let activity = self.activity(id);
        match activity.is_subscribed {
            Some(true) => {}
            Some(false) => activity.late.add(Data { count: 1, first: at }),
            None => activity.before.add(Data { count: 1, first: at }),
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
            let all = self.activity(id);
            match all.is_subscribed {
                Some(false) => all.late.add(activity.before),
                _ => all.before.add(activity.before),
            }
            all.late.add(activity.late);
            all.is_subscribed = activity.is_subscribed.or(all.is_subscribed);
        }
    }

    /// Adds a finding for each message id with late data.
    pub(super) fn finish(self, findings: &mut Findings) {
        for (id, Activity { late, .. }) in (0_u16..).zip(self.0) {
            if late.count > 0 {
                let message = format!("data of the message id {id}");
                let finding = Finding::new(&code::UNSUBSCRIBED, message);
                findings.add(
                    finding.with_bytes(late.first..late.first).with_count(late.count),
                );
            }
        }
    }
}

impl Data {
    fn add(&mut self, next: Self) {
        if self.count == 0 {
            self.first = next.first;
        }
        self.count += next.count;
    }
}
