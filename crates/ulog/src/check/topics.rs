//! Checks the declared topics.

use logtool_core::{Finding, Findings, TopicId};

use crate::{
    check::codes as code, declarations::formats::split_array, read::open_log::OpenLog,
    topics::registry::DeclaredTopic,
};

/// Adds findings about the topics of `log`.
pub(super) fn check(log: &OpenLog, findings: &mut Findings) {
    for (id, declared) in (0..).map(TopicId).zip(&log.registry.topics) {
        let finding = match &declared.layout {
            Err(reason) => Some(Finding::new(&code::TYPE_BROKEN, reason.clone())),
            Ok(_) => timestamp_finding(declared),
        };
        add_finding(finding, id, findings);
        let topic = log.manifest.topics.get(id.index());
        let implausible =
            topic.map(|topic| topic.implausible_times).filter(|count| *count > 0);
        if let Some(count) = implausible {
            let message = "the time is 0, or far from the times around it";
            let finding =
                Finding::new(&code::TIMESTAMP_IMPOSSIBLE, message).with_count(count);
            add_finding(Some(finding), id, findings);
        }
    }
}

/// Adds `finding`, if there is one, with the topic `id`.
fn add_finding(finding: Option<Finding>, id: TopicId, findings: &mut Findings) {
    finding.into_iter().for_each(|finding| findings.add(finding.with_topic(id)));
}

/// Returns a finding if the type of a topic has no timestamp, or one of fewer than 64
/// bits.
fn timestamp_finding(declared: &DeclaredTopic) -> Option<Finding> {
    let mut fields = declared.text.split(';').filter_map(|field| {
        let (type_name, name) = field.trim().split_once(char::is_whitespace)?;
        (name.trim() == "timestamp").then_some(type_name)
    });
    match fields.next().and_then(split_array) {
        Some(("uint64_t", None)) => None,
        Some((type_name @ ("uint32_t" | "uint16_t" | "uint8_t"), None)) => {
            let message = format!("the timestamp is a {type_name}");
            Some(Finding::new(&code::TIMESTAMP_NARROW, message))
        }
        _ => {
            let message = "its records have no timestamp";
            Some(Finding::new(&code::TIMESTAMP_MISSING, message))
        }
    }
}
