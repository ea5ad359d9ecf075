//! Reading a file from start to end in windows.

use std::{collections::VecDeque, fmt, io, ops::Range, sync::Arc};

use bytes::Bytes;

use crate::{error::Result, io::source::Source, parallel::task_queue::TaskQueue};

/// The size of a window, unless more is requested.
const WINDOW_BYTES: u64 = 256 << 10;
/// The number of bytes to read after a jump. Often the caller inspects a header there and
/// jumps again.
const JUMP_BYTES: u64 = 1 << 10;
/// The minimum overlap of adjacent windows, so that an item that starts in one window is
/// complete in the next.
const MIN_OVERLAP: u64 = 4 << 10;
/// The maximum overlap. Larger requests are read separately and do not increase the overlap.
const MAX_OVERLAP: u64 = 64 << 10;

/// The number of windows to prefetch, so that a slow read does not stall the caller.
const PREFETCHED_WINDOWS: usize = 4;

/// A sliding window over a source. When the caller reads sequentially, other threads of
/// the current rayon pool prefetch the next windows.
pub struct WindowReader<'s> {
    source: &'s Arc<dyn Source>,
    /// The offset of the current window in the source, and its bytes.
    start: u64,
    bytes: Bytes,
    /// The windows that are being prefetched, and their byte ranges.
    prefetched: TaskQueue<io::Result<Bytes>>,
    prefetched_ranges: VecDeque<Range<u64>>,
    /// The overlap of adjacent windows: the size of the largest request so far that is not
    /// above [`MAX_OVERLAP`].
    overlap: u64,
}

impl<'s> WindowReader<'s> {
    /// Creates a reader of `source`.
    pub fn new(source: &'s Arc<dyn Source>) -> Self {
        Self {
            source,
            start: 0,
            bytes: Bytes::new(),
            prefetched: TaskQueue::with_width(PREFETCHED_WINDOWS),
            prefetched_ranges: VecDeque::new(),
            overlap: MIN_OVERLAP,
        }
    }

    /// Returns the bytes from `offset`: at least `min_len` of them, or up to the end of the
    /// source.
    pub fn read_at(&mut self, offset: u64, min_len: usize) -> Result<Bytes> {
        let window_end = self.start + self.bytes.len() as u64;
        if min_len as u64 <= MAX_OVERLAP {
            self.overlap = self.overlap.max(min_len as u64);
        }
        let read_end = offset.saturating_add(min_len as u64).min(self.source.len());
        if offset < self.start || offset > window_end || read_end > window_end {
            // Skipped bytes are released too, because a memory map loads more than was
            // read.
            let passed_range =
                if window_end > 0 { self.start..offset.max(self.start) } else { 0..0 };
            let is_sequential =
                (self.start..=window_end).contains(&offset) && window_end > 0;
            self.bytes = Bytes::new();
            self.source.release(passed_range);
            // A failed prefetch is ignored: the bytes may not be needed, or are read
            // again here.
            let has_requested_bytes =
                |range: &Range<u64>| range.start <= offset && read_end <= range.end;
            if self.prefetched_ranges.front().is_some_and(has_requested_bytes)
                && let Some(range) = self.prefetched_ranges.pop_front()
                && let Some(Ok(bytes)) = self.prefetched.wait()
                && has_requested_bytes(&(range.start..range.start + bytes.len() as u64))
            {
                (self.start, self.bytes) = (range.start, bytes);
            } else {
                self.prefetched = TaskQueue::with_width(PREFETCHED_WINDOWS);
                self.prefetched_ranges = VecDeque::new();
                let is_jump =
                    window_end > 0 && !is_sequential && min_len as u64 <= MAX_OVERLAP;
                self.bytes = if is_jump {
                    self.source
                        .peek(offset..read_end.max(offset.saturating_add(JUMP_BYTES)))?
                } else {
                    let end = offset.saturating_add(WINDOW_BYTES.max(min_len as u64));
                    self.source.read_at(offset..end)?
                };
                self.start = offset;
            }
            if is_sequential && rayon::current_num_threads() > 1 {
                self.prefetch();
            }
        }
        Ok(self.bytes.slice((offset - self.start) as usize..))
    }

    /// Starts to prefetch the next windows.
    fn prefetch(&mut self) {
        let current_range = self.start..self.start + self.bytes.len() as u64;
        let last_range = self.prefetched_ranges.back().unwrap_or(&current_range);
        let (mut start, mut end) = (last_range.start, last_range.end);
        while self.prefetched_ranges.len() < PREFETCHED_WINDOWS
            && end < self.source.len()
        {
            start = end.saturating_sub(self.overlap).max(start + 1);
            end = start.saturating_add(WINDOW_BYTES).min(self.source.len());
            let source = self.source.clone();
            self.prefetched_ranges.push_back(start..end);
            self.prefetched.push(move || source.read_at(start..end));
        }
    }

    /// Returns the source.
    pub fn source(&self) -> &dyn Source {
        &**self.source
    }

    /// Returns the `len` bytes from `offset`, or those up to the end of the source. The window
    /// does not move, so that a single read elsewhere does not load a whole window.
    pub fn peek(&self, offset: u64, len: usize) -> Result<Bytes> {
        let window_end = self.start + self.bytes.len() as u64;
        let end = offset.saturating_add(len as u64);
        if offset >= self.start && end <= window_end {
            let start = (offset - self.start) as usize;
            return Ok(self.bytes.slice(start..start + len));
        }
        Ok(if len as u64 <= MAX_OVERLAP {
            self.source.peek(offset..end)?
        } else {
            self.source.read_at(offset..end)?
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
        f.debug_struct("WindowReader")
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        ops::Range,
        sync::atomic::{AtomicU64, Ordering::Relaxed},
    };

    use super::*;

    /// A source that counts the bytes that are read and released.
    struct CountingSource {
        bytes: Bytes,
        read_bytes: AtomicU64,
        released_bytes: AtomicU64,
    }

    impl CountingSource {
        fn new(bytes: impl Into<Bytes>) -> Self {
            Self {
                bytes: bytes.into(),
                read_bytes: AtomicU64::new(0),
                released_bytes: AtomicU64::new(0),
            }
        }
    }

    impl Source for CountingSource {
        fn len(&self) -> u64 {
            self.bytes.len() as u64
        }

        fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
            let bytes = self.bytes.read_at(range)?;
            self.read_bytes.fetch_add(bytes.len() as u64, Relaxed);
            Ok(bytes)
        }

        fn release(&self, range: Range<u64>) {
            self.released_bytes.fetch_add(range.end - range.start, Relaxed);
        }
    }

    #[test]
    fn sequential_and_backward_reads_return_the_right_bytes() {
        let bytes: Vec<u8> = (0..9_000_000_u32).map(|i| (i / 7) as u8).collect();
        let bytes = Bytes::from(bytes);
        for threads in [1, 2, 5] {
            let counted = Arc::new(CountingSource::new(bytes.clone()));
            let source: Arc<dyn Source> = counted.clone();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(|| {
                let mut window = WindowReader::new(&source);
                let (mut offset, mut step) = (0, 1);
                while offset < bytes.len() {
                    // Items of about 100 bytes, and some of 50,000 and 2,000,000.
                    step = (step * 31 + 7) % 1_009;
                    let min_len = match step {
                        0..3 => 2_000_000,
                        3..100 => 50_000,
                        _ => 100 + step,
                    };
                    let data = window.read_at(offset as u64, min_len).unwrap();
                    let end = bytes.len().min(offset + min_len);
                    assert!(
                        data[..end - offset] == bytes[offset..end],
                        "{offset}, {min_len}"
                    );
                    offset += if step % 97 == 0 {
                        min_len.saturating_sub(9_000)
                    } else {
                        min_len
                    };
                    if step == 500 {
                        let earlier = offset - offset.min(1_500_000);
                        assert_eq!(
                            window.read_at(earlier as u64, 1).unwrap()[0],
                            bytes[earlier]
                        );
                    }
                }
                assert!(window.read_at(offset as u64, 1).unwrap().is_empty());
            });
            let read = counted.read_bytes.load(Relaxed);
            assert!(read < 6 * bytes.len() as u64, "{threads}: {read}");
        }
    }

    #[test]
    fn overlap_of_windows_is_small() {
        let counted = Arc::new(CountingSource::new(vec![0; 20 << 20]));
        let source: Arc<dyn Source> = counted.clone();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool.install(|| {
            let mut window = WindowReader::new(&source);
            (0..20_000).for_each(|i| drop(window.read_at(i << 10, 1_500).unwrap()));
        });
        let read = counted.read_bytes.load(Relaxed);
        assert!(read < 22 << 20, "{read}");
    }

    #[test]
    fn skipped_bytes_are_released() {
        let counted = Arc::new(CountingSource::new(vec![0; 20 << 20]));
        let source: Arc<dyn Source> = counted.clone();
        let mut window = WindowReader::new(&source);
        (0..20).for_each(|i| drop(window.read_at(i << 20, 100).unwrap()));
        drop(window);
        assert_eq!(counted.released_bytes.load(Relaxed), (19 << 20) + JUMP_BYTES);
        // Hardly more was read than was requested.
        assert_eq!(counted.read_bytes.load(Relaxed), WINDOW_BYTES + 19 * JUMP_BYTES);
    }
}
