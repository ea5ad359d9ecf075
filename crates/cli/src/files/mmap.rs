//! Memory maps: with what happens when a mapped file gets shorter (`shrunk`), all `unsafe` of the
//! workspace.

#![allow(unsafe_code)] // memory maps cannot be had without; each use says why it holds

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

/// A page that is read brings those before and after it into memory, which lie in one large piece of
/// the cache with it: on Linux 6.18 a piece of up to this length, which begins at a multiple of it.
/// To let a part of it go takes longer than all.
const PIECE: u64 = 2 << 20;

/// So many bytes are let go together, which lie in a stretch that is so long at most: for each
/// time, all processors are interrupted.
const TOGETHER: u64 = 12 << 20;
const SPAN: u64 = 64 << 20;
/// Bytes that are no further apart lie in one stretch.
const CLOSE: u64 = 12 << 20;

/// In so many places of the file what was passed waits for more of it: threads go on at different
/// ones.
const PLACES: usize = 4;

/// A mapped file. Reading from it copies nothing, but for a few bytes here and there.
pub(crate) struct MappedSource {
    map: Arc<Map>,
    /// The same file, not mapped.
    file: FileSource,
    bytes: Bytes,
    /// What may be let go and is still there; last what grew last.
    passed: Mutex<Vec<Passed>>,
}

/// Bytes that were passed, which lie close together: where, and how many.
#[derive(Debug, PartialEq)]
struct Passed {
    place: Range<u64>,
    len: u64,
}

struct Map {
    pages: Mmap,
    /// What watches over it: it goes when the pages are gone.
    _watch: Box<dyn Any + Send + Sync>,
}

/// Lets [`Bytes`] own a share of the map.
struct Share(Arc<Map>);

impl AsRef<[u8]> for Share {
    fn as_ref(&self) -> &[u8] {
        &self.0.pages
    }
}

/// Maps all of `file`; `watch` is kept as long as the map.
pub(crate) fn map(
    file: &Arc<File>,
    watch: impl Send + Sync + 'static,
) -> io::Result<MappedSource> {
    // SAFETY: nothing is written through the map. That nobody else writes to the file
    // while it is mapped cannot be known, only asked for: a log is written once, and
    // the program says so in its help. Where it happens all the same, a changed byte
    // is read as garbled, for no code relies on reading the same twice to be memory
    // safe, and a file cut short ends the program in order (`shrunk::Watch`). Files
    // that are being written are not mapped.
    let pages = unsafe { Mmap::map(&**file)? };
    let map = Arc::new(Map { pages, _watch: Box::new(watch) });
    let bytes = Bytes::from_owner(Share(map.clone()));
    let file = FileSource::new(file.clone())?;
    Ok(MappedSource { map, file, bytes, passed: Mutex::default() })
}

impl Map {
    /// Removes the pages of `bytes` from memory.
    #[cfg(unix)]
    fn let_go(&self, bytes: Range<u64>) {
        if bytes.is_empty() {
            return;
        }
        let start = (bytes.start - bytes.start % PIECE) as usize;
        let len = (bytes.end as usize).saturating_sub(start);
        let advice = memmap2::UncheckedAdvice::DontNeed;
        // SAFETY: the map is shared and read-only, so that there is nothing in its
        // pages that is not in the file: whoever reads them again, and slices of
        // them may be alive, gets the same bytes from the file. The range lies in
        // the map; that the system takes whole pages therefore does no harm. If
        // it refuses, the pages just stay.
        let _ = unsafe { self.pages.unchecked_advise_range(advice, start, len) };
    }

    #[cfg(not(unix))]
    fn let_go(&self, _: Range<u64>) {}
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

    fn will_peek(&self, range: Range<u64>) {
        self.file.will_peek(range);
    }

    /// Lets the pages go, so that a log that is longer than the memory does not fill
    /// it, and does not push out what others need; a few of them at a time. With them go those
    /// before, which the first of them brought back.
    fn release(&self, range: Range<u64>) {
        let len = Source::len(self);
        let (start, end) = (range.start.min(len), range.end.min(len));
        if start >= end {
            return;
        }
        let go = pass(
            &mut self.passed.lock().unwrap_or_else(PoisonError::into_inner),
            start..end,
        );
        go.into_iter().for_each(|bytes| self.map.let_go(bytes));
    }
}

/// Adds `bytes` to what was `passed`, and says what of that is to go now.
fn pass(passed: &mut Vec<Passed>, bytes: Range<u64>) -> [Range<u64>; 2] {
    // What lies close together goes together, with what is between: it was passed over.
    let len = bytes.end - bytes.start;
    let mut all = Passed { place: bytes, len };
    passed.retain(|there| {
        let (place, other) = (&mut all.place, &there.place);
        let is_close =
            place.start <= other.end + CLOSE && other.start <= place.end + CLOSE;
        if is_close {
            *place = other.start.min(place.start)..other.end.max(place.end);
            all.len += there.len;
        }
        !is_close
    });
    let mut go = [0..0, 0..0];
    if passed.len() == PLACES {
        go[0] = passed.remove(0).place;
    }
    let Passed { place, len } = &mut all;
    if *len >= TOGETHER || place.end - place.start >= SPAN {
        let pieces = place.end - place.end % PIECE;
        go[1] = mem::replace(&mut place.start, pieces)..pieces;
        *len = place.end - pieces;
    }
    passed.push(all);
    go
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// How many bytes of the mapped file `name` are in memory.
    fn resident(name: &str) -> u64 {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let own = maps.split_once(name).unwrap().1;
        let line = own.lines().find_map(|line| line.strip_prefix("Rss:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    #[test]
    fn what_was_read_piece_by_piece_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pages.bin");
        // Written bit by bit, as recorders do: so are the pieces in the cache.
        let (len, mut file) = (32 << 20, File::create(&path).unwrap());
        (0..len >> 16).for_each(|_| file.write_all(&[1; 1 << 16]).unwrap());
        let mapped = map(&File::open(&path).unwrap().into(), ()).unwrap();
        // As chunks of a bag are: behind each something that is read by itself.
        let (piece, mut at, mut sum) = (200_123, 0, 0);
        while at < len {
            let bytes = mapped.read_at(at..at + piece).unwrap();
            sum += bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
            mapped.release(at..at + piece);
            at += piece;
        }
        assert_eq!(sum, len);
        let kept = resident("pages.bin");
        assert!(kept <= TOGETHER + PIECE, "{kept} bytes");
    }

    #[test]
    fn what_is_only_peeked_at_is_not_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("peeked.bin");
        std::fs::write(&path, vec![3; 9 << 20]).unwrap();
        let file = Arc::new(File::open(&path).unwrap());
        let mapped = map(&file, ()).unwrap();
        // It is open once, however it is read: of many logs, all are open.
        assert_eq!(Arc::strong_count(&file), 2);
        for at in (0..8 << 20).step_by(1 << 20) {
            assert_eq!(mapped.peek(at..at + 100).unwrap(), [3; 100][..]);
        }
        assert_eq!(resident("peeked.bin"), 0);
        assert!(mapped.peek(9 << 20..10 << 20).unwrap().is_empty());
    }

    #[test]
    fn of_what_is_read_here_and_there_as_much_goes_together() {
        let (mut passed, mut gone) = (Vec::new(), Vec::new());
        let (read, apart) = (1 << 20, 4 << 20);
        for at in (0..1 << 30).step_by(apart) {
            gone.extend(pass(&mut passed, at..at + read));
        }
        gone.retain(|bytes| !bytes.is_empty());
        // Of each stretch so much was read, and the stretches are all there is.
        let stretch = (TOGETHER / read - 1) * apart as u64;
        assert!(gone.len() as u64 <= (1 << 30) / stretch + 1, "{gone:?}");
        assert_eq!(gone[0].start, 0);
        gone.windows(2).for_each(|pair| assert_eq!(pair[0].end, pair[1].start));
        // And nothing waits for what is far behind it.
        let rare = (0..100).flat_map(|i| pass(&mut passed, i << 31..(i << 31) + 9));
        let long = |bytes: &Range<u64>| bytes.end - bytes.start > SPAN + 2 * CLOSE;
        assert!(!rare.filter(|bytes| !bytes.is_empty()).any(|bytes| long(&bytes)));
    }

    #[test]
    fn what_threads_pass_at_different_places_goes_many_pieces_at_a_time() {
        let (mut passed, mut gone) = (Vec::new(), Vec::new());
        let (step, steps) = (300_007, 1_000);
        let places = [0, 1 << 30, 5 << 30];
        for i in 0..steps {
            for place in places {
                let start = place + i * step;
                gone.extend(pass(&mut passed, start..start + step));
            }
        }
        gone.retain(|bytes| !bytes.is_empty());
        for bytes in &gone {
            assert!(bytes.end - bytes.start >= TOGETHER - PIECE, "{bytes:?}");
            assert_eq!(bytes.end % PIECE, 0, "no piece is cut: {bytes:?}");
        }
        // One behind the other, and the rest is still there.
        assert_eq!(passed.len(), places.len());
        for place in places {
            let end = place + steps * step;
            let rest = passed.iter().map(|rest| &rest.place);
            let mut of_place: Vec<_> = gone.iter().chain(rest).collect();
            of_place.retain(|bytes| (place..=end).contains(&bytes.start));
            of_place.sort_by_key(|bytes| bytes.start);
            let pairs = of_place.windows(2);
            pairs.for_each(|pair| assert_eq!(pair[0].end, pair[1].start));
            assert_eq!((of_place[0].start, of_place.last().unwrap().end), (place, end));
        }
        // And where they come together.
        let rest = pass(&mut passed, 0..6 << 30);
        assert_eq!(rest[1], 0..6 << 30);
        assert_eq!(passed, vec![Passed { place: (6 << 30)..(6 << 30), len: 0 }]);
    }
}
