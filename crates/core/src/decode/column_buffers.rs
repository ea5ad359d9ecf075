//! The memory of columns, which later batches use again.
//!
//! Large buffers that are freed go back to the system, and new ones have to be mapped page by
//! page: half of the time of reading points in a program that uses the allocator of glibc as it
//! is. A program that drops a batch before it takes the next but one needs no new pages.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer, ToByteSlice as _};
use bytes::Bytes;

/// Smaller buffers are not kept: an allocator does not return them to the system.
const MIN_KEPT_BYTES: usize = 64 << 10;
/// The maximum number of bytes of unused buffers.
const MAX_UNUSED_BYTES: usize = 32 << 20;

/// A pool of the memory of columns, which returns to it when their arrays are dropped. Clones
/// share it. The default has no pool, and all buffers are freed.
#[derive(Clone, Debug, Default)]
pub struct ColumnBuffers(Option<Arc<Mutex<UnusedBuffers>>>);

/// The unused buffers of a pool, by the type of their values.
#[derive(Debug, Default)]
struct UnusedBuffers {
    by_type: HashMap<TypeId, Vec<Box<dyn Any + Send>>>,
    bytes: usize,
}

/// Values that return to their pool when they are dropped, if it still exists.
struct PooledValues<T: ArrowNativeType> {
    values: Vec<T>,
    pool: Weak<Mutex<UnusedBuffers>>,
}

impl ColumnBuffers {
    /// No pool: all buffers are freed.
    pub const UNPOOLED: Self = Self(None);

    /// Creates a pool. It keeps at most 32 MiB of unused memory, and none once all of its clones
    /// are dropped.
    pub fn pooled() -> Self {
        Self(Some(Arc::default()))
    }

    /// Returns an empty vector for at least `count` values.
    pub fn lend<T: ArrowNativeType>(&self, count: usize) -> Vec<T> {
        self.unused(count).unwrap_or_else(|| Vec::with_capacity(count))
    }

    /// Returns an empty vector for at least `count` values, if the pool has one.
    pub(crate) fn unused<T: ArrowNativeType>(&self, count: usize) -> Option<Vec<T>> {
        let is_kept = count.saturating_mul(size_of::<T>()) >= MIN_KEPT_BYTES;
        let pool = self.0.as_ref().filter(|_| is_kept)?;
        lock(pool).take(count)
    }

    /// Takes all of `values` as a buffer, and leaves a vector for an eighth more. Batches of one
    /// topic have similar lengths, and growing the vector step by step costs more than decoding.
    pub fn take<T: ArrowNativeType>(&self, values: &mut Vec<T>) -> ScalarBuffer<T> {
        let again = self.lend(values.len() + values.len() / 8);
        self.wrap(mem::replace(values, again))
    }

    /// Returns `values` as a buffer whose memory returns to the pool.
    pub fn wrap<T: ArrowNativeType>(&self, values: Vec<T>) -> ScalarBuffer<T> {
        match &self.0 {
            Some(pool) if byte_capacity(&values) >= MIN_KEPT_BYTES => {
                let pool = Arc::downgrade(pool);
                let bytes = Bytes::from_owner(PooledValues { values, pool });
                ScalarBuffer::from(Buffer::from(bytes))
            }
            _ => ScalarBuffer::from(values),
        }
    }
}

impl UnusedBuffers {
    /// Returns an unused vector for at least `count` values.
    fn take<T: ArrowNativeType>(&mut self, count: usize) -> Option<Vec<T>> {
        let all = self.by_type.get_mut(&TypeId::of::<T>())?;
        let fits = |values: &Box<dyn Any + Send>| {
            values
                .downcast_ref()
                .is_some_and(|values: &Vec<T>| values.capacity() >= count)
        };
        let index = all.iter().rposition(fits)?;
        let values = *all.swap_remove(index).downcast().ok()?;
        self.bytes = self.bytes.saturating_sub(byte_capacity(&values));
        Some(values)
    }

    fn put_back<T: ArrowNativeType>(&mut self, mut values: Vec<T>) {
        let bytes = self.bytes.saturating_add(byte_capacity(&values));
        if bytes <= MAX_UNUSED_BYTES {
            values.clear();
            self.bytes = bytes;
            self.by_type.entry(TypeId::of::<T>()).or_default().push(Box::new(values));
        }
    }
}

impl<T: ArrowNativeType> AsRef<[u8]> for PooledValues<T> {
    fn as_ref(&self) -> &[u8] {
        self.values.to_byte_slice()
    }
}

impl<T: ArrowNativeType> Drop for PooledValues<T> {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            lock(&pool).put_back(mem::take(&mut self.values));
        }
    }
}

fn lock(pool: &Mutex<UnusedBuffers>) -> MutexGuard<'_, UnusedBuffers> {
    pool.lock().unwrap_or_else(PoisonError::into_inner)
}

fn byte_capacity<T>(values: &Vec<T>) -> usize {
    values.capacity().saturating_mul(size_of::<T>())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = MIN_KEPT_BYTES;

    /// Returns a buffer of `COUNT` values and its address.
    fn taken(buffers: &ColumnBuffers) -> (ScalarBuffer<f32>, *const f32) {
        let mut values = buffers.lend(COUNT);
        values.resize(COUNT, 0.5);
        let buffer = buffers.take(&mut values);
        assert!(values.is_empty() && buffer.iter().all(|value| *value == 0.5));
        let address = buffer.as_ptr();
        (buffer, address)
    }

    #[test]
    fn memory_is_used_again_after_its_last_slice_is_dropped() {
        let buffers = ColumnBuffers::pooled();
        let (buffer, address) = taken(&buffers);
        let slice = buffer.slice(10, 5);
        drop(buffer);
        let other = buffers.lend::<f32>(COUNT);
        assert_ne!(other.as_ptr(), address, "a slice uses it");
        drop(slice);
        assert!(buffers.lend::<u32>(COUNT).is_empty());
        let again = buffers.lend::<f32>(COUNT);
        assert_eq!(again.as_ptr(), address);
    }

    #[test]
    fn pool_keeps_a_limited_number_of_bytes_and_no_small_buffers() {
        let buffers = ColumnBuffers::pooled();
        let count =
            2 * MAX_UNUSED_BYTES / byte_capacity(&Vec::<f32>::with_capacity(COUNT));
        let many: Vec<_> = (0..count).map(|_| taken(&buffers).0).collect();
        drop((many, buffers.wrap(vec![1_u8, 2])));
        let unused = lock(buffers.0.as_ref().unwrap());
        assert!(
            unused.bytes <= MAX_UNUSED_BYTES && unused.bytes > MAX_UNUSED_BYTES / 2
        );
        assert_eq!(unused.by_type.len(), 1);
    }

    #[test]
    fn buffers_outlive_their_pool() {
        let buffer = taken(&ColumnBuffers::pooled()).0;
        assert_eq!(buffer[COUNT - 1], 0.5);
        assert_eq!(taken(&ColumnBuffers::UNPOOLED).0.len(), COUNT);
    }
}
