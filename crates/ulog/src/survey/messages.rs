//! What the survey takes from messages that are not data.

use std::ops::Range;

use logtool_core::{Damage, DamageKind, LayoutKind, Primitive, TimeRange};

use crate::{
    formats::Defined,
    header::Kept,
    registry::{Declaration, Subscribed},
    survey::Survey,
    utc_offset,
    wire::{self, kind},
};

/// How many declarations are kept.
const MAX_DECLARATIONS: usize = 1 << 20;
/// How many remarks are.
const MAX_REMARKS: usize = 100;

impl Survey {
    /// Takes a message that is not data; says whether it is one.
    pub(super) fn other(
        &mut self,
        at: u64,
        rest: &[u8],
        kind: u8,
        payload: &[u8],
    ) -> bool {
        let len = wire::HEADER_LEN + payload.len();
        let taken = match kind {
            kind::FLAG_BITS | kind::UNSUBSCRIPTION => Some(Kept::Yes),
            kind::FORMAT => {
                let bytes = at..at + len as u64;
                wire::format(payload).map(|(name, text)| self.format(name, text, bytes))
            }
            kind::SUBSCRIPTION => {
                self.data_begins(at);
                wire::subscription(payload).map(|subscription| {
                    self.subscription(at, &subscription);
                    Kept::Yes
                })
            }
            kind::SYNC | kind::DROPOUT | kind::STRING | kind::TAGGED_STRING => {
                if matches!(kind, kind::STRING | kind::TAGGED_STRING) {
                    self.data_begins(at);
                }
                let streams = &mut self.registry.streams;
                self.tally.built_in(streams, kind, payload).map(|()| Kept::Yes)
            }
            kind::INFO
            | kind::INFO_MULTIPLE
            | kind::PARAMETER
            | kind::DEFAULT_PARAMETER => self.metadata_message(at, kind, payload),
            _ => return self.unknown(at, rest, kind, len),
        };
        let lost = match taken {
            Some(Kept::Yes) => return true,
            Some(Kept::NoRoom) => DamageKind::OverLimit,
            Some(Kept::Misfit) | None => DamageKind::Undecodable,
        };
        let lost = Damage::new(lost, at..at + len as u64).with_records(1, None);
        self.lost_record(rest, len, lost).is_some()
    }

    fn data_begins(&mut self, at: u64) {
        self.data_start.get_or_insert(at);
    }

    fn metadata_message(&mut self, at: u64, kind: u8, payload: &[u8]) -> Option<Kept> {
        let is_change = kind == kind::PARAMETER && self.data_start.is_some();
        let now = self.registry.streams.now();
        let change = is_change.then_some((now, at));
        let kept = self.header.take(kind, payload, change)?;
        if is_change && kept != Kept::Misfit {
            self.tally.built_in.changes += 1;
            self.tally
                .parts
                .built_in(&TimeRange::from_timestamp(now), |bits| bits.changes = true);
        }
        if kept == Kept::Yes {
            if self.declarations.len() >= MAX_DECLARATIONS {
                return Some(Kept::NoRoom);
            }
            let payload = payload.to_vec();
            self.declarations.push(Declaration::Metadata { kind, payload, change });
        }
        Some(kept)
    }

    fn format(&mut self, name: &str, text: &str, bytes: Range<u64>) -> Kept {
        match self.registry.define(name, text) {
            Defined::Again => return Kept::Yes,
            Defined::TooMany => return Kept::NoRoom,
            Defined::New => {}
            Defined::Otherwise => {
                self.remark(format!("the type {name:?} is defined anew, otherwise"));
            }
        }
        if self.declarations.len() >= MAX_DECLARATIONS {
            return Kept::NoRoom;
        }
        self.formats_at.entry(name.to_owned()).or_insert(bytes);
        self.declarations.push(Declaration::Format(name.to_owned(), text.to_owned()));
        Kept::Yes
    }

    fn subscription(&mut self, at: u64, subscription: &wire::Subscription<'_>) {
        let wire::Subscription { instance, id, name } = *subscription;
        if self.declarations.len() >= MAX_DECLARATIONS {
            return self
                .remark(format!("too many subscriptions: {name:?} is left out"));
        }
        let topic = match self.registry.subscribe(id, name, instance) {
            Subscribed::Fine(topic) => topic,
            Subscribed::Reused(topic) => {
                let what = "stood for another topic before, and stands for";
                self.remark(format!(
                    "the message id {id} {what} {name:?} from byte {at} on"
                ));
                topic
            }
            Subscribed::TooMany => {
                return self.remark(format!("too many topics: {name:?} is left out"));
            }
        };
        self.declarations.push(Declaration::Subscription {
            offset: at,
            id,
            name: name.to_owned(),
            instance,
            topic,
        });
        for index in self.tally.stats.len()..self.registry.topics.len() {
            self.tally.grow(self.utc_at(index));
        }
    }

    /// Where the records of a topic report UTC, if they do.
    fn utc_at(&self, index: usize) -> Option<u32> {
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

    fn unknown(&mut self, at: u64, rest: &[u8], kind: u8, len: usize) -> bool {
        if !kind.is_ascii_alphabetic() || !self.is_sound_after(rest, len) {
            return false;
        }
        self.unknown.entry(kind).or_insert((0, at)).0 += 1;
        true
    }

    pub(super) fn remark(&mut self, remark: String) {
        if self.remarks.len() < MAX_REMARKS {
            self.remarks.push(remark);
        }
    }
}
