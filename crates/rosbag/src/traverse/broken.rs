//! What is broken between chunks: index data, or a chunk that is lost.

use std::ops::Range;

use bytes::Bytes;
use logtool_core::{Damage, DamageKind, Result};

use super::Traverse;
use crate::{
    head::LEAST_CHUNK,
    loss::{Gone, Locating, Within},
    messages::Messages,
    toplevel::{Top, TopKind},
    walk::{Plain, Visitor},
    wire,
};

/// How long an entry of index data is.
const ENTRY: u64 = 12;

impl Traverse {
    /// Passes over what is lost up to `next`. If that is only index data, and so damage of
    /// that `kind`, nothing may show that a chunk was lost with them.
    pub(super) fn lost<V: Visitor>(
        &mut self,
        kind: DamageKind,
        next: u64,
        visitor: &mut V,
    ) -> Result<bool> {
        visitor.enter(self.at);
        visitor.window(Bytes::new(), self.at);
        let bytes = self.at..next;
        // If it was a chunk, its index may be what comes next, or lie in it.
        let index_at = self.tops.find_index(bytes.start + 1..next + 1)?;
        let is_gone = !self.is_content(next)?;
        let is_index = match index_at {
            Some(at) => self.is_index_of_last(at)?,
            None => is_gone && self.is_all_index(kind, &bytes)?,
        };
        if is_index {
            visitor.damage(Damage::new(DamageKind::Index, bytes));
            self.at = next;
            return Ok(true);
        }
        let kind = if kind == DamageKind::Index { DamageKind::Garbled } else { kind };
        let (index_at, left) = match is_gone {
            true => (index_at.unwrap_or(next), None),
            false => {
                let (messages, end) = self.messages_at(next)?;
                (end, Some(messages))
            }
        };
        let within = &mut Within::Gone(Gone { bytes, index_at, left });
        let (bag, tops) = (&self.bag, &mut self.tops);
        let mut locating = Locating { visitor, bag, tops, within, chunk: None };
        locating.damage(Damage::new(kind, 0..u64::MAX));
        self.at = next;
        Ok(true)
    }

    /// Whether what lies at `at` may be the content of a chunk of which the head is lost.
    fn is_content(&mut self, at: u64) -> Result<bool> {
        Ok(match self.tops.look(at)? {
            Some(Top { kind: TopKind::Message, .. }) => true,
            Some(Top { kind: TopKind::Connection { .. }, .. }) => {
                at < self.bag.head.index_at
            }
            Some(Top { kind: TopKind::Chunk(_), data }) => data.start == at,
            _ => false,
        })
    }

    /// The messages outside chunks that begin at `at`, and where they end. They are those of a
    /// chunk: they lie before the next part, and are no more than one may have. (What is packed
    /// there tells for itself.)
    fn messages_at(&mut self, at: u64) -> Result<(Messages, u64)> {
        if self.tops.chunk(at)?.is_some() {
            return Ok((Messages::default(), at));
        }
        let after = self.bounds.partition_point(|bound| *bound <= at);
        let end = self.bounds.get(after).copied().unwrap_or(self.end);
        let most = at.saturating_add(self.bag.options.record_bytes.into());
        let (bytes, mut messages) = (at..end.min(most), Messages::default());
        let mut plain = Plain { bytes, is_cut: false, is_outside: true, is_v1: false };
        while plain.read(&*self.bag.source, self.bag.options, &mut messages)? {}
        Ok((messages, plain.bytes.start))
    }

    /// Whether the index data at `at` go on with those of the last chunk, so that
    /// no chunk, but only index data, can have been before them.
    fn is_index_of_last(&mut self, at: u64) -> Result<bool> {
        let Some(before) = &mut self.before else { return Ok(false) };
        Ok(match self.tops.look(at)? {
            Some(Top { kind: TopKind::Index { connection, .. }, data }) => {
                let entries = self.tops.data(&data)?.unwrap_or_default();
                before.has(&self.bag, connection, &entries)?
            }
            _ => false,
        })
    }

    /// Whether `bytes`, behind which are no index data, are index data of the last chunk up
    /// to their end: these end where they should, or with what should be their last entry.
    /// Those that the file ends in are its by what they have; zeros have nothing else.
    fn is_all_index(&mut self, kind: DamageKind, bytes: &Range<u64>) -> Result<bool> {
        let Some(before) = &mut self.before else {
            return Ok(kind == DamageKind::Index);
        };
        let index_at = self.bag.head.index_at;
        let is_before = (bytes.start + 1..bytes.end).contains(&index_at);
        let end = if is_before { index_at } else { bytes.end };
        let Some(expected) = before.index_end(&self.bag)? else {
            return Ok(kind == DamageKind::Index);
        };
        if end == expected {
            return Ok(true);
        }
        let entry = self.tops.bytes(end.saturating_sub(ENTRY), ENTRY)?;
        let entry = entry.get(..ENTRY as usize).unwrap_or_default();
        if let Some((time, _)) = wire::index_entries(entry).next()
            && before.ends_with(&self.bag, time)?
        {
            return Ok(true);
        }
        Ok(match self.tops.look(bytes.start)? {
            Some(Top { kind: TopKind::Padding, data }) => {
                data.end == end && end < expected + LEAST_CHUNK
            }
            Some(Top { kind: TopKind::Index { connection, count, .. }, data })
                if end == self.tops.len() && data.end > end =>
            {
                let entries = self.tops.bytes(data.start, end - data.start.min(end))?;
                before.begins(&self.bag, connection, count, &entries)?
            }
            _ => false,
        })
    }
}
