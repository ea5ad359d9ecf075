//! What is odd about the messages of a log, stretch by stretch.

use std::collections::{HashMap, HashSet};

use logtool_core::{Finding, Findings, Value};

use crate::{
    check::{
        codes as code,
        seen::{Dropouts, Format, Information, Seen, Totals},
        unsubscribed::Subscriptions,
    },
    open_log::Opened,
};

/// What goes from stretch to stretch.
#[derive(Default)]
pub(super) struct Messages {
    /// The texts of types.
    types: HashMap<String, String>,
    /// The names of informations.
    informations: HashSet<String>,
    subscribed: Subscriptions,
    totals: Totals,
}

impl Messages {
    /// Takes the next stretch, in the order of the file.
    pub(super) fn add(&mut self, seen: Seen, findings: &mut Findings) {
        let Seen { findings: odd, formats, informations, subscribed, totals, .. } =
            seen;
        self.subscribed.add(subscribed);
        for Information { bytes, name } in informations {
            if self.informations.contains(&name) {
                let what = format!("the key {name:?} occurs again");
                findings.add(Finding::new(&code::INFO_DUPLICATE, what).at(bytes));
            } else {
                self.informations.insert(name);
            }
        }
        let data_at = self.totals.data_at.or(totals.data_at);
        let mut formats = formats.into_iter().peekable();
        for finding in odd.iter() {
            let at = finding.bytes.as_ref().map_or(0, |bytes| bytes.start);
            while let Some(format) = formats.next_if(|f| f.bytes.start < at) {
                self.format(format, data_at, findings);
            }
            findings.add(finding.clone());
        }
        for format in formats {
            self.format(format, data_at, findings);
        }
        self.totals.add(totals);
    }

    /// Takes a definition; something ended the definitions at `data_at`.
    fn format(
        &mut self,
        format: Format,
        data_at: Option<u64>,
        findings: &mut Findings,
    ) {
        let Format { bytes, name, text } = format;
        if data_at.is_some_and(|at| at < bytes.start) {
            let what = format!("the type {name:?} is defined among the data");
            findings.add(Finding::new(&code::FORMAT_LATE, what).at(bytes.clone()));
        }
        match self.types.get_mut(&name) {
            Some(before) if *before != text => {
                let what = format!("the type {name:?} is defined anew, differently");
                findings.add(Finding::new(&code::FORMAT_REDEFINED, what).at(bytes));
                *before = text;
            }
            Some(_) => {}
            None => {
                self.types.insert(name, text);
            }
        }
    }

    /// Tells of what is only known at the end.
    pub(super) fn finish(self, log: &Opened, findings: &mut Findings) {
        self.subscribed.finish(findings);
        for name in &log.header.latin1 {
            let what = format!("the information {name:?}");
            findings.add(Finding::new(&code::INFO_TEXT, what));
        }
        let Totals { unknown, syncs, dropouts, has_flags, has_defaults, .. } =
            self.totals;
        for (kind, (count, at)) in unknown {
            let what = format!("messages of the type {:?}", char::from(kind));
            let finding = Finding::new(&code::UNKNOWN_MESSAGE, what).at(at..at + 3);
            findings.add(finding.times(count));
        }
        let head = &log.notes.head;
        if !has_flags {
            let what = "the log has no flag bits";
            findings.add(Finding::new(&code::FLAGS_MISSING, what));
        }
        let is_flagged =
            head.compatible_flags.first().is_some_and(|bits| bits & 1 != 0);
        if has_flags && is_flagged != has_defaults {
            let what = match is_flagged {
                true => "the flag is set, and there are no default parameters",
                false => "there are default parameters, and the flag is not set",
            };
            findings.add(Finding::new(&code::DEFAULTS, what).at(19..20));
        }
        if syncs == 0 {
            let what = "the log has no sync marks";
            findings.add(Finding::new(&code::SYNC_MISSING, what));
        }
        let Dropouts { count, millis, longest, first } = dropouts;
        if count > 0 {
            let what = format!("{millis} ms in all, {longest} ms at most");
            let finding = Finding::new(&code::DROPOUT, what).at(first..first + 5);
            findings.add(finding.times(count));
        }
        if let Some(Value::Text(name)) = replayed(log) {
            let what = format!("this is a replay of {name}");
            findings.add(Finding::new(&code::REPLAY, what));
        }
    }
}

/// What the log is a replay of.
fn replayed(log: &Opened) -> Option<&Value> {
    match log.manifest.metadata.get("info")? {
        Value::Map(info) => info.get("replay"),
        _ => None,
    }
}
