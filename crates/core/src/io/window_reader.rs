//! Looking through a file from its start to its end, a window at a time.

use std::{collections::VecDeque, fmt, io, ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{error::Result, io::source::Source, parallel::task_queue::TaskQueue};

/// The least that is read at once.
const WINDOW: u64 = 256 << 10;
/// And where somebody jumps to: often he looks at a head, and jumps again.
const NEAR: u64 = 1 << 10;
/// How much of a window is read with the next window too, if nothing longer was asked for: what
/// begins in one ends in the other.
const BOTH: u64 = 4 << 10;
/// And if so: what is longer than this is read by itself.
const LONG: u64 = 64 << 10;

/// So many windows are read ahead: who reads them is not to wait for who looks at each.
const AHEAD: usize = 4;

/// A window onto a source. While somebody looks at it, other threads of the current rayon
/// pool read what comes next, once it is seen that somebody goes on.
pub struct WindowReader<'s> {
    source: &'s Arc<dyn Source>,
    start: u64,
    bytes: Bytes,
    /// The next windows, and where they begin and end.
    next: TaskQueue<io::Result<Bytes>>,
    ahead: VecDeque<Range<u64>>,
    /// How much was needed at most, of what is not long.
    need: u64,
}

impl<'s> WindowReader<'s> {
    /// A window onto `source`.
    pub fn new(source: &'s Arc<dyn Source>) -> Self {
        let (bytes, next, ahead) =
            (Bytes::new(), TaskQueue::with_width(AHEAD), VecDeque::new());
        Self { source, start: 0, bytes, next, ahead, need: BOTH }
    }

    /// The bytes from `at` on: at least `need` of them where the source has so many.
    pub fn at(&mut self, at: u64, need: usize) -> Result<Bytes> {
        let have = self.start + self.bytes.len() as u64;
        if need as u64 <= LONG {
            self.need = self.need.max(need as u64);
        }
        let wanted = at.saturating_add(need as u64).min(self.source.len());
        if at < self.start || at > have || wanted > have {
            // Also what is skipped: of a memory map, more came with what was looked at.
            let passed = if have > 0 { self.start..at.max(self.start) } else { 0..0 };
            let goes_on = (self.start..=have).contains(&at) && have > 0;
            self.bytes = Bytes::new();
            self.source.release(passed);
            // What could not be read may not be needed, or is read again here.
            let is_ahead = |next: &Range<u64>| next.start <= at && wanted <= next.end;
            if self.ahead.front().is_some_and(is_ahead)
                && let Some(next) = self.ahead.pop_front()
                && let Some(Ok(read)) = self.next.wait()
                && is_ahead(&(next.start..next.start + read.len() as u64))
            {
                (self.start, self.bytes) = (next.start, read);
            } else {
                (self.next, self.ahead) =
                    (TaskQueue::with_width(AHEAD), VecDeque::new());
                let jumps = have > 0 && !goes_on && need as u64 <= LONG;
                self.bytes = match jumps {
                    true => {
                        self.source.peek(at..wanted.max(at.saturating_add(NEAR)))?
                    }
                    false => {
                        let end = at.saturating_add(WINDOW.max(need as u64));
                        self.source.read_at(at..end)?
                    }
                };
                self.start = at;
            }
            if goes_on && rayon::current_num_threads() > 1 {
                self.read_ahead();
            }
        }
        Ok(self.bytes.slice((at - self.start) as usize..))
    }

    /// Lets other threads read the next windows.
    fn read_ahead(&mut self) {
        let mut end = self.start + self.bytes.len() as u64;
        let mut start = self.start;
        if let Some(last) = self.ahead.back() {
            (start, end) = (last.start, last.end);
        }
        while self.ahead.len() < AHEAD && end < self.source.len() {
            start = end.saturating_sub(self.need).max(start + 1);
            end = start.saturating_add(WINDOW).min(self.source.len());
            let (source, bytes) = (self.source.clone(), start..end);
            self.ahead.push_back(bytes.clone());
            self.next.push(move || source.read_at(bytes));
        }
    }

    /// The `len` bytes from `at` on, or what there is of them. The window stays where it
    /// is, so that looking here and there costs no more than what is looked at.
    pub fn peek(&self, at: u64, len: usize) -> Result<Bytes> {
        let have = self.start + self.bytes.len() as u64;
        let end = at.saturating_add(len as u64);
        if at >= self.start && end <= have {
            let start = (at - self.start) as usize;
            return Ok(self.bytes.slice(start..start + len));
        }
        Ok(match len as u64 <= LONG {
            true => self.source.peek(at..end)?,
            false => self.source.read_at(at..end)?,
        })
    }
}

impl Drop for WindowReader<'_> {
    fn drop(&mut self) {
        self.source.release(self.start..self.start + self.bytes.len() as u64);
    }
}

impl fmt::Debug for WindowReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window").field("start", &self.start).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        ops::Range,
        sync::atomic::{AtomicU64, Ordering::Relaxed},
    };

    use super::*;

    /// Counts the bytes that are read, and those that are let go.
    struct Counted(Bytes, AtomicU64, AtomicU64);

    impl Counted {
        fn new(bytes: impl Into<Bytes>) -> Self {
            Self(bytes.into(), AtomicU64::new(0), AtomicU64::new(0))
        }
    }

    impl Source for Counted {
        fn len(&self) -> u64 {
            self.0.len() as u64
        }

        fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
            let bytes = self.0.read_at(range)?;
            self.1.fetch_add(bytes.len() as u64, Relaxed);
            Ok(bytes)
        }

        fn release(&self, range: Range<u64>) {
            self.2.fetch_add(range.end - range.start, Relaxed);
        }
    }

    #[test]
    fn whoever_goes_on_or_back_sees_the_bytes_that_are_there() {
        let bytes: Vec<u8> = (0..9_000_000_u32).map(|i| (i / 7) as u8).collect();
        let bytes = Bytes::from(bytes);
        for threads in [1, 2, 5] {
            let counted = Arc::new(Counted::new(bytes.clone()));
            let source: Arc<dyn Source> = counted.clone();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(|| {
                let mut window = WindowReader::new(&source);
                let (mut at, mut step) = (0, 1);
                while at < bytes.len() {
                    // Items of some 100 bytes, and some of 50,000 and of 2,000,000.
                    step = (step * 31 + 7) % 1_009;
                    let need = match step {
                        0..3 => 2_000_000,
                        3..100 => 50_000,
                        _ => 100 + step,
                    };
                    let seen = window.at(at as u64, need).unwrap();
                    let end = bytes.len().min(at + need);
                    assert!(seen[..end - at] == bytes[at..end], "{at}, {need}");
                    at +=
                        if step % 97 == 0 { need.saturating_sub(9_000) } else { need };
                    if step == 500 {
                        let back = at - at.min(1_500_000);
                        assert_eq!(window.at(back as u64, 1).unwrap()[0], bytes[back]);
                    }
                }
                assert!(window.at(at as u64, 1).unwrap().is_empty());
            });
            let read = counted.1.load(Relaxed);
            assert!(read < 6 * bytes.len() as u64, "{threads}: {read}");
        }
    }

    #[test]
    fn little_is_read_twice() {
        let counted = Arc::new(Counted::new(vec![0; 20 << 20]));
        let source: Arc<dyn Source> = counted.clone();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool.install(|| {
            let mut window = WindowReader::new(&source);
            (0..20_000).for_each(|i| drop(window.at(i << 10, 1_500).unwrap()));
        });
        let read = counted.1.load(Relaxed);
        assert!(read < 22 << 20, "{read}");
    }

    #[test]
    fn what_is_skipped_is_let_go_too() {
        let counted = Arc::new(Counted::new(vec![0; 20 << 20]));
        let source: Arc<dyn Source> = counted.clone();
        let mut window = WindowReader::new(&source);
        (0..20).for_each(|i| drop(window.at(i << 20, 100).unwrap()));
        drop(window);
        assert_eq!(counted.2.load(Relaxed), (19 << 20) + NEAR);
        // Not much more was read than was looked at.
        assert_eq!(counted.1.load(Relaxed), WINDOW + 19 * NEAR);
    }
}
