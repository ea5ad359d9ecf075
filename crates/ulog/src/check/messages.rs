//! What is odd about messages, one by one.

use std::collections::{BTreeMap, HashMap};

use logtool_core::{Finding, Findings, Layout, TopicId};

use crate::{
    check::{Checked, codes as code},
    registry::Declaration,
    wire::{self, kind},
};

/// Follows the messages of a log.
pub(super) struct Messages<'l> {
    log: &'l Checked<'l>,
    /// What ids stand for, and the next declaration that may change that.
    topics: HashMap<u16, TopicId>,
    declaration: usize,
    /// The texts of types.
    types: HashMap<String, String>,
    unknown: BTreeMap<u8, (u64, u64)>,
    syncs: u64,
    dropouts: Dropouts,
    has_flags: bool,
    has_defaults: bool,
    /// Where something came that ends the definitions.
    data_at: Option<u64>,
}

#[derive(Default)]
struct Dropouts {
    count: u64,
    millis: u64,
    longest: u16,
    first: u64,
}

impl<'l> Messages<'l> {
    pub(super) fn new(log: &'l Checked<'l>) -> Self {
        Self {
            log,
            topics: HashMap::new(),
            declaration: 0,
            types: HashMap::new(),
            unknown: BTreeMap::new(),
            syncs: 0,
            dropouts: Dropouts::default(),
            has_flags: false,
            has_defaults: false,
            data_at: None,
        }
    }

    /// Takes the message at `at`.
    pub(super) fn take(
        &mut self,
        at: u64,
        kind: u8,
        payload: &[u8],
        findings: &mut Findings,
    ) {
        let end = at + (wire::HEADER_LEN + payload.len()) as u64;
        match kind {
            kind::DATA => self.data(at, payload, findings),
            kind::SYNC => {
                self.syncs += 1;
                if payload != wire::SYNC {
                    let what = "its bytes are others";
                    findings.add(Finding::new(&code::SYNC_WRONG, what).at(at..end));
                }
            }
            kind::FORMAT => self.format(at..end, payload, findings),
            kind::SUBSCRIPTION => self.subscription(at..end, payload, findings),
            kind::DROPOUT => {
                let millis = wire::dropout(payload).unwrap_or(0);
                let dropouts = &mut self.dropouts;
                if dropouts.count == 0 {
                    dropouts.first = at;
                }
                dropouts.count += 1;
                dropouts.millis += u64::from(millis);
                dropouts.longest = dropouts.longest.max(millis);
            }
            kind::FLAG_BITS => self.has_flags = true,
            kind::DEFAULT_PARAMETER => self.has_defaults = true,
            kind::INFO
            | kind::INFO_MULTIPLE
            | kind::PARAMETER
            | kind::UNSUBSCRIPTION => {}
            kind::STRING | kind::TAGGED_STRING => {
                self.data_at.get_or_insert(at);
            }
            _ => self.unknown.entry(kind).or_insert((0, at)).0 += 1,
        }
    }

    #[inline]
    fn data(&mut self, at: u64, payload: &[u8], findings: &mut Findings) {
        let Some((id, record)) = wire::data(payload) else { return };
        let Some(topic) = self.topics.get(&id).copied() else { return };
        let declared = self.log.registry.topics.get(topic.index());
        let is_padded = |layout: &Layout| {
            record.len() == layout.size as usize
                && layout.size_without_padding() < layout.size
        };
        let layout = declared.and_then(|declared| declared.layout.as_ref().ok());
        if layout.is_some_and(|layout| is_padded(layout)) {
            let what = "records have the padding at their ends";
            let bytes = at..at + (wire::HEADER_LEN + payload.len()) as u64;
            findings.add(Finding::new(&code::PADDED, what).of(topic).at(bytes));
        }
    }

    fn format(
        &mut self,
        bytes: std::ops::Range<u64>,
        payload: &[u8],
        findings: &mut Findings,
    ) {
        let Some((name, text)) = wire::format(payload) else { return };
        if self.data_at.is_some() {
            let what = format!("the type {name:?} is defined among the data");
            findings.add(Finding::new(&code::FORMAT_LATE, what).at(bytes.clone()));
        }
        match self.types.insert(name.to_owned(), text.to_owned()) {
            Some(before) if before != text => {
                let what = format!("the type {name:?} is defined anew, differently");
                findings.add(Finding::new(&code::FORMAT_REDEFINED, what).at(bytes));
            }
            _ => {}
        }
    }

    fn subscription(
        &mut self,
        bytes: std::ops::Range<u64>,
        payload: &[u8],
        findings: &mut Findings,
    ) {
        self.data_at.get_or_insert(bytes.start);
        let declarations = &self.log.notes.declarations;
        while let Some(declaration) = declarations.get(self.declaration) {
            if let Declaration::Subscription { offset, id, topic, .. } = declaration {
                if *offset > bytes.start {
                    break;
                }
                let before = self.topics.insert(*id, *topic);
                if before.is_some_and(|before| before != *topic) {
                    let name = wire::subscription(payload).map_or("?", |s| s.name);
                    let what = format!("the id {id} stands for {name:?} from here on");
                    findings
                        .add(Finding::new(&code::ID_REUSED, what).at(bytes.clone()));
                }
            }
            self.declaration += 1;
        }
    }

    /// Tells of what is only known at the end.
    pub(super) fn finish(self, findings: &mut Findings) {
        for (kind, (count, at)) in self.unknown {
            let what = format!("messages of the type {:?}", char::from(kind));
            let finding = Finding::new(&code::UNKNOWN_MESSAGE, what).at(at..at + 3);
            findings.add(finding.times(count));
        }
        let head = &self.log.notes.head;
        if !self.has_flags {
            let what = "the log has no flag bits";
            findings.add(Finding::new(&code::FLAGS_MISSING, what));
        }
        let is_flagged =
            head.compatible_flags.first().is_some_and(|bits| bits & 1 != 0);
        if self.has_flags && is_flagged != self.has_defaults {
            let what = match is_flagged {
                true => "the flag is set, and there are no default parameters",
                false => "there are default parameters, and the flag is not set",
            };
            findings.add(Finding::new(&code::DEFAULTS, what).at(19..20));
        }
        if self.syncs == 0 {
            let what = "the log has no sync marks";
            findings.add(Finding::new(&code::SYNC_MISSING, what));
        }
        let Dropouts { count, millis, longest, first } = self.dropouts;
        if count > 0 {
            let what = format!("{millis} ms in all, {longest} ms at most");
            let finding = Finding::new(&code::DROPOUT, what).at(first..first + 5);
            findings.add(finding.times(count));
        }
        if let Some(logtool_core::Value::Text(name)) = replayed(self.log) {
            let what = format!("this is a replay of {name}");
            findings.add(Finding::new(&code::REPLAY, what));
        }
    }
}

/// What the log is a replay of.
fn replayed<'l>(log: &Checked<'l>) -> Option<&'l logtool_core::Value> {
    match log.manifest.metadata.get("info")? {
        logtool_core::Value::Map(info) => info.get("replay"),
        _ => None,
    }
}
