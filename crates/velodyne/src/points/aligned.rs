//! Numbers that begin where a line of the cache does.
//!
//! A register of 32 bytes that is stored across two lines costs twice, and across two pages
//! many times as much.

use std::ops::{Deref, DerefMut};

/// `T`, at a place that 64 divides.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Aligned<T>(pub(super) T);

impl<T> Deref for Aligned<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}
