//! Finds the next item of a container after damage.

use logtool_core::{Result, WindowReader};

use crate::{
    capture::container::{Classification, Container},
    packet::DATA_BYTES,
};

/// The number of consecutive items that confirm the start of an item.
const CHAIN: usize = 3;

/// Searches for items of one container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resync {
    pub(super) container: Container,
    pub(super) is_big_endian: bool,
    /// The end of the file.
    pub(super) end: u64,
}

impl Resync {
    /// Returns the position of the next item after that at `broken`.
    pub(super) fn next(
        &self,
        broken: u64,
        window: &mut WindowReader<'_>,
    ) -> Result<Option<u64>> {
        let classified_len = self.container.classified_bytes();
        let mut at = broken + 1;
        loop {
            let bytes = window.read_at(at, 2 * classified_len)?;
            let is_last = at + bytes.len() as u64 >= self.end;
            let keep = if is_last { 0 } else { classified_len };
            let count = bytes.len().saturating_sub(keep);
            for skip in 0..count {
                let rest = bytes.get(skip..).unwrap_or_default();
                let offset = at + skip as u64;
                if self.container.may_begin(rest, self.is_big_endian)
                    && (self.is_at_packet_boundary(offset - broken)
                        || self.is_item_start(offset, window)?)
                {
                    return Ok(Some(offset));
                }
            }
            if is_last || count == 0 {
                return Ok(None);
            }
            at += count as u64;
        }
    }

    /// Returns whether an item at the distance `distance` after the broken one is at its
    /// expected position. A bare packet there needs no confirmation.
    fn is_at_packet_boundary(&self, distance: u64) -> bool {
        self.container == Container::Bare && distance.is_multiple_of(DATA_BYTES as u64)
    }

    /// Returns whether consecutive items start at `at`.
    fn is_item_start(&self, mut at: u64, window: &WindowReader<'_>) -> Result<bool> {
        let mut is_big_endian = self.is_big_endian;
        for count in 0..CHAIN {
            let left = self.end.saturating_sub(at);
            if left == 0 || count > 0 && left < self.container.header_len() {
                return Ok(true);
            }
            let bytes = window.peek(at, self.container.classified_bytes())?;
            is_big_endian = self.container.is_big_endian(&bytes, is_big_endian);
            if !self.container.may_begin(&bytes, is_big_endian) {
                return Ok(false);
            }
            match self.container.classify(at, &bytes, is_big_endian, self.end) {
                Classification::Item(len) => at += len,
                Classification::Truncated => return Ok(true),
                Classification::Invalid => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns whether a possible item or the end of the file is at `at`.
    pub(super) fn continues_at(
        &self,
        at: u64,
        window: &WindowReader<'_>,
    ) -> Result<bool> {
        if at == self.end {
            return Ok(true);
        }
        let bytes = window.peek(at, self.container.classified_bytes())?;
        let classification =
            self.container.classify(at, &bytes, self.is_big_endian, self.end);
        Ok(classification != Classification::Invalid)
    }
}
