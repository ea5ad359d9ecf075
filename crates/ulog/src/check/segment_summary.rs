//! Checks the messages of one segment, independently of the segments before it.

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{DamagedRangeCursor, Finding, Findings, ScanStep};

use crate::{
    check::{
        codes as code,
        id_map::{IdMap, Subscriptions},
        unsubscribed_data::SubscriptionActivity,
    },
    declarations::formats,
    level::Level,
    read::open_log::OpenLog,
    wire::{self, kind},
};

/// The findings about the messages of a segment.
pub(super) struct SegmentSummary {
    ids: IdMap,
    next_damage: DamagedRangeCursor,
    /// Findings that do not depend on earlier segments, in file order.
    pub(super) findings: Findings,
    /// Type definitions, to be compared with those of earlier segments.
    pub(super) formats: Vec<Format>,
    /// Information messages, to be compared with those of earlier segments.
    pub(super) informations: Vec<Information>,
    pub(super) subscribed: SubscriptionActivity,
    pub(super) totals: Totals,
}

/// The definition of a type.
pub(super) struct Format {
    pub(super) bytes: Range<u64>,
    pub(super) name: String,
    pub(super) text: String,
}

/// The byte range and the name of an information message.
pub(super) struct Information {
    pub(super) bytes: Range<u64>,
    pub(super) name: String,
}

/// Counters and flags that are evaluated at the end of the log.
#[derive(Default)]
pub(super) struct Totals {
    /// For each unknown message type, the number of messages and the offset of the
    /// first.
    pub(super) unknown: BTreeMap<u8, (u64, u64)>,
    pub(super) syncs: u64,
    pub(super) dropouts: Dropouts,
    pub(super) has_flags: bool,
    pub(super) has_defaults: bool,
    /// The offset of the first message that ends the definitions.
    pub(super) data_start: Option<u64>,
}

#[derive(Default)]
pub(super) struct Dropouts {
    pub(super) count: u64,
    pub(super) millis: u64,
    pub(super) longest_millis: u16,
    /// The offset of the first dropout.
    pub(super) first_offset: u64,
}

impl SegmentSummary {
    /// Returns an empty summary of the segment that starts at the offset `start`.
    pub(super) fn new(
        log: &OpenLog,
        subscriptions: &Subscriptions,
        start: u64,
    ) -> Self {
        Self {
            ids: IdMap::new(subscriptions, start),
            next_damage: DamagedRangeCursor::new(
                &log.format_state.damaged_ranges,
                start,
            ),
            findings: Findings::default(),
            formats: Vec::new(),
            informations: Vec::new(),
            subscribed: SubscriptionActivity::default(),
            totals: Totals::default(),
        }
    }

    /// Checks all complete messages in `bytes`, which begin at the offset `start` of the file.
    pub(super) fn check(
        &mut self,
        log: &OpenLog,
        subscriptions: &Subscriptions,
        start: u64,
        bytes: &[u8],
    ) {
        let mut position = 0;
        while position < bytes.len() as u64 {
            let offset = start + position;
            if let Some(next_damage) =
                self.next_damage.step(&log.format_state.damaged_ranges, offset)
            {
                let ScanStep::Damaged { len, .. } = next_damage else { return };
                position += len;
                continue;
            }
            let remaining = bytes.get(position as usize..).unwrap_or_default();
            let Some((size, kind)) = wire::header(remaining) else { return };
            let len = wire::HEADER_LEN + size;
            let Some(payload) = remaining.get(wire::HEADER_LEN..len) else { return };
            match kind {
                kind::DATA => self.check_data(offset, payload),
                _ => self.check_message(subscriptions, offset, kind, payload),
            }
            position += len as u64;
        }
    }

    /// Checks the data message at `offset`.
    #[inline]
    fn check_data(&mut self, offset: u64, payload: &[u8]) {
        let Some((id, record)) = wire::data(payload) else { return };
        self.subscribed.data(id, offset);
        if let Some(topic) = self.ids.padded_record_topic(id, record.len()) {
            let message = "records include trailing padding";
            let bytes = offset..offset + (wire::HEADER_LEN + payload.len()) as u64;
            let finding = Finding::new(&code::PADDED, message).with_topic(topic);
            self.findings.add(finding.with_bytes(bytes));
        }
    }

    /// Checks the message at `offset`, which is not a data message.
    fn check_message(
        &mut self,
        subscriptions: &Subscriptions,
        offset: u64,
        kind: u8,
        payload: &[u8],
    ) {
        let bytes = offset..offset + (wire::HEADER_LEN + payload.len()) as u64;
        let totals = &mut self.totals;
        match kind {
            kind::SYNC => {
                totals.syncs += 1;
                if payload != wire::SYNC {
                    let message = "the magic bytes are different";
                    self.findings.add(
                        Finding::new(&code::SYNC_WRONG, message).with_bytes(bytes),
                    );
                }
            }
            kind::FORMAT => {
                let Some((name, text)) = wire::format(payload) else { return };
                if formats::primitive(name).is_some() {
                    let message = format!("the type {name:?}");
                    let finding = Finding::new(&code::FORMAT_NAME, message);
                    self.findings.add(finding.with_bytes(bytes.clone()));
                }
                let (name, text) = (name.to_owned(), text.to_owned());
                self.formats.push(Format { bytes, name, text });
            }
            kind::SUBSCRIPTION => {
                totals.data_start.get_or_insert(offset);
                let id =
                    wire::subscription(payload).map(|subscription| subscription.id);
                id.into_iter().for_each(|id| self.subscribed.change(id, true));
                self.check_subscription(subscriptions, bytes, payload);
            }
            kind::DROPOUT => {
                let millis = wire::dropout(payload).unwrap_or(0);
                totals.dropouts.add(&Dropouts {
                    count: 1,
                    millis: millis.into(),
                    longest_millis: millis,
                    first_offset: offset,
                });
            }
            kind::FLAG_BITS => totals.has_flags = true,
            kind::DEFAULT_PARAMETER => {
                totals.has_defaults = true;
                let parameter = wire::flagged_keyed_value(payload);
                if let Some((bits, keyed)) = parameter.filter(|(bits, _)| bits & 3 == 0)
                {
                    let message = format!("{:?} has the bits {bits:#010b}", keyed.name);
                    let finding = Finding::new(&code::DEFAULT_BITS, message);
                    self.findings.add(finding.with_bytes(bytes));
                }
            }
            kind::INFO => {
                let name =
                    wire::keyed_value(payload).map(|keyed| keyed.name.to_owned());
                self.informations.extend(name.map(|name| Information { bytes, name }));
            }
            kind::UNSUBSCRIPTION => {
                let id = payload.first_chunk().map(|id| u16::from_le_bytes(*id));
                id.into_iter().for_each(|id| self.subscribed.change(id, false));
            }
            kind::INFO_MULTIPLE | kind::PARAMETER => {}
            kind::STRING | kind::TAGGED_STRING => {
                totals.data_start.get_or_insert(offset);
                let level =
                    wire::logged_string(kind, payload).map(|string| string.level);
                let level =
                    level.filter(|level| Level::from_log_byte(*level) > Level::DEBUG);
                if let Some(level) = level {
                    let message = format!("the level is {:?}", char::from(level));
                    self.findings
                        .add(Finding::new(&code::LEVEL, message).with_bytes(bytes));
                }
            }
            _ => totals.unknown.entry(kind).or_insert((0, offset)).0 += 1,
        }
    }

    /// Checks whether the subscription message in `bytes` reassigns a message id.
    fn check_subscription(
        &mut self,
        subscriptions: &Subscriptions,
        bytes: Range<u64>,
        payload: &[u8],
    ) {
        let is_due = |offset: u64| offset <= bytes.start;
        while let Some((id, previous, current)) =
            self.ids.apply_next(subscriptions, is_due)
        {
            if previous.is_some_and(|previous| previous.topic != current.topic) {
                let name = wire::subscription(payload).map_or("?", |s| s.name);
                let message = format!("the message id {id} is reassigned to {name:?}");
                let finding = Finding::new(&code::ID_REUSED, message);
                self.findings.add(finding.with_bytes(bytes.clone()));
            }
        }
    }
}

impl Totals {
    /// Adds the totals of the next segment.
    pub(super) fn add(&mut self, next: Self) {
        for (kind, (count, first)) in next.unknown {
            self.unknown.entry(kind).or_insert((0, first)).0 += count;
        }
        self.syncs += next.syncs;
        self.dropouts.add(&next.dropouts);
        self.has_flags |= next.has_flags;
        self.has_defaults |= next.has_defaults;
        self.data_start = self.data_start.or(next.data_start);
    }
}

impl Dropouts {
    fn add(&mut self, next: &Self) {
        if self.count == 0 {
            self.first_offset = next.first_offset;
        }
        self.count += next.count;
        self.millis += next.millis;
        self.longest_millis = self.longest_millis.max(next.longest_millis);
    }
}
