//! Restoring the order of results from several threads.

use std::collections::BTreeMap;

/// A buffer that takes items in any order, each with its index, and returns them in order
/// from index 0 without gaps.
///
/// ```
/// let mut words = logtool_core::ReorderBuffer::default();
/// words.insert(1, "world");
/// assert_eq!(words.next(), None);
/// words.insert(0, "hello");
/// assert_eq!(words.next(), Some((0, "hello")));
/// assert_eq!(words.next(), Some((1, "world")));
/// assert!(words.was_inserted(1) && !words.was_inserted(2));
/// ```
#[derive(Debug)]
pub struct ReorderBuffer<T> {
    /// The index of the next item to return.
    next: usize,
    /// The items that wait for items with lower indices.
    waiting: BTreeMap<usize, T>,
}

impl<T> ReorderBuffer<T> {
    /// Returns whether an item with this `index` was ever inserted.
    pub fn was_inserted(&self, index: usize) -> bool {
        index < self.next || self.waiting.contains_key(&index)
    }

    /// Inserts an item, unless one with the same `index` was inserted before.
    pub fn insert(&mut self, index: usize, item: T) {
        if !self.was_inserted(index) {
            self.waiting.insert(index, item);
        }
    }

    /// Removes and returns the next item and its index, if it has been inserted.
    #[allow(clippy::should_implement_trait)] // `None` does not mean the end
    pub fn next(&mut self) -> Option<(usize, T)> {
        let item = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some((self.next - 1, item))
    }
}

impl<T> Default for ReorderBuffer<T> {
    fn default() -> Self {
        Self { next: 0, waiting: BTreeMap::new() }
    }
}
