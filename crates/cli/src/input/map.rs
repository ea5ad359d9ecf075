//! Memory maps: with what happens when a mapped file gets shorter (`shrunk`), all `unsafe` of the
//! workspace.

#![allow(unsafe_code)] // memory maps cannot be had without; each use says why it holds

use std::{any::Any, fs::File, io, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::Source;
use memmap2::Mmap;

/// A mapped file. Reading from it copies nothing.
pub(crate) struct MappedSource {
    map: Arc<Map>,
    bytes: Bytes,
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
    file: &File,
    watch: impl Send + Sync + 'static,
) -> io::Result<MappedSource> {
    // SAFETY: nothing is written through the map. That nobody else writes to the file
    // while it is mapped cannot be known, only asked for: a log is written once, and
    // the program says so in its help. Where it happens all the same, a changed byte
    // is read as garbled, for no code relies on reading the same twice to be memory
    // safe, and a file cut short ends the program in order (`shrunk::Watch`). Files
    // that are being written are not mapped.
    let pages = unsafe { Mmap::map(file)? };
    let map = Arc::new(Map { pages, _watch: Box::new(watch) });
    let bytes = Bytes::from_owner(Share(map.clone()));
    Ok(MappedSource { map, bytes })
}

impl Source for MappedSource {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.bytes.read_at(range)
    }

    /// Lets the pages go, so that a log that is longer than the memory does not fill
    /// it, and does not push out what others need.
    fn release(&self, range: Range<u64>) {
        let len = Source::len(self);
        let (start, end) = (range.start.min(len), range.end.min(len));
        #[cfg(unix)]
        if start < end {
            let (start, len) = (start as usize, (end - start) as usize);
            let advice = memmap2::UncheckedAdvice::DontNeed;
            // SAFETY: the map is shared and read-only, so that there is nothing in its
            // pages that is not in the file: whoever reads them again, and slices of
            // them may be alive, gets the same bytes from the file. The range lies in
            // the map; that the system takes whole pages therefore does no harm. If
            // it refuses, the pages just stay.
            let _ =
                unsafe { self.map.pages.unchecked_advise_range(advice, start, len) };
        }
        #[cfg(not(unix))]
        let _ = (start, end);
    }
}
