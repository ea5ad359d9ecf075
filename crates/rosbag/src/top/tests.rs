use std::{io, sync::Mutex};

use super::*;

/// Zeros, and which of them were let go.
#[derive(Default)]
struct Zeros(Mutex<Vec<Range<u64>>>);

impl Source for Zeros {
    fn len(&self) -> u64 {
        9_000_000
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let len = range.end.min(self.len()) - range.start.min(self.len());
        Ok(vec![0; len as usize].into())
    }

    fn release(&self, range: Range<u64>) {
        self.0.lock().unwrap().push(range);
    }
}

#[test]
fn what_lies_behind_is_let_go_also_the_chunks_that_nobody_looked_into() {
    let zeros = Arc::new(Zeros::default());
    let mut tops = Tops::new(zeros.clone());
    for at in [4_117, 4_200, 5_000_000, 100] {
        tops.bytes(at, HEAD).unwrap();
    }
    drop(tops);
    let released = zeros.0.lock().unwrap().clone();
    let released: Vec<_> =
        released.into_iter().filter(|range| !range.is_empty()).collect();
    assert_eq!(released, [4_117..5_000_000, 100..100 + WINDOW]);
}
