//! A pool of read buffers.
//!
//! Memory that was returned to the system has to be mapped again, page by page, when it is
//! next used. Without a pool, this is a fifth of the time of reading a file from start to end.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, TryLockError},
    thread::{self, ThreadId},
};

use bytes::Bytes;

/// Smaller and larger buffers are not pooled.
const MIN_POOLED_BYTES: usize = 64 << 10;
const MAX_POOLED_BYTES: usize = 1 << 20;
/// The maximum number of pooled buffers.
const MAX_BUFFERS: usize = 16;

/// Unused buffers, the most recently used last, each with the thread that last read into
/// it. That thread gets the buffer again if possible, because the buffer may still be in the
/// caches of its processor.
#[derive(Debug, Default)]
pub(super) struct BufferPool(Mutex<Vec<UnusedBuffer>>);

/// An unused buffer, and the thread that last read into it.
type UnusedBuffer = (ThreadId, Vec<u8>);

/// A buffer that returns to its pool when it is dropped, if its size is suitable.
pub(super) struct PooledBuffer {
    buffer: Vec<u8>,
    /// The thread that reads into the buffer, and the pool to which the buffer returns, or
    /// `None` if the buffer does not belong to a pool.
    owner: Option<(ThreadId, Arc<BufferPool>)>,
}

impl BufferPool {
    /// Returns an empty buffer with a capacity for `len` bytes.
    pub(super) fn lend(self: &Arc<Self>, len: usize) -> PooledBuffer {
        let max_capacity = len + len / 4;
        if max_capacity < MIN_POOLED_BYTES {
            // Too small to be pooled: no lock is needed.
            return PooledBuffer { buffer: Vec::new(), owner: None };
        }
        let this_thread = thread::current().id();
        let is_suitable = |(_, buffer): &UnusedBuffer| {
            (len..=max_capacity).contains(&buffer.capacity())
        };
        let unused_buffer = self.lock().and_then(|mut buffers| {
            let index = buffers
                .iter()
                .rposition(|unused| unused.0 == this_thread && is_suitable(unused))
                .or_else(|| buffers.iter().position(is_suitable))?;
            Some(buffers.remove(index).1)
        });
        let buffer = unused_buffer.unwrap_or_default();
        PooledBuffer { buffer, owner: Some((this_thread, self.clone())) }
    }

    /// Adds an unused buffer that the thread `reader` last read into. If there are too many
    /// buffers, the one that was not used for the longest time is dropped.
    fn put_back(&self, reader: ThreadId, mut buffer: Vec<u8>) {
        buffer.clear();
        let Some(mut buffers) = self.lock() else { return };
        if buffers.len() == MAX_BUFFERS {
            buffers.remove(0);
        }
        buffers.push((reader, buffer));
    }

    /// Returns the buffers, or `None` if another thread uses them at the moment. Waiting for it
    /// could take forever: after a fork, that thread may exist only in the parent process.
    fn lock(&self) -> Option<MutexGuard<'_, Vec<UnusedBuffer>>> {
        match self.0.try_lock() {
            Ok(buffers) => Some(buffers),
            Err(TryLockError::Poisoned(err)) => Some(err.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl PooledBuffer {
    /// Returns the buffer to read into.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Converts the content into bytes.
    pub(super) fn into_bytes(mut self) -> Bytes {
        if self.is_pooled() {
            Bytes::from_owner(self)
        } else {
            mem::take(&mut self.buffer).into()
        }
    }

    fn is_pooled(&self) -> bool {
        (MIN_POOLED_BYTES..=MAX_POOLED_BYTES).contains(&self.buffer.capacity())
            && self.owner.is_some()
    }
}

impl AsRef<[u8]> for PooledBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        if self.is_pooled()
            && let Some((reader, pool)) = self.owner.take()
        {
            pool.put_back(reader, mem::take(&mut self.buffer));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a filled buffer of `len` bytes and its address.
    fn filled_buffer(pool: &Arc<BufferPool>, len: usize) -> (Bytes, *const u8) {
        let mut pooled = pool.lend(len);
        assert!(pooled.buffer().is_empty());
        pooled.buffer().resize(len, 7);
        let bytes = pooled.into_bytes();
        let address = bytes.as_ptr();
        (bytes, address)
    }

    #[test]
    fn buffer_is_reused_after_its_last_slice_is_dropped() {
        let pool = Arc::default();
        let (bytes, address) = filled_buffer(&pool, MIN_POOLED_BYTES + 5);
        let slice = bytes.slice(10..20);
        drop(bytes);
        let (other, other_address) = filled_buffer(&pool, MIN_POOLED_BYTES + 5);
        assert_ne!(other_address, address);
        assert_eq!(slice, &[7; 10][..]);
        drop(slice);
        assert_eq!(filled_buffer(&pool, MIN_POOLED_BYTES).1, address);
        drop(other);
    }

    #[test]
    fn lending_does_not_wait_for_a_thread_that_may_not_exist() {
        let pool = Arc::default();
        let (bytes, _) = filled_buffer(&pool, MIN_POOLED_BYTES);
        let buffers = pool.lock().unwrap();
        assert!(pool.lock().is_none());
        drop(bytes);
        let (other, _) = filled_buffer(&pool, MIN_POOLED_BYTES);
        assert!(buffers.is_empty());
        drop(buffers);
        drop(other);
        assert_eq!(pool.lock().unwrap().len(), 1);
    }

    #[test]
    fn pool_is_bounded_in_number_and_size_of_buffers() {
        let pool = Arc::default();
        let many: Vec<_> = (0..2 * MAX_BUFFERS)
            .map(|_| filled_buffer(&pool, MIN_POOLED_BYTES))
            .collect();
        drop(many);
        drop((filled_buffer(&pool, MAX_POOLED_BYTES + 1), filled_buffer(&pool, 9)));
        let buffers = pool.lock().unwrap();
        assert_eq!(buffers.len(), MAX_BUFFERS);
        assert!(
            buffers.iter().all(|(_, buffer)| buffer.capacity() <= 2 * MIN_POOLED_BYTES)
        );
    }
}
