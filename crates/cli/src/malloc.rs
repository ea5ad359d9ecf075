//! What is freed stays at hand.

#![allow(unsafe_code)] // the allocator is a C library's; the use says why it holds

/// Blocks of so many bytes and more go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const BLOCK: i32 = 32 << 20;
/// What is free at the end of a thread's heap goes back when it is more.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const HEAP: i32 = 64 << 20;

/// Has the allocator keep what is freed, for the blocks of records that come next.
///
/// glibc begins with 128 KiB for both limits and raises them as it learns from what is freed
/// (mallopt(3)); until then, and on heaps of threads, a buffer is given back and faulted in
/// again page by page, for each block anew, and every other thread is interrupted for it.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn keep() {
    // SAFETY: mallopt takes numbers only, and no other thread runs yet. That it refuses them
    // changes nothing but how fast it is.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, BLOCK);
        libc::mallopt(libc::M_TRIM_THRESHOLD, HEAP);
    }
}

/// Elsewhere the allocator is left as it is.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep() {}
