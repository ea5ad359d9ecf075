//! Shows the progress of opening a log.
//!
//! A log without an index is read completely when it is opened.

use std::{
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

use crate::{
    input::Input,
    session::{Session, Task},
};

/// Operations shorter than this show no progress.
const A_MOMENT: Duration = Duration::from_millis(300);

/// A source that reports how much of it has been read.
pub struct Watched {
    source: Arc<dyn Source>,
    name: String,
    session: Session,
    since: Instant,
    read: AtomicU64,
    is_over: AtomicBool,
    bar: Mutex<Option<Box<dyn Task>>>,
}

impl Watched {
    /// Calls `open` with the source of `input`, and shows a progress bar of the bytes that are read
    /// meanwhile.
    pub fn during<T>(
        input: &Input,
        session: &Session,
        open: impl FnOnce(Arc<dyn Source>) -> T,
    ) -> T {
        if !session.progress.is_visible() {
            return open(Arc::clone(&input.source));
        }
        let watched = Arc::new(Self {
            source: Arc::clone(&input.source),
            name: input.name.clone(),
            session: session.clone(),
            since: Instant::now(),
            read: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            bar: Mutex::default(),
        });
        let opened = open(watched.clone());
        watched.is_over.store(true, Relaxed);
        *watched.bar.lock() = None;
        opened
    }

    fn saw(&self, bytes: &Bytes) {
        if !self.is_over.load(Relaxed) {
            self.tell(bytes.len() as u64);
        }
    }

    fn tell(&self, bytes: u64) {
        let read = self.read.fetch_add(bytes, Relaxed).saturating_add(bytes);
        if self.since.elapsed() > A_MOMENT {
            let len = self.source.len();
            let mut bar = self.bar.lock();
            let bar =
                bar.get_or_insert_with(|| self.session.progress.start(&self.name, len));
            bar.set_position(read.min(len));
        }
    }
}

impl Source for Watched {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.source.read_at(range).inspect(|bytes| self.saw(bytes))
    }

    fn peek(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.source.peek(range).inspect(|bytes| self.saw(bytes))
    }

    fn will_peek(&self, range: Range<u64>) {
        self.source.will_peek(range);
    }

    fn release(&self, range: Range<u64>) {
        self.source.release(range);
    }
}
