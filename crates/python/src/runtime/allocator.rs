//! The allocator of the module.

#![allow(unsafe_code)] // the options are those of a C library; the use states why it is sound

use libmimalloc_sys::{mi_option_set, mi_option_t};
use mimalloc::MiMalloc;

/// The allocator of the library in Python. It keeps freed memory for the next batches.
///
/// glibc returns the buffers of a batch to the system as soon as they are freed, and each page is
/// faulted in and cleared again for the next batch. The command changes the settings of glibc, but
/// a module must not change those of the whole interpreter.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// `mi_option_purge_delay` in `mimalloc.h`: for how many milliseconds free memory is kept.
const PURGE_DELAY: mi_option_t = 15;

/// Returns free memory to the system after a millisecond.
///
/// By default, it is kept for 10 ms, and in arenas ten times as long. All points of a capture as
/// arrays then took 280 MB more than the arrays. With a millisecond it is 60 to 90 MB, and nearly
/// as fast. Without delay, an MCAP file took four times as long, because each chunk had new pages.
pub(crate) fn shorten_purge_delay() {
    // SAFETY: the function stores a number; a version without this option ignores it.
    unsafe { mi_option_set(PURGE_DELAY, 1) };
}
