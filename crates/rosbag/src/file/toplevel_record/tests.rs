//! Which bytes the reader of records outside chunks maps and releases.

use std::{io, sync::Mutex};

use super::*;

/// Zeros that record which of their ranges were mapped and released.
#[derive(Default)]
struct Zeros {
    mapped: Mutex<Vec<Range<u64>>>,
    released: Mutex<Vec<Range<u64>>>,
}

impl Source for Zeros {
    fn len(&self) -> u64 {
        9_000_000
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.mapped.lock().unwrap().push(range.clone());
        self.peek(range)
    }

    fn peek(&self, range: Range<u64>) -> io::Result<Bytes> {
        let len = range.end.min(self.len()) - range.start.min(self.len());
        Ok(vec![0; len as usize].into())
    }

    fn release(&self, range: Range<u64>) {
        self.released.lock().unwrap().push(range);
    }
}

#[test]
fn reader_releases_passed_and_skipped_bytes() {
    let zeros = Arc::new(Zeros::default());
    let mut toplevel = TopLevelReader::new(zeros.clone());
    for at in [4_117, 4_200, 5_000_000, 100] {
        toplevel.bytes(at, HEADER_READ).unwrap();
    }
    drop(toplevel);
    let released = zeros.released.lock().unwrap().clone();
    let released: Vec<_> =
        released.into_iter().filter(|range| !range.is_empty()).collect();
    assert_eq!(released, [4_117..5_000_000, 100..100 + ISOLATED_READ]);
}

#[test]
fn reading_headers_maps_no_pages() {
    let zeros = Arc::new(Zeros::default());
    let mut toplevel = TopLevelReader::new(zeros.clone());
    for at in [0, 600_000, 604_000, 1_200_000] {
        assert!(toplevel.bytes(at, HEADER_READ).unwrap().len() as u64 >= HEADER_READ);
    }
    assert!(zeros.mapped.lock().unwrap().is_empty());
    let range = 2_000_000..2_000_000 + (1 << 20);
    toplevel.data(&range).unwrap().unwrap();
    assert_eq!(*zeros.mapped.lock().unwrap(), [range]);
}
