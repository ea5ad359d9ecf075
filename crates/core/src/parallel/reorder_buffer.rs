//! Things that several threads make, in the order of their numbers.

use std::collections::BTreeMap;

/// Things that come in any order, each with its number, and are given out from number 0 on,
/// none left out.
///
/// ```
/// let mut words = logtool_core::ReorderBuffer::default();
/// words.put(1, "world");
/// assert_eq!(words.next(), None);
/// words.put(0, "hello");
/// assert_eq!(words.next(), Some((0, "hello")));
/// assert_eq!(words.next(), Some((1, "world")));
/// assert!(words.has(1) && !words.has(2));
/// ```
#[derive(Debug)]
pub struct ReorderBuffer<T> {
    /// All before this number were given out.
    next: usize,
    early: BTreeMap<usize, T>,
}

impl<T> ReorderBuffer<T> {
    /// Whether there was something with the number `index`.
    pub fn has(&self, index: usize) -> bool {
        index < self.next || self.early.contains_key(&index)
    }

    /// Takes what has the number `index`, unless there was something with it.
    pub fn put(&mut self, index: usize, thing: T) {
        if !self.has(index) {
            self.early.insert(index, thing);
        }
    }

    /// The next thing and its number, if it has come.
    #[allow(clippy::should_implement_trait)] // nothing does not mean the end
    pub fn next(&mut self) -> Option<(usize, T)> {
        let thing = self.early.remove(&self.next)?;
        self.next += 1;
        Some((self.next - 1, thing))
    }
}

impl<T> Default for ReorderBuffer<T> {
    fn default() -> Self {
        Self { next: 0, early: BTreeMap::new() }
    }
}
