//! Asking the system to read a file in advance.

#[cfg(target_os = "linux")]
use std::io::IoSliceMut;
use std::{fs::File, ops::Range};

/// The interval in bytes of the tests whether the file is cached.
#[cfg(target_os = "linux")]
const LOOK: u64 = 1 << 20;
/// Linux may ignore the rest of a longer request: `force_page_cache_ra` reads at most the
/// maximum transfer of the disk or the read-ahead setting, which is 128 KiB by default.
#[cfg(target_os = "linux")]
const PIECE: u64 = 128 << 10;

/// Asks the system to read the bytes in `range` that are not cached, without waiting.
#[cfg(target_os = "linux")]
pub(super) fn read(file: &File, range: Range<u64>) {
    use rustix::fs::{Advice, fadvise};
    for start in range.clone().step_by(LOOK as usize) {
        if is_there(file, start) {
            continue;
        }
        let end = range.end.min(start + LOOK);
        for at in (start..end).step_by(PIECE as usize) {
            // This is only advice. Bytes that are not read now are read on demand.
            let len = (end - at).min(PIECE).try_into().ok();
            let _ = fadvise(file, at, len, Advice::WillNeed);
        }
    }
}

/// Returns whether the byte at `at` can be read without the disk.
#[cfg(target_os = "linux")]
fn is_there(file: &File, at: u64) -> bool {
    use rustix::io::{ReadWriteFlags, preadv2};
    let mut byte = [0];
    let into = &mut [IoSliceMut::new(&mut byte)];
    preadv2(file, into, at, ReadWriteFlags::NOWAIT).is_ok()
}

/// Does nothing: other systems prefetch by themselves.
#[cfg(not(target_os = "linux"))]
pub(super) fn read(_: &File, _: Range<u64>) {}
