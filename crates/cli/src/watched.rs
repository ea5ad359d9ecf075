//! How far a log is looked through while it is opened, where that takes a while.
//!
//! Logs without an index are gone through once before anything can be said of them.

use std::{
    io,
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use indicatif::ProgressBar;
use logtool_core::Source;

use crate::{args::GlobalArgs, input::Input, progress};

/// What takes no longer needs no bar.
const A_MOMENT: Duration = Duration::from_millis(300);

/// A source that shows a bar while much of it is read.
pub(crate) struct Watched {
    source: Arc<dyn Source>,
    name: String,
    global: GlobalArgs,
    since: Instant,
    read: AtomicU64,
    is_over: AtomicBool,
    bar: OnceLock<ProgressBar>,
}

impl Watched {
    /// What `open` makes of the source of `input`; meanwhile a bar shows how much of that is
    /// read.
    pub(crate) fn during<T>(
        input: &Input,
        global: &GlobalArgs,
        open: impl FnOnce(Arc<dyn Source>) -> T,
    ) -> T {
        if !progress::is_seen(global) {
            return open(Arc::clone(&input.source));
        }
        let watched = Arc::new(Self {
            source: Arc::clone(&input.source),
            name: input.name.clone(),
            global: global.clone(),
            since: Instant::now(),
            read: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            bar: OnceLock::new(),
        });
        let opened = open(watched.clone());
        watched.is_over.store(true, Relaxed);
        if let Some(bar) = watched.bar.get() {
            bar.finish_and_clear();
        }
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
            let new = || {
                let bar = progress::bar(&self.name, len, &self.global);
                bar.set_position(read.min(len));
                // What was read before it was there did not take no time.
                bar.reset_eta();
                bar
            };
            self.bar.get_or_init(new).set_position(read.min(len));
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
