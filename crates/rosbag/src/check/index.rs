//! Comparing the index at the end of a bag with the chunks.

use std::collections::HashMap;

use logtool_core::{Finding, Findings};

use crate::{
    check::{
        CheckedBag, FIRST_LINE_LEN, codes as code,
        layout::{FileLayout, InfoRecord},
    },
    codec::encryption::Encryption,
};

/// The chunk infos of an index, by the positions of their chunks.
pub(super) struct ChunkInfos {
    /// Indices into the chunk infos of the layout, by position.
    by_chunk: HashMap<u64, usize>,
    /// Whether there is an index that should list every chunk.
    is_complete: bool,
}

/// The result of looking up a chunk in the index.
#[derive(Clone, Copy)]
pub(super) enum IndexEntry<'l> {
    /// The index lists the chunk.
    Info(&'l InfoRecord),
    /// The index should list the chunk, but does not.
    Unlisted,
    /// There is no index.
    NoIndex,
}

impl ChunkInfos {
    pub(super) fn new(layout: &FileLayout) -> Self {
        let infos = layout.infos.iter().enumerate();
        let by_chunk = infos.map(|(index, entry)| (entry.info.chunk_at, index));
        Self {
            by_chunk: by_chunk.collect(),
            is_complete: layout.index_at.is_some() && !layout.is_index_cut,
        }
    }

    /// Looks up the chunk at `at`. `layout` is the one from which this value was created.
    pub(super) fn entry_of_chunk<'l>(
        &self,
        at: u64,
        layout: &'l FileLayout,
    ) -> IndexEntry<'l> {
        let info = self.by_chunk.get(&at).and_then(|index| layout.infos.get(*index));
        match info {
            Some(info) => IndexEntry::Info(info),
            None if self.is_complete => IndexEntry::Unlisted,
            None => IndexEntry::NoIndex,
        }
    }
}

/// Checks the position and the counts of the index.
pub(super) fn check(log: &CheckedBag, layout: &FileLayout, findings: &mut Findings) {
    let (file_header, len) = (&log.bag.file_header, log.bag.source.len());
    if !file_header.has_header {
        return;
    }
    let header = FIRST_LINE_LEN..file_header.records_at;
    if file_header.index_at == 0 {
        let message = "the header declares that there is no index yet";
        findings.add(Finding::new(&code::UNFINISHED, message).with_bytes(header));
        return;
    }
    if !matches!(log.bag.encryption, Encryption::None) {
        return; // the connections of the index are encrypted
    }
    let is_empty_bag = file_header.connections == 0 && file_header.chunks == 0;
    match layout.index_at {
        None if is_empty_bag && file_header.index_at == len => return,
        None => {
            let message = format!(
                "it should be at byte {}, and was not found",
                file_header.index_at
            );
            let code = if file_header.index_at > len {
                &code::INDEX_POSITION
            } else {
                &code::INDEX_TRUNCATED
            };
            findings.add(Finding::new(code, message).with_bytes(header));
            return;
        }
        Some(at) if at != file_header.index_at => {
            let message =
                format!("it is at byte {at}, not at {}", file_header.index_at);
            findings.add(
                Finding::new(&code::INDEX_POSITION, message).with_bytes(header.clone()),
            );
        }
        Some(_) => {}
    }
    let (chunks, connections) = (layout.infos.len() as u64, layout.connection_records);
    let (declared_chunks, declared_connections) =
        (u64::from(file_header.chunks), u64::from(file_header.connections));
    let is_short = chunks < declared_chunks || connections < declared_connections;
    if layout.is_index_cut && is_short {
        let message = format!(
            "it has {chunks} of {declared_chunks} chunk infos and {connections} of \
             {declared_connections} connections"
        );
        let at = layout.index_at.unwrap_or(len);
        findings.add(Finding::new(&code::INDEX_TRUNCATED, message).with_bytes(at..len));
        return;
    }
    let counts = [
        (&code::HEADER_CHUNKS, "chunk infos", declared_chunks, chunks),
        (&code::HEADER_CONNECTIONS, "connections", declared_connections, connections),
    ];
    for (code, name, declared, actual) in counts {
        if declared != actual {
            let message = format!(
                "the header declares {declared} {name}, and the index has {actual}"
            );
            findings.add(Finding::new(code, message).with_bytes(header.clone()));
        }
    }
    check_positions(layout, findings);
}

/// Adds findings for chunk infos without a chunk.
fn check_positions(layout: &FileLayout, findings: &mut Findings) {
    for entry in &layout.infos {
        let chunk_at = entry.info.chunk_at;
        if layout
            .chunks
            .binary_search_by_key(&chunk_at, |record| record.chunk.at)
            .is_err()
        {
            let message = format!("there is no chunk at byte {chunk_at}");
            let finding = Finding::new(&code::CHUNK_INFO_POSITION, message);
            findings.add(finding.with_bytes(entry.at..entry.at));
        }
    }
}
