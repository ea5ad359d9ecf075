//! Data after the unsubscription of their message id.

use logtool_core::{Finding, Findings};

use crate::check::codes as code;

/// What a stretch has of each message id, by id as far as there are some.
#[derive(Default)]
pub(super) struct Subscriptions(Vec<Activity>);

/// What a stretch has of one message id.
#[derive(Clone, Copy, Default)]
struct Activity {
    /// Whether the id is subscribed at the end; nothing if the stretch does not change it.
    is_subscribed: Option<bool>,
    /// The data before the first change, which are late if the id was unsubscribed before.
    before: Data,
    /// The data after an unsubscription in the stretch.
    late: Data,
}

/// A number of data messages, and where the first begins.
#[derive(Clone, Copy, Default)]
struct Data {
    count: u64,
    first: u64,
}

impl Subscriptions {
    /// Takes a subscription (`A`) or an unsubscription (`R`).
    pub(super) fn change(&mut self, id: u16, is_subscribed: bool) {
        self.of(id).is_subscribed = Some(is_subscribed);
    }

    /// Takes the data message at `at`.
    #[inline]
    pub(super) fn data(&mut self, id: u16, at: u64) {
        let activity = self.of(id);
        match activity.is_subscribed {
            Some(true) => {}
            Some(false) => activity.late.add(Data { count: 1, first: at }),
            None => activity.before.add(Data { count: 1, first: at }),
        }
    }

    #[inline]
    fn of(&mut self, id: u16) -> &mut Activity {
        let index = usize::from(id);
        if index >= self.0.len() {
            self.0.resize(index + 1, Activity::default());
        }
        &mut self.0[index]
    }

    /// Adds the stretch behind this one.
    pub(super) fn add(&mut self, next: Self) {
        for (id, activity) in (0_u16..).zip(next.0) {
            let all = self.of(id);
            match all.is_subscribed {
                Some(false) => all.late.add(activity.before),
                _ => all.before.add(activity.before),
            }
            all.late.add(activity.late);
            all.is_subscribed = activity.is_subscribed.or(all.is_subscribed);
        }
    }

    /// Adds a finding for each id with late data.
    pub(super) fn finish(self, findings: &mut Findings) {
        for (id, Activity { late, .. }) in (0_u16..).zip(self.0) {
            if late.count > 0 {
                let what = format!("data of the message id {id}");
                let finding = Finding::new(&code::UNSUBSCRIBED, what);
                findings.add(finding.at(late.first..late.first).times(late.count));
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
