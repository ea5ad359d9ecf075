//! Requests to the system to read a file in advance.

#[cfg(target_os = "linux")]
use std::io::IoSliceMut;
use std::{fs::File, ops::Range};

/// The distance in bytes between the offsets at which the file is tested for being cached.
#[cfg(target_os = "linux")]
const TEST_INTERVAL: u64 = 1 << 20;
/// The size of a request. Linux may ignore the rest of a longer one: `force_page_cache_ra`
/// reads at most the maximum transfer of the disk or the read-ahead setting, which is 128 KiB
/// by default.
#[cfg(target_os = "linux")]
const REQUEST_BYTES: u64 = 128 << 10;

/// Asks the system to read the bytes in `range` that are not cached, without waiting.
#[cfg(target_os = "linux")]
pub(super) fn read(file: &File, range: Range<u64>) {
    use rustix::fs::{Advice, fadvise};
    for start in range.clone().step_by(TEST_INTERVAL as usize) {
        if is_cached(file, start) {
            continue;
        }
        let end = range.end.min(start + TEST_INTERVAL);
        for offset in (start..end).step_by(REQUEST_BYTES as usize) {
            // This is only advice. Bytes that are not read now are read on demand.
            let len = (end - offset).min(REQUEST_BYTES).try_into().ok();
            let _ = fadvise(file, offset, len, Advice::WillNeed);
        }
    }
}

/// Returns whether the byte at `offset` is in memory, so that reading it does not need the disk.
#[cfg(target_os = "linux")]
fn is_cached(file: &File, offset: u64) -> bool {
    use rustix::io::{ReadWriteFlags, preadv2};
    let mut byte = [0];
    let buffers = &mut [IoSliceMut::new(&mut byte)];
    preadv2(file, buffers, offset, ReadWriteFlags::NOWAIT).is_ok()
}

/// Does nothing: other systems prefetch by themselves.
#[cfg(not(target_os = "linux"))]
pub(super) fn read(_: &File, _: Range<u64>) {}
