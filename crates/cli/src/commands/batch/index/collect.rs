//! What comes of looking at logs, one after the other.

use logtool::Result;
use serde_json::{Value, json};

use crate::commands::batch::{
    entry::Entry,
    index::{
        previous::{Old, OldLog},
        spool::Spool,
    },
    inputs::Found,
    report::Report,
};

/// What came of looking at a log.
pub(super) enum Looked<'o> {
    /// It is as it was.
    Before(&'o OldLog),
    Now(Box<Entry>),
}

/// Takes what comes of looking at logs.
pub(super) struct Taking<'o> {
    old: &'o Old,
    /// What is to be in the catalog.
    pub(super) spool: Spool<'o>,
    /// Why it is not all there, if it is not.
    pub(super) spooled: Result<()>,
    pub(super) report: Report,
}

/// Why what is said of a log is of before, where all were to be looked into again.
const UNSEEN: &str =
    "it cannot be seen now, to be looked into again: this is what was known before";

impl<'o> Taking<'o> {
    /// Nothing yet, beside the catalog that was there before.
    pub(super) fn new(old: &'o Old, report: Report) -> Self {
        Self { old, spool: Spool::new(old), spooled: Ok(()), report }
    }

    /// Takes over what is known of `log`, which cannot be seen now.
    pub(super) fn keep(&mut self, log: &'o OldLog) {
        // What has an error is looked into again, once it can be seen.
        let error = self.old.is_anew.then(|| UNSEEN.to_owned());
        self.spool.keep(log, &log.name, error);
    }

    /// Takes what came of the log `found`, which is called `name`; gives what is told of it to
    /// programs.
    pub(super) fn take(
        &mut self,
        found: &Found,
        name: &str,
        done: Result<Looked<'o>>,
    ) -> Value {
        let source = found.shown();
        let mut event = json!({ "event": "log", "log": name, "source": source });
        let (outcome, damage) = match done {
            Ok(Looked::Before(log)) => {
                self.report.before += 1;
                self.spool.keep(log, name, None);
                ("known", self.old.damage(log))
            }
            Ok(Looked::Now(entry)) => {
                self.report.now += 1;
                self.report.bytes += found.bytes;
                self.add(&entry);
                ("indexed", entry.damage)
            }
            Err(err) => {
                let error = format!("{err}");
                event["error"] = json!(error);
                self.report.fail(source.clone(), &error);
                let error = Some(error);
                match self.old.logs.get(&found.source) {
                    Some(log) => self.spool.keep(log, name, error),
                    None => self.add(&Entry { error, ..Entry::of(found, name) }),
                }
                ("failed", None)
            }
        };
        event["outcome"] = json!(outcome);
        event["damage"] = json!(damage);
        self.report.damaged.extend(damage.map(|damage| (source, damage)));
        event
    }

    fn add(&mut self, entry: &Entry) {
        if self.spooled.is_ok() {
            self.spooled = self.spool.add(entry);
        }
    }
}
