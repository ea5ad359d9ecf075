//! The chunks of a bag, looked into as somebody opens them.

use std::{
    collections::BTreeSet,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::BytesMut;
use logtool_core::{Findings, ReorderBuffer, Result};

use crate::{
    bag::{Chunk, Content},
    check::{
        Checked,
        chunk::{self, Looked},
        index::Infos,
        layout::Layout,
    },
};

/// The chunks of a bag, each to be looked into once, by whichever thread opens it.
pub(crate) struct Inside {
    log: Checked,
    layout: Layout,
    infos: Infos,
    found: Mutex<Found>,
}

/// What is found so far.
#[derive(Default)]
struct Found {
    findings: Findings,
    /// The connections that these chunks declare.
    declared: BTreeSet<u32>,
    /// What is known of chunks, by their places in the layout.
    looked: ReorderBuffer<Looked>,
}

impl Inside {
    pub(super) fn new(log: Checked, layout: Layout) -> Self {
        let (infos, found) = (Infos::new(&layout), Mutex::default());
        Self { log, layout, infos, found }
    }

    /// Looks into `chunk`, which was opened and holds `content`, unless it is not as it
    /// lies between the other records, or was looked into.
    pub(crate) fn look(&self, chunk: &Chunk, content: &Content) -> Result<()> {
        let chunks = &self.layout.chunks;
        let place = chunks.binary_search_by_key(&chunk.at, |seen| seen.chunk.at);
        let Some(index) = place.ok().filter(|index| chunks[*index].chunk == *chunk)
        else {
            return Ok(());
        };
        if self.found().looked.has(index) {
            return Ok(());
        }
        let looked = self.look_at(index, content)?;
        self.add(index, looked);
        Ok(())
    }

    /// Opens all chunks that were not looked into; gives all that was found.
    pub(crate) fn finish(&self) -> Result<Findings> {
        for (index, seen) in self.layout.chunks.iter().enumerate() {
            if self.found().looked.has(index) {
                continue;
            }
            let content = self.log.bag.open(&seen.chunk, BytesMut::new())?;
            let looked = self.look_at(index, &content)?;
            self.log.bag.source.release(seen.chunk.data.clone());
            self.add(index, looked);
        }
        Ok(mem::take(&mut self.found().findings))
    }

    fn look_at(&self, index: usize, content: &Content) -> Result<Looked> {
        let seen = &self.layout.chunks[index];
        let told = self.infos.of(seen.chunk.at, &self.layout);
        chunk::look(&self.log, seen, content, &self.layout, told)
    }

    /// Adds what is known of the chunk with this index, and tells of all that are next.
    fn add(&self, index: usize, looked: Looked) {
        let found = &mut *self.found();
        found.looked.put(index, looked);
        while let Some((index, looked)) = found.looked.next() {
            let seen = &self.layout.chunks[index];
            let (declared, findings) = (&mut found.declared, &mut found.findings);
            looked.tell(&self.log, &self.layout, seen, declared, findings);
        }
    }

    /// Also after a panic elsewhere, which is carried on by itself.
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
