//! Shows the progress of opening a log.
//!
//! A log without an index is read completely when it is opened.

use std::{
    fs::File,
    io,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use logtool_core::Source;
use parking_lot::Mutex;

use crate::source::{
    input::Input,
    session::{Session, Task},
};

/// Operations shorter than this show no progress.
const MIN_SHOWN: Duration = Duration::from_millis(300);

/// A source that reports how much of it has been read.
pub struct ProgressSource {
    source: Arc<dyn Source>,
    name: String,
    session: Session,
    since: Instant,
    read: AtomicU64,
    is_over: AtomicBool,
    bar: Mutex<Option<Box<dyn Task>>>,
}

impl ProgressSource {
    /// Calls `open` with the source of `input`, and shows a progress bar of the bytes that are read
    /// meanwhile.
    pub fn open_with_progress<T>(
        input: &Input,
        session: &Session,
        open: impl FnOnce(Arc<dyn Source>) -> T,
    ) -> T {
        if !session.progress.is_visible() {
            return open(Arc::clone(&input.source));
        }
        let progress_source = Arc::new(Self {
            source: Arc::clone(&input.source),
            name: input.name.clone(),
            session: session.clone(),
            since: Instant::now(),
            read: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            bar: Mutex::default(),
        });
        let opened = open(progress_source.clone());
        progress_source.is_over.store(true, Relaxed);
        *progress_source.bar.lock() = None;
        opened
    }

    fn record(&self, bytes: &Bytes) {
        if !self.is_over.load(Relaxed) {
            self.report(bytes.len() as u64);
        }
    }

    fn report(&self, bytes: u64) {
        let read = self.read.fetch_add(bytes, Relaxed).saturating_add(bytes);
        if self.since.elapsed() > MIN_SHOWN {
            let len = self.source.len();
            let mut bar = self.bar.lock();
            let bar =
                bar.get_or_insert_with(|| self.session.progress.start(&self.name, len));
            bar.set_position(read.min(len));
        }
    }
}

impl Source for ProgressSource {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.source.read_at(range).inspect(|bytes| self.record(bytes))
    }

    fn peek(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.source.peek(range).inspect(|bytes| self.record(bytes))
    }

    fn file(&self) -> Option<&File> {
        self.source.file()
    }

    fn will_peek(&self, range: Range<u64>) {
        self.source.will_peek(range);
    }

    fn release(&self, range: Range<u64>) {
        self.source.release(range);
    }
}
