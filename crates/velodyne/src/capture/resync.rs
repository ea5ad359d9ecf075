//! Finds the next item of a container after damage.

use logtool_core::{Result, WindowReader};

use crate::{
    capture::container::{Classification, Container},
    packet::DATA_BYTES,
};

/// The number of consecutive plausible items that confirm the start of an item.
const CONFIRMING_ITEMS: usize = 3;

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
                        || self.is_item_start(offset, window)?)
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
        window: &WindowReader<'_>,
    ) -> Result<bool> {
        let mut is_big_endian = self.is_big_endian;
        for index in 0..CONFIRMING_ITEMS {
            let remaining = self.file_len.saturating_sub(offset);
            if remaining == 0 || index > 0 && remaining < self.container.min_item_len()
            {
                return Ok(true);
            }
            let bytes = window.peek(offset, self.container.classified_bytes())?;
            is_big_endian = self.container.is_big_endian(&bytes, is_big_endian);
            if !self.container.may_start_item(&bytes, is_big_endian) {
                return Ok(false);
            }
            match self.container.classify(offset, &bytes, is_big_endian, self.file_len)
            {
                Classification::Item(len) => offset += len,
                Classification::Truncated => return Ok(true),
                Classification::Invalid => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns whether a possible item or the end of the file is at `offset`.
    pub(super) fn continues_at(
        &self,
        offset: u64,
        window: &WindowReader<'_>,
    ) -> Result<bool> {
        if offset == self.file_len {
            return Ok(true);
        }
        let bytes = window.peek(offset, self.container.classified_bytes())?;
        let classification =
            self.container.classify(offset, &bytes, self.is_big_endian, self.file_len);
        Ok(classification != Classification::Invalid)
    }
}
