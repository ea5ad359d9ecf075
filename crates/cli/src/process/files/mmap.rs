//! Memory maps. Pages that were read are removed from memory, so that long logs do not fill it.

#![allow(unsafe_code)] // memory maps need it; each use states why it is sound

use std::{
    any::Any,
    fs::File,
    io, mem,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use logtool_core::{FileSource, Source};
use memmap2::Mmap;

/// The length of a folio of the page cache. Reading a page also maps the pages around it that are
/// in the same folio: on Linux 6.18 it has up to this length, and starts at a multiple of it.
/// Removing a part of a folio takes longer than removing all of it.
const FOLIO_BYTES: u64 = 2 << 20;

/// The number of passed bytes that are removed together, because each removal interrupts all
/// processors.
const REMOVED_BYTES: u64 = 12 << 20;
/// The maximum length of the range that contains them.
const MAX_RANGE_BYTES: u64 = 64 << 20;
/// Passed bytes with at most this distance from each other are in one range.
const MAX_DISTANCE: u64 = 12 << 20;

/// The maximum number of ranges that wait for more passed bytes: threads read at different
/// positions.
const MAX_RANGES: usize = 4;

/// A mapped file. Reads return slices of the map, without copying.
pub(crate) struct MappedSource {
    map: Arc<Map>,
    /// The same file, not mapped.
    file: FileSource,
    bytes: Bytes,
    /// The passed ranges that are still in memory. The one that grew last is the last.
    passed: Mutex<Vec<PassedRange>>,
}

/// A range of the file that was passed, and the number of its bytes that were read.
#[derive(Debug, PartialEq)]
struct PassedRange {
    range: Range<u64>,
    len: u64,
}

struct Map {
    pages: Mmap,
    /// The guard of the map. It is dropped after the pages.
    _watch: Box<dyn Any + Send + Sync>,
}

/// A share of the map, which [`Bytes`] owns.
struct SharedMap(Arc<Map>);

impl AsRef<[u8]> for SharedMap {
    fn as_ref(&self) -> &[u8] {
        &self.0.pages
    }
}

/// Maps all of `file`; `watch` is kept as long as the map.
pub(crate) fn map(
    file: &Arc<File>,
    watch: impl Send + Sync + 'static,
) -> io::Result<MappedSource> {
    // SAFETY: nothing is written through the map. Whether another process writes to the
    // file while it is mapped cannot be known: logs are written once, and files that are
    // being written are not mapped. If it happens, changed bytes are read as damage, because
    // no code depends for its memory safety on reading the same bytes twice, and a file that
    // gets shorter ends the program in order (`sigbus::Watch`).
    let pages = unsafe { Mmap::map(&**file)? };
    let map = Arc::new(Map { pages, _watch: Box::new(watch) });
    let bytes = Bytes::from_owner(SharedMap(map.clone()));
    let file = FileSource::new(file.clone())?;
    Ok(MappedSource { map, file, bytes, passed: Mutex::default() })
}

impl Map {
    /// Removes the pages of `bytes` from memory.
    #[cfg(unix)]
    fn remove_pages(&self, bytes: Range<u64>) {
        if bytes.is_empty() {
            return;
        }
        let start = (bytes.start - bytes.start % FOLIO_BYTES) as usize;
        let len = (bytes.end as usize).saturating_sub(start);
        let advice = memmap2::UncheckedAdvice::DontNeed;
        // SAFETY: the map is shared and read-only, so its pages contain only bytes of the
        // file: existing slices of them are read from the file again, with the same bytes.
        // The range is in the map, so it does no harm that the system removes whole pages.
        // If the system refuses, the pages stay in memory.
        let _ = unsafe { self.pages.unchecked_advise_range(advice, start, len) };
    }

    #[cfg(not(unix))]
    fn remove_pages(&self, _: Range<u64>) {}
}

impl Source for MappedSource {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.bytes.read_at(range)
    }

    fn peek(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.file.read_at(range)
    }

    fn file(&self) -> Option<&File> {
        self.file.file()
    }

    fn will_peek(&self, range: Range<u64>) {
        self.file.will_peek(range);
    }

    /// Removes the pages from memory, many at a time, so that a log that is longer than the
    /// memory does not fill it, and does not evict the data of other processes. The pages before
    /// them in the same folio, which reading them has mapped again, are removed too.
    fn release(&self, range: Range<u64>) {
        let len = Source::len(self);
        let (start, end) = (range.start.min(len), range.end.min(len));
        if start >= end {
            return;
        }
        let removed = add_passed(
            &mut self.passed.lock().unwrap_or_else(PoisonError::into_inner),
            start..end,
        );
        removed.into_iter().for_each(|bytes| self.map.remove_pages(bytes));
    }
}

/// Adds `bytes` to the `passed` ranges, and returns the ranges to remove from memory.
fn add_passed(passed: &mut Vec<PassedRange>, bytes: Range<u64>) -> [Range<u64>; 2] {
    // Bytes between close ranges were skipped, so they are removed too.
    let len = bytes.end - bytes.start;
    let mut merged = PassedRange { range: bytes, len };
    passed.retain(|other| {
        let (range, other_range) = (&mut merged.range, &other.range);
        let is_close = range.start <= other_range.end + MAX_DISTANCE
            && other_range.start <= range.end + MAX_DISTANCE;
        if is_close {
            *range = other_range.start.min(range.start)..other_range.end.max(range.end);
            merged.len += other.len;
        }
        !is_close
    });
    let mut removed = [0..0, 0..0];
    if passed.len() == MAX_RANGES {
        removed[0] = passed.remove(0).range;
    }
    let PassedRange { range, len } = &mut merged;
    if *len >= REMOVED_BYTES || range.end - range.start >= MAX_RANGE_BYTES {
        let folio_start = range.end - range.end % FOLIO_BYTES;
        removed[1] = mem::replace(&mut range.start, folio_start)..folio_start;
        *len = range.end - folio_start;
    }
    passed.push(merged);
    removed
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Returns how many bytes of the mapped file `name` are in memory.
    fn resident(name: &str) -> u64 {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let own = maps.split_once(name).unwrap().1;
        let line = own.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    #[test]
    fn released_bytes_leave_memory() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages.bin");
        // Written in small parts, like by recorders, which determines the folios of the cache.
        let (len, mut file) = (32 << 20, File::create(&path).unwrap());
        (0..len >> 16).for_each(|_| file.write_all(&[1; 1 << 16]).unwrap());
        let mapped = map(&File::open(&path).unwrap().into(), ()).unwrap();
        // Like the chunks of a bag, each followed by records that are read separately.
        let (piece, mut at, mut sum) = (200_123, 0, 0);
        while at < len {
            let bytes = mapped.read_at(at..at + piece).unwrap();
            sum += bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
            mapped.release(at..at + piece);
            at += piece;
        }
        assert_eq!(sum, len);
        let kept = resident("pages.bin");
        assert!(kept <= REMOVED_BYTES + FOLIO_BYTES, "{kept} bytes");
    }

    #[test]
    fn peeked_bytes_are_not_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("peeked.bin");
        std::fs::write(&path, vec![3; 9 << 20]).unwrap();
        let file = Arc::new(File::open(&path).unwrap());
        let mapped = map(&file, ()).unwrap();
        // Only one descriptor is used, because all logs of a request are open.
        assert_eq!(Arc::strong_count(&file), 2);
        for at in (0..8 << 20).step_by(1 << 20) {
            assert_eq!(mapped.peek(at..at + 100).unwrap(), [3; 100][..]);
        }
        assert_eq!(resident("peeked.bin"), 0);
        assert!(mapped.peek(9 << 20..10 << 20).unwrap().is_empty());
    }

    #[test]
    fn scattered_reads_are_removed_in_large_ranges() {
        let (mut passed, mut gone) = (Vec::new(), Vec::new());
        let (read, apart) = (1 << 20, 4 << 20);
        for at in (0..1 << 30).step_by(apart) {
            gone.extend(add_passed(&mut passed, at..at + read));
        }
        gone.retain(|bytes| !bytes.is_empty());
        // Each range has this length, and the ranges cover the file.
        let stretch = (REMOVED_BYTES / read - 1) * apart as u64;
        assert!(gone.len() as u64 <= (1 << 30) / stretch + 1, "{gone:?}");
        assert_eq!(gone[0].start, 0);
        gone.windows(2).for_each(|pair| assert_eq!(pair[0].end, pair[1].start));
        // Distant ranges do not wait for each other.
        let rare =
            (0..100).flat_map(|i| add_passed(&mut passed, i << 31..(i << 31) + 9));
        let long = |bytes: &Range<u64>| {
            bytes.end - bytes.start > MAX_RANGE_BYTES + 2 * MAX_DISTANCE
        };
        assert!(!rare.filter(|bytes| !bytes.is_empty()).any(|bytes| long(&bytes)));
    }

    #[test]
    fn reads_at_several_positions_are_removed_in_large_ranges() {
        let (mut passed, mut gone) = (Vec::new(), Vec::new());
        let (step, steps) = (300_007, 1_000);
        let places = [0, 1 << 30, 5 << 30];
        for i in 0..steps {
            for place in places {
                let start = place + i * step;
                gone.extend(add_passed(&mut passed, start..start + step));
            }
        }
        gone.retain(|bytes| !bytes.is_empty());
        for bytes in &gone {
            assert!(
                bytes.end - bytes.start >= REMOVED_BYTES - FOLIO_BYTES,
                "{bytes:?}"
            );
            assert_eq!(bytes.end % FOLIO_BYTES, 0, "no folio is split: {bytes:?}");
        }
        // The ranges are contiguous, and the rest is still in memory.
        assert_eq!(passed.len(), places.len());
        for place in places {
            let end = place + steps * step;
            let rest = passed.iter().map(|rest| &rest.range);
            let mut of_place: Vec<_> = gone.iter().chain(rest).collect();
            of_place.retain(|bytes| (place..=end).contains(&bytes.start));
            of_place.sort_by_key(|bytes| bytes.start);
            let pairs = of_place.windows(2);
            pairs.for_each(|pair| assert_eq!(pair[0].end, pair[1].start));
            assert_eq!((of_place[0].start, of_place.last().unwrap().end), (place, end));
        }
        // Ranges that meet are joined.
        let rest = add_passed(&mut passed, 0..6 << 30);
        assert_eq!(rest[1], 0..6 << 30);
        assert_eq!(passed, vec![PassedRange { range: (6 << 30)..(6 << 30), len: 0 }]);
    }
}
