//! Checking the chunks of a bag while they are read.

use std::{
    collections::BTreeSet,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::BytesMut;
use logtool_core::{Findings, ReorderBuffer, Result};

use crate::{
    check::{
        CheckedBag,
        chunk::{self, ChunkResults},
        index::ChunkInfos,
        layout::FileLayout,
    },
    file::bag::{Chunk, ChunkContent},
};

/// The chunks of a bag; each is checked once, by the thread that opens it.
pub(crate) struct ChunkChecker {
    log: CheckedBag,
    layout: FileLayout,
    infos: ChunkInfos,
    state: Mutex<CheckState>,
}

/// The results so far.
#[derive(Default)]
struct CheckState {
    findings: Findings,
    /// The connections that the chunks so far declare.
    declared: BTreeSet<u32>,
    /// The results by the index of the chunk in the layout.
    looked: ReorderBuffer<ChunkResults>,
}

impl ChunkChecker {
    pub(super) fn new(log: CheckedBag, layout: FileLayout) -> Self {
        let (infos, state) = (ChunkInfos::new(&layout), Mutex::default());
        Self { log, layout, infos, state }
    }

    /// Checks `chunk` with this `content`, unless the layout has other data for it, or it was
    /// already checked.
    pub(crate) fn check(&self, chunk: &Chunk, content: &ChunkContent) -> Result<()> {
        let chunks = &self.layout.chunks;
        let found_at = chunks.binary_search_by_key(&chunk.at, |record| record.chunk.at);
        let Some(index) = found_at.ok().filter(|index| chunks[*index].chunk == *chunk)
        else {
            return Ok(());
        };
        if self.state().looked.was_inserted(index) {
            return Ok(());
        }
        let results = self.check_at(index, content)?;
        self.add(index, results);
        Ok(())
    }

    /// Opens and checks all remaining chunks; returns all findings.
    pub(crate) fn finish(&self) -> Result<Findings> {
        for (index, record) in self.layout.chunks.iter().enumerate() {
            if self.state().looked.was_inserted(index) {
                continue;
            }
            let content = self.log.bag.open(&record.chunk, BytesMut::new())?;
            let results = self.check_at(index, &content)?;
            self.log.bag.source.release(record.chunk.data.clone());
            self.add(index, results);
        }
        Ok(mem::take(&mut self.state().findings))
    }

    fn check_at(&self, index: usize, content: &ChunkContent) -> Result<ChunkResults> {
        let record = &self.layout.chunks[index];
        let entry = self.infos.entry_of_chunk(record.chunk.at, &self.layout);
        chunk::check(&self.log, record, content, &self.layout, entry)
    }

    /// Adds the results of the chunk with this index, and processes all that are next in order.
    fn add(&self, index: usize, results: ChunkResults) {
        let state = &mut *self.state();
        state.looked.insert(index, results);
        while let Some((index, results)) = state.looked.next() {
            let record = &self.layout.chunks[index];
            let (declared, findings) = (&mut state.declared, &mut state.findings);
            results.report(&self.log, &self.layout, record, declared, findings);
        }
    }

    /// Locks the results. A panic of another thread is reported by that thread.
    fn state(&self) -> MutexGuard<'_, CheckState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
