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

/// Checks each chunk of a bag once, in the thread that opens it first.
pub(crate) struct ChunkChecker {
    log: CheckedBag,
    layout: FileLayout,
    infos: ChunkInfos,
    progress: Mutex<CheckProgress>,
}

/// The findings so far, and the results that are not yet in them.
#[derive(Default)]
struct CheckProgress {
    findings: Findings,
    /// The ids of the connections that the chunks so far declare.
    declared_ids: BTreeSet<u32>,
    /// The results that are not yet in the findings, by the index of the chunk in the layout:
    /// findings are added in the order of the file.
    pending: ReorderBuffer<ChunkResults>,
}

impl ChunkChecker {
    pub(super) fn new(log: CheckedBag, layout: FileLayout) -> Self {
        let (infos, progress) = (ChunkInfos::new(&layout), Mutex::default());
        Self { log, layout, infos, progress }
    }

    /// Checks `chunk`, which has this `content`, unless the layout has another extent for it or it
    /// was already checked.
    pub(crate) fn check(&self, chunk: &Chunk, content: &ChunkContent) -> Result<()> {
        let chunks = &self.layout.chunks;
        let position = chunks.binary_search_by_key(&chunk.at, |record| record.chunk.at);
        let Some(index) = position.ok().filter(|index| chunks[*index].chunk == *chunk)
        else {
            return Ok(());
        };
        if self.lock_progress().pending.was_inserted(index) {
            return Ok(());
        }
        let results = self.check_at(index, content)?;
        self.add(index, results);
        Ok(())
    }

    /// Opens and checks all remaining chunks; returns all findings.
    pub(crate) fn finish(&self) -> Result<Findings> {
        for (index, record) in self.layout.chunks.iter().enumerate() {
            if self.lock_progress().pending.was_inserted(index) {
                continue;
            }
            let content = self.log.bag.open_chunk(&record.chunk, BytesMut::new())?;
            let results = self.check_at(index, &content)?;
            self.log.bag.source.release(record.chunk.data.clone());
            self.add(index, results);
        }
        Ok(mem::take(&mut self.lock_progress().findings))
    }

    fn check_at(&self, index: usize, content: &ChunkContent) -> Result<ChunkResults> {
        let record = &self.layout.chunks[index];
        let entry = self.infos.entry_of_chunk(record.chunk.at, &self.layout);
        chunk::check(&self.log, record, content, &self.layout, entry)
    }

    /// Adds the results of the chunk with this index, and then the findings of all chunks that are
    /// next in the order of the file.
    fn add(&self, index: usize, results: ChunkResults) {
        let mut progress = self.lock_progress();
        progress.pending.insert(index, results);
        while let Some((index, results)) = progress.pending.next() {
            let record = &self.layout.chunks[index];
            let CheckProgress { findings, declared_ids, .. } = &mut *progress;
            results.report(&self.log, &self.layout, record, declared_ids, findings);
        }
    }

    /// Locks the progress. (The lock of a thread that panicked is usable: the panic is reported by
    /// that thread.)
    fn lock_progress(&self) -> MutexGuard<'_, CheckProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
