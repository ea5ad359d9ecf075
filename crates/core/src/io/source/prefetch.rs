//! Having the system read a file before it is asked for.

#[cfg(target_os = "linux")]
use std::io::IoSliceMut;
use std::{fs::File, ops::Range};

/// It is looked so often whether the bytes are in memory.
#[cfg(target_os = "linux")]
const LOOK: u64 = 1 << 20;
/// Of what is asked for at once, Linux may leave what is longer (`force_page_cache_ra` reads no
/// more than the disk takes at once, or reads ahead by itself, which is 128 KiB unless somebody
/// chose otherwise).
#[cfg(target_os = "linux")]
const PIECE: u64 = 128 << 10;

/// Has the system read the bytes in `range` that are not in its memory, and waits for nothing.
#[cfg(target_os = "linux")]
pub(super) fn read(file: &File, range: Range<u64>) {
    use rustix::fs::{Advice, fadvise};
    for start in range.clone().step_by(LOOK as usize) {
        if is_there(file, start) {
            continue;
        }
        let end = range.end.min(start + LOOK);
        for at in (start..end).step_by(PIECE as usize) {
            // It is advice: what is not read now is read when it is asked for.
            let len = (end - at).min(PIECE).try_into().ok();
            let _ = fadvise(file, at, len, Advice::WillNeed);
        }
    }
}

/// Whether the byte at `at` can be had without reading the disk.
#[cfg(target_os = "linux")]
fn is_there(file: &File, at: u64) -> bool {
    use rustix::io::{ReadWriteFlags, preadv2};
    let mut byte = [0];
    let into = &mut [IoSliceMut::new(&mut byte)];
    preadv2(file, into, at, ReadWriteFlags::NOWAIT).is_ok()
}

/// Elsewhere the system is left to itself.
#[cfg(not(target_os = "linux"))]
pub(super) fn read(_: &File, _: Range<u64>) {}
