//! Settings of the allocator: freed memory is kept for the next buffers.

#![allow(unsafe_code)] // the allocator is a C library's; the use states why it is sound

/// Blocks of at least this many bytes are returned to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MMAP_THRESHOLD_BYTES: i32 = 32 << 20;
/// More free bytes than this at the end of a thread's heap are returned to the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const TRIM_THRESHOLD_BYTES: i32 = 64 << 20;

/// Makes the allocator keep freed memory for the next blocks of records.
///
/// glibc starts with 128 KiB for both limits, and raises them when large blocks are freed
/// (mallopt(3)). Until then, and on heaps of threads, each buffer is returned to the system and
/// faulted in again page by page, which also interrupts all other threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn keep_freed_memory() {
    // SAFETY: mallopt takes only numbers, and no other thread runs yet. If it refuses them, the
    // program is only slower.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
        libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES);
    }
}

/// Other allocators keep their settings.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn keep_freed_memory() {}
