//! Merges the findings about messages, segment by segment.

use std::collections::{HashMap, HashSet};

use logtool_core::{Finding, Findings, MetadataKey, Value};

use crate::{
    check::{
        codes as code,
        segment_summary::{Dropouts, Format, Information, SegmentSummary, Totals},
        unsubscribed_data::SubscriptionActivity,
    },
    read::open_log::OpenLog,
};

/// State that continues from one segment to the next.
#[derive(Default)]
pub(super) struct MessageFindings {
    /// The definition of each type, by name.
    types: HashMap<String, String>,
    /// The names of all information messages.
    informations: HashSet<String>,
    subscribed: SubscriptionActivity,
    totals: Totals,
}

impl MessageFindings {
    /// Merges the next segment. Segments must be added in file order.
    pub(super) fn add(&mut self, summary: SegmentSummary, findings: &mut Findings) {
        let SegmentSummary {
            findings: segment_findings,
            formats,
            informations,
            subscribed,
            totals,
            ..
        } = summary;
        self.subscribed.add(subscribed);
        for Information { bytes, name } in informations {
            if self.informations.contains(&name) {
                let message = format!("the key {name:?} occurs again");
                findings.add(
                    Finding::new(&code::INFO_DUPLICATE, message).with_bytes(bytes),
                );
            } else {
                self.informations.insert(name);
            }
        }
        let data_start = self.totals.data_start.or(totals.data_start);
        let mut formats = formats.into_iter().peekable();
        for finding in segment_findings.iter() {
            let offset = finding.bytes.as_ref().map_or(0, |bytes| bytes.start);
            while let Some(format) = formats.next_if(|f| f.bytes.start < offset) {
                self.check_format(format, data_start, findings);
            }
            findings.add(finding.clone());
        }
        for format in formats {
            self.check_format(format, data_start, findings);
        }
        self.totals.add(totals);
    }

    /// Checks the definition of a type. The definitions section ends at `data_start`.
    fn check_format(
        &mut self,
        format: Format,
        data_start: Option<u64>,
        findings: &mut Findings,
    ) {
        let Format { bytes, name, text } = format;
        if data_start.is_some_and(|offset| offset < bytes.start) {
            let message = format!("the type {name:?} is defined in the data section");
            findings.add(
                Finding::new(&code::FORMAT_LATE, message).with_bytes(bytes.clone()),
            );
        }
        match self.types.get_mut(&name) {
            Some(previous) if *previous != text => {
                let message = format!("the type {name:?} is redefined");
                findings.add(
                    Finding::new(&code::FORMAT_REDEFINED, message).with_bytes(bytes),
                );
                *previous = text;
            }
            Some(_) => {}
            None => {
                self.types.insert(name, text);
            }
        }
    }

    /// Adds the findings that are known only at the end of the log.
    pub(super) fn finish(self, log: &OpenLog, findings: &mut Findings) {
        self.subscribed.finish(findings);
        for name in &log.metadata.latin1 {
            let message = format!("the information {name:?}");
            findings.add(Finding::new(&code::INFO_TEXT, message));
        }
        let Totals { unknown, syncs, dropouts, has_flags, has_defaults, .. } =
            self.totals;
        for (kind, (count, offset)) in unknown {
            let message = format!("messages of the type {:?}", char::from(kind));
            let finding = Finding::new(&code::UNKNOWN_MESSAGE, message)
                .with_bytes(offset..offset + 3);
            findings.add(finding.with_count(count));
        }
        let header = &log.format_state.file_header;
        if !has_flags {
            let message = "the log has no flag bits message";
            findings.add(Finding::new(&code::FLAGS_MISSING, message));
        }
        let is_flagged =
            header.compatible_flags.first().is_some_and(|bits| bits & 1 != 0);
        if has_flags && is_flagged != has_defaults {
            let message = if is_flagged {
                "the flag is set, but the log has no default parameters"
            } else {
                "the log has default parameters, but the flag is not set"
            };
            findings.add(Finding::new(&code::DEFAULTS, message).with_bytes(19..20));
        }
        if syncs == 0 {
            let message = "the log has no sync messages";
            findings.add(Finding::new(&code::SYNC_MISSING, message));
        }
        let Dropouts { count, millis, longest_millis, first_offset } = dropouts;
        if count > 0 {
            let message =
                format!("{millis} ms in total, the longest {longest_millis} ms");
            let finding = Finding::new(&code::DROPOUT, message)
                .with_bytes(first_offset..first_offset + 5);
            findings.add(finding.with_count(count));
        }
        if let Some(Value::Text(name)) = replayed_log(log) {
            let message = format!("this is a replay of {name}");
            findings.add(Finding::new(&code::REPLAY, message));
        }
    }
}

/// Returns the name of the log that this log is a replay of.
fn replayed_log(log: &OpenLog) -> Option<&Value> {
    match log.manifest.file_metadata(MetadataKey::Info)? {
        Value::Map(info) => info.get("replay"),
        _ => None,
    }
}
