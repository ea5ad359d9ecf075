//! Buffers that are read into again when nobody uses what was read into them.
//!
//! Memory that goes back to the system comes from there page by page when it is next
//! asked for, which takes a fifth of the time of going through a file.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
};

use bytes::Bytes;

/// Shorter buffers, and longer ones, are none to be kept.
const LEAST: usize = 64 << 10;
const MOST: usize = 1 << 20;
/// So many are kept.
const KEPT: usize = 16;

/// Buffers that nobody uses, the last one that was used at the end; and the threads that read
/// into them, in whose caches they are.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Vec<(ThreadId, Vec<u8>)>>);

/// A buffer that comes back when it is dropped, if it is to be kept.
pub(super) struct Lent {
    buffer: Vec<u8>,
    /// Who reads into it, and what it comes back to.
    home: Option<(ThreadId, Arc<Spare>)>,
}

impl Spare {
    /// An empty buffer for `len` bytes.
    pub(super) fn lend(self: &Arc<Self>, len: usize) -> Lent {
        let longest = len + len / 4;
        if longest < LEAST {
            // There is none: threads need not wait for each other to see that.
            return Lent { buffer: Vec::new(), home: None };
        }
        let me = thread::current().id();
        let fits = |(_, buffer): &(ThreadId, Vec<u8>)| {
            (len..=longest).contains(&buffer.capacity())
        };
        let mut all = self.lock();
        let place = all.iter().rposition(|kept| kept.0 == me && fits(kept));
        let place = place.or_else(|| all.iter().position(fits));
        let buffer = place.map(|place| all.remove(place).1).unwrap_or_default();
        Lent { buffer, home: Some((me, self.clone())) }
    }

    fn give(&self, reader: ThreadId, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut all = self.lock();
        if all.len() == KEPT {
            all.remove(0);
        }
        all.push((reader, buffer));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(ThreadId, Vec<u8>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent {
    /// The buffer, to be read into.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// What was read into it.
    pub(super) fn into_bytes(mut self) -> Bytes {
        match self.is_kept() {
            true => Bytes::from_owner(self),
            false => mem::take(&mut self.buffer).into(),
        }
    }

    fn is_kept(&self) -> bool {
        (LEAST..=MOST).contains(&self.buffer.capacity()) && self.home.is_some()
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if self.is_kept()
            && let Some((reader, spare)) = self.home.take()
        {
            spare.give(reader, mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is lent for `len` bytes, filled, and where that lies.
    fn lent(spare: &Arc<Spare>, len: usize) -> (Bytes, *const u8) {
        let mut lent = spare.lend(len);
        assert!(lent.buffer().is_empty());
        lent.buffer().resize(len, 7);
        let bytes = lent.into_bytes();
        let place = bytes.as_ptr();
        (bytes, place)
    }

    #[test]
    fn a_buffer_is_used_again_once_no_slice_of_it_is_left() {
        let spare = Arc::default();
        let (bytes, place) = lent(&spare, LEAST + 5);
        let slice = bytes.slice(10..20);
        drop(bytes);
        let (other, elsewhere) = lent(&spare, LEAST + 5);
        assert_ne!(elsewhere, place);
        assert_eq!(slice, &[7; 10][..]);
        drop(slice);
        assert_eq!(lent(&spare, LEAST).1, place);
        drop(other);
    }

    #[test]
    fn neither_many_nor_long_buffers_are_kept() {
        let spare = Arc::default();
        let many: Vec<_> = (0..2 * KEPT).map(|_| lent(&spare, LEAST)).collect();
        drop(many);
        drop((lent(&spare, MOST + 1), lent(&spare, 9)));
        let kept = spare.lock();
        assert_eq!(kept.len(), KEPT);
        assert!(kept.iter().all(|(_, buffer)| buffer.capacity() <= 2 * LEAST));
    }
}
