//! Reads and checks the next chunks on other threads before they are copied.

use std::{collections::VecDeque, sync::Arc, vec};

use logtool_core::{Part, Result, Source, TaskQueue};

use crate::{sink::verbatim_chunks::VerbatimChunks, write::VerbatimChunk};

/// The chunks of a log that are expected to be copied, in the order of the file.
pub(super) struct ChunkReadAhead {
    verbatim: Arc<VerbatimChunks>,
    source: Arc<dyn Source>,
    /// The parts that are not submitted yet.
    parts: vec::IntoIter<Part>,
    /// The start of each submitted part.
    submitted: VecDeque<u64>,
    chunks: TaskQueue<Result<Option<VerbatimChunk>>>,
    /// The maximum number of submitted parts.
    width: usize,
}

impl ChunkReadAhead {
    /// Creates a reader of those chunks among `parts` of `source` that can be copied. With
    /// a single thread, no chunk is read in advance.
    pub(super) fn new(
        verbatim: Arc<VerbatimChunks>,
        source: Arc<dyn Source>,
        parts: Vec<Part>,
    ) -> Self {
        let threads = rayon::current_num_threads();
        let width = if threads > 1 { threads + 1 } else { 0 };
        Self {
            verbatim,
            source,
            parts: parts.into_iter(),
            submitted: VecDeque::new(),
            chunks: TaskQueue::with_width(width),
            width,
        }
    }

    /// Returns the chunk at the offset `start`, or `None` if it cannot be copied. Skips the
    /// chunks before it. The outer `Option` is `None` if the chunk was not read in advance.
    pub(super) fn take(&mut self, start: u64) -> Option<Result<Option<VerbatimChunk>>> {
        loop {
            self.submit(start);
            let chunk_start =
                self.submitted.front().copied().filter(|first| *first <= start)?;
            self.submitted.pop_front();
            let chunk = self.chunks.wait()?;
            if chunk_start == start {
                self.submit(start);
                return Some(chunk);
            }
        }
    }

    /// Submits the next parts that start at `start` or later.
    fn submit(&mut self, start: u64) {
        while self.submitted.len() < self.width
            && let Some(part) = self.parts.find(|part| part.bytes.start >= start)
        {
            self.submitted.push_back(part.bytes.start);
            let (verbatim, source) = (self.verbatim.clone(), self.source.clone());
            self.chunks.push(move || verbatim.chunk(&part, &*source));
        }
    }
}
