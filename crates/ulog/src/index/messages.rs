//! The part of the index pass that processes messages other than data messages.

use std::ops::Range;

use logtool_core::{Damage, DamageKind, LayoutKind, Primitive, TimeRange};

use crate::{
    declarations::{formats::DefineResult, metadata::MetadataResult},
    index::IndexPass,
    time::utc_offset,
    topics::registry::{Declaration, SubscribeResult},
    wire::{self, kind},
};

/// The maximum number of declarations.
pub(crate) const MAX_DECLARATIONS: usize = 1 << 20;
/// The maximum number of notes.
const MAX_REMARKS: usize = 100;

impl IndexPass {
    /// Processes a message that is not a data message. Returns true if it is a message.
    pub(super) fn process_other(
        &mut self,
        offset: u64,
        bytes: &[u8],
        kind: u8,
        payload: &[u8],
    ) -> bool {
        let len = wire::HEADER_LEN + payload.len();
        let result = match kind {
            kind::FLAG_BITS | kind::UNSUBSCRIPTION => Some(MetadataResult::Accepted),
            kind::FORMAT => {
                let range = offset..offset + len as u64;
                wire::format(payload)
                    .map(|(name, text)| self.add_format(name, text, range))
            }
            kind::SUBSCRIPTION => {
                self.start_data(offset);
                wire::subscription(payload).map(|subscription| {
                    self.add_subscription(offset, &subscription);
                    MetadataResult::Accepted
                })
            }
            kind::SYNC | kind::DROPOUT | kind::STRING | kind::TAGGED_STRING => {
                if matches!(kind, kind::STRING | kind::TAGGED_STRING) {
                    self.start_data(offset);
                }
                let streams = &mut self.registry.streams;
                self.statistics
                    .built_in(streams, kind, payload)
                    .map(|()| MetadataResult::Accepted)
            }
            kind::INFO
            | kind::INFO_MULTIPLE
            | kind::PARAMETER
            | kind::DEFAULT_PARAMETER => self.add_metadata(offset, kind, payload),
            _ => return self.count_unknown_message(offset, bytes, kind, len),
        };
        let damage_kind = match result {
            Some(MetadataResult::Accepted) => return true,
            Some(MetadataResult::OverLimit) => DamageKind::OverLimit,
            Some(MetadataResult::TypeMismatch) | None => DamageKind::Undecodable,
        };
        let damage =
            Damage::new(damage_kind, offset..offset + len as u64).with_records(1, None);
        self.report_lost_record(bytes, len, damage).is_some()
    }

    fn start_data(&mut self, offset: u64) {
        self.data_start.get_or_insert(offset);
    }

    fn add_metadata(
        &mut self,
        offset: u64,
        kind: u8,
        payload: &[u8],
    ) -> Option<MetadataResult> {
        let is_change = kind == kind::PARAMETER && self.data_start.is_some();
        let time = self.registry.streams.untimed_message_time();
        let change = is_change.then_some((time, offset));
        let result = self.metadata.add(kind, payload, change)?;
        if is_change && result != MetadataResult::TypeMismatch {
            self.statistics.built_in.changes += 1;
            self.statistics
                .parts
                .built_in(&TimeRange::from_timestamp(time), |bits| bits.changes = true);
        }
        if result == MetadataResult::Accepted {
            if self.declarations.len() >= MAX_DECLARATIONS {
                return Some(MetadataResult::OverLimit);
            }
            let payload = payload.to_vec();
            self.declarations.push(Declaration::Metadata { kind, payload, change });
        }
        Some(result)
    }

    fn add_format(
        &mut self,
        name: &str,
        text: &str,
        bytes: Range<u64>,
    ) -> MetadataResult {
        match self.registry.define(name, text) {
            DefineResult::Unchanged => return MetadataResult::Accepted,
            DefineResult::TooMany => return MetadataResult::OverLimit,
            DefineResult::New => {}
            DefineResult::Redefined => {
                self.remark(format!("the type {name:?} is redefined"));
            }
        }
        if self.declarations.len() >= MAX_DECLARATIONS {
            return MetadataResult::OverLimit;
        }
        self.format_ranges.entry(name.to_owned()).or_insert(bytes);
        self.declarations.push(Declaration::Format(name.to_owned(), text.to_owned()));
        MetadataResult::Accepted
    }

    fn add_subscription(&mut self, offset: u64, subscription: &wire::Subscription<'_>) {
        let wire::Subscription { instance, id, name } = *subscription;
        if self.declarations.len() >= MAX_DECLARATIONS {
            return self.remark(format!("too many subscriptions: {name:?} is ignored"));
        }
        let topic = match self.registry.subscribe(id, name, instance) {
            SubscribeResult::Assigned(topic) => topic,
            SubscribeResult::Reassigned(topic) => {
                let action = "is reassigned to";
                self.remark(format!(
                    "the message id {id} {action} {name:?} at byte {offset}"
                ));
                topic
            }
            SubscribeResult::TooMany => {
                return self.remark(format!("too many topics: {name:?} is ignored"));
            }
        };
        self.declarations.push(Declaration::Subscription {
            offset,
            id,
            name: name.to_owned(),
            instance,
            topic,
        });
        for index in self.statistics.stats.len()..self.registry.topics.len() {
            self.statistics.grow(self.utc_offset(index));
        }
    }

    /// Returns the offset of the field with UTC in the records of a topic, if there is
    /// one.
    fn utc_offset(&self, index: usize) -> Option<u32> {
        let declared = &self.registry.topics[index];
        let fields = &declared.layout.as_ref().ok()?.fields;
        let field = fields.iter().find(|field| {
            field.name == utc_offset::FIELD
                && field.kind == LayoutKind::Primitive(Primitive::U64)
                && field.count.is_none()
        });
        let field =
            field.filter(|_| utc_offset::TOPICS.contains(&&*declared.type_name));
        field.map(|field| field.offset)
    }

    /// Counts the message of an unknown type at the start of `bytes`. Returns false if it is not a
    /// message.
    fn count_unknown_message(
        &mut self,
        offset: u64,
        bytes: &[u8],
        kind: u8,
        len: usize,
    ) -> bool {
        if !kind.is_ascii_alphabetic() || !self.is_followed_by_message(bytes, len) {
            return false;
        }
        self.unknown_messages.entry(kind).or_insert((0, offset)).0 += 1;
        true
    }

    pub(super) fn remark(&mut self, remark: String) {
        if self.remarks.len() < MAX_REMARKS {
            self.remarks.push(remark);
        }
    }
}
