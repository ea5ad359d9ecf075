//! Finds the next item of a container after damage.

use bytes::Bytes;
use logtool_core::{Result, WindowReader};

use crate::{
    capture::container::{self, Classification, Container},
    packet::DATA_BYTES,
};

/// The number of consecutive plausible items that confirm the start of an item.
const CONFIRMING_ITEMS: usize = 3;

/// The number of consecutive plausible items that confirm the start of an item, if their times
/// are not similar.
const CONFIRMING_JUMPING_ITEMS: usize = 8;

/// Whether an item is accepted before another one whose time is not similar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Jumps {
    Accepted,
    Rejected,
}

/// Searches for items of one container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resync {
    pub(super) container: Container,
    pub(super) is_big_endian: bool,
    pub(super) file_len: u64,
}

impl Resync {
    /// Returns the offset of the next item after the damaged one at `damaged`.
    pub(super) fn next_item(
        &self,
        damaged: u64,
        window: &mut WindowReader<'_>,
    ) -> Result<Option<u64>> {
        let classified_len = self.container.classified_bytes();
        let mut start = damaged + 1;
        loop {
            let bytes = window.read_at(start, 2 * classified_len)?;
            let is_last = start + bytes.len() as u64 >= self.file_len;
            // The last bytes are not enough to classify an item, unless the file ends.
            let unsearched_len = if is_last { 0 } else { classified_len };
            let searched_len = bytes.len().saturating_sub(unsearched_len);
            for index in 0..searched_len {
                let item = bytes.get(index..).unwrap_or_default();
                let offset = start + index as u64;
                if self.container.may_start_item(item, self.is_big_endian)
                    && (self.is_at_packet_boundary(offset - damaged)
                        || self.is_item_start(offset, Jumps::Rejected, window)?)
                {
                    return Ok(Some(offset));
                }
            }
            if is_last || searched_len == 0 {
                return Ok(None);
            }
            start += searched_len as u64;
        }
    }

    /// Returns whether a bare packet is expected at this distance from the damaged one. A
    /// packet there needs no confirmation.
    fn is_at_packet_boundary(&self, distance: u64) -> bool {
        self.container == Container::Bare && distance.is_multiple_of(DATA_BYTES as u64)
    }

    /// Returns whether consecutive items start at `offset`.
    fn is_item_start(
        &self,
        mut offset: u64,
        jumps: Jumps,
        window: &WindowReader<'_>,
    ) -> Result<bool> {
        let mut is_big_endian = self.is_big_endian;
        let mut previous: Option<Bytes> = None;
        let (mut count, mut confirming) = (0, CONFIRMING_ITEMS);
        while count < confirming {
            let remaining = self.file_len.saturating_sub(offset);
            if count > 0 && remaining < self.container.min_item_len() {
                return Ok(true);
            }
            let bytes = window.peek(offset, self.container.classified_bytes())?;
            is_big_endian = self.container.is_big_endian(&bytes, is_big_endian);
            if !self.container.may_start_item(&bytes, is_big_endian) {
                return Ok(false);
            }
            if previous
                .is_some_and(|previous| !self.container.is_near(&previous, &bytes))
            {
                if jumps == Jumps::Rejected {
                    return Ok(false);
                }
                confirming = CONFIRMING_JUMPING_ITEMS;
            }
            match self.container.classify(offset, &bytes, is_big_endian, self.file_len)
            {
                Classification::Item(len) if self.container == Container::PcapNg => {
                    return self.repeats_length(offset, len, is_big_endian, window);
                }
                Classification::Item(len) => offset += len,
                // A wrong length may be any.
                Classification::Truncated => return Ok(count > 0),
                Classification::Invalid => return Ok(false),
            }
            previous = Some(bytes);
            count += 1;
        }
        Ok(true)
    }

    /// Returns whether the end of the item at `offset` confirms its length `len`: another item
    /// or the end of the file follows and, in a pcapng, the length is repeated there.
    pub(super) fn has_confirmed_end(
        &self,
        offset: u64,
        len: u64,
        window: &WindowReader<'_>,
    ) -> Result<bool> {
        let end = offset + len;
        let classified_len = self.container.classified_bytes();
        if self.container == Container::PcapNg
            && !self.repeats_length(offset, len, self.is_big_endian, window)?
        {
            return Ok(false);
        }
        if self.file_len.saturating_sub(end) < self.container.min_item_len() {
            return Ok(true);
        }
        let next = window.peek(end, classified_len)?;
        match self.container {
            Container::Pcap(_) => {
                let bytes = window.peek(offset, classified_len)?;
                Ok(self.container.is_near(&bytes, &next)
                    || self.is_item_start(end, Jumps::Accepted, window)?)
            }
            Container::PcapNg => {
                let is_big_endian =
                    self.container.is_big_endian(&next, self.is_big_endian);
                match self.container.classify(end, &next, is_big_endian, self.file_len)
                {
                    Classification::Item(len) => {
                        self.repeats_length(end, len, is_big_endian, window)
                    }
                    Classification::Truncated => {
                        Ok(self.container.may_start_item(&next, is_big_endian))
                    }
                    Classification::Invalid => Ok(false),
                }
            }
            Container::Bare => {
                Ok(self.container.may_start_item(&next, self.is_big_endian))
            }
        }
    }

    /// Returns whether the pcapng block of `len` bytes at `offset` has this length at its end.
    fn repeats_length(
        &self,
        offset: u64,
        len: u64,
        is_big_endian: bool,
        window: &WindowReader<'_>,
    ) -> Result<bool> {
        let repeated = window.peek((offset + len).saturating_sub(4), 4)?;
        let repeated = container::word_at(&repeated, 0, is_big_endian);
        Ok(repeated.map(u64::from) == Some(len))
    }
}
