//! Where the next item of a container begins, after damage.

use logtool_core::{Result, Window};

use crate::{
    capture::container::{Container, Look},
    packet::DATA_BYTES,
};

/// How many items have to follow on each other to be believed.
const CHAIN: usize = 3;

/// Looks for items of one container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) container: Container,
    pub(super) is_big_endian: bool,
    /// Where the file ends.
    pub(super) end: u64,
}

impl Search {
    /// Where the next item begins after that at `broken`.
    pub(super) fn next(
        &self,
        broken: u64,
        window: &mut Window<'_>,
    ) -> Result<Option<u64>> {
        let sight = self.container.sight();
        let mut at = broken + 1;
        loop {
            let bytes = window.at(at, 2 * sight)?;
            let is_last = at + bytes.len() as u64 >= self.end;
            let keep = if is_last { 0 } else { sight };
            let count = bytes.len().saturating_sub(keep);
            for skip in 0..count {
                let rest = bytes.get(skip..).unwrap_or_default();
                let here = at + skip as u64;
                if self.container.may_begin(rest, self.is_big_endian)
                    && (self.is_in_step(here - broken) || self.begins(here, window)?)
                {
                    return Ok(Some(here));
                }
            }
            if is_last || count == 0 {
                return Ok(None);
            }
            at += count as u64;
        }
    }

    /// Whether an item that is so far behind the broken one lies where it would if
    /// nothing had been lost: a packet without a container is believed there by itself.
    fn is_in_step(&self, behind: u64) -> bool {
        self.container == Container::Bare && behind.is_multiple_of(DATA_BYTES as u64)
    }

    /// Whether items follow on each other from `at` on.
    fn begins(&self, mut at: u64, window: &Window<'_>) -> Result<bool> {
        let mut is_big_endian = self.is_big_endian;
        for count in 0..CHAIN {
            let left = self.end.saturating_sub(at);
            if left == 0 || count > 0 && left < self.container.header_len() {
                return Ok(true);
            }
            let bytes = window.peek(at, self.container.sight())?;
            is_big_endian = self.container.is_big_endian(&bytes, is_big_endian);
            if !self.container.may_begin(&bytes, is_big_endian) {
                return Ok(false);
            }
            match self.container.look(at, &bytes, is_big_endian, self.end) {
                Look::Item(len) => at += len,
                Look::Cut => return Ok(true),
                Look::Nothing => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Whether something that could be an item lies at `at`, or the file ends there.
    pub(super) fn goes_on(&self, at: u64, window: &Window<'_>) -> Result<bool> {
        if at == self.end {
            return Ok(true);
        }
        let bytes = window.peek(at, self.container.sight())?;
        let look = self.container.look(at, &bytes, self.is_big_endian, self.end);
        Ok(look != Look::Nothing)
    }
}
