//! Compares the summary of a file with its contents.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use logtool_core::{Finding, Findings, Result, Source};

use crate::{
    check::{
        CheckInput, codes as code,
        layout::{ChunkEntry, FileLayout, Footer},
    },
    wire::{self, ChunkIndex, RECORD_HEADER_LEN, op},
};

/// The number of bytes that are read at a time to compute a checksum.
const WINDOW: u64 = 4 << 20;

/// The name and the media type of an attachment must be within this number of bytes.
const MAX_ATTACHMENT_HEAD: u64 = 1 << 20;

/// Adds findings about the summary and the checksums outside chunks.
pub(super) fn check(
    log: &CheckInput,
    layout: &FileLayout,
    findings: &mut Findings,
) -> Result<()> {
    let source = &*log.source;
    match layout.data_end {
        Some((at, crc)) if crc != 0 && checksum(source, 0..at)? != crc => {
            let message = "all records before the data end record";
            findings.add(Finding::new(&code::DATA_CRC, message).with_bytes(0..at));
        }
        None if layout.footer.is_some() => {
            findings
                .add(Finding::new(&code::DATA_END, "the file has a footer, though"));
        }
        _ => {}
    }
    for bytes in &layout.attachments {
        let content = bytes.start + RECORD_HEADER_LEN as u64..bytes.end;
        let first_bytes =
            content.start..content.end.min(content.start + MAX_ATTACHMENT_HEAD);
        let crc_at = wire::attachment_crc(&source.read_at(first_bytes)?)
            .and_then(|crc_at| content.start.checked_add(crc_at))
            .filter(|end| end.checked_add(4).is_some_and(|end| end <= content.end));
        let Some(end) = crc_at else {
            let message = "its fields exceed its record";
            findings.add(
                Finding::new(&code::ATTACHMENT_CRC, message).with_bytes(bytes.clone()),
            );
            continue;
        };
        let declared = source.read_at(end..end + 4)?;
        let declared = declared.get(..4).and_then(|declared| declared.try_into().ok());
        let declared = u32::from_le_bytes(declared.unwrap_or_default());
        if declared != 0 && checksum(source, content.start..end)? != declared {
            let message = "the data or the fields of the attachment are damaged";
            findings.add(
                Finding::new(&code::ATTACHMENT_CRC, message).with_bytes(bytes.clone()),
            );
        }
    }
    let Some((at, footer)) = layout.footer else {
        findings.add(Finding::new(&code::FOOTER, "the file has no footer"));
        return Ok(());
    };
    check_position(source, layout, at, footer, findings)?;
    if layout.is_complete {
        check_chunk_indexes(layout, findings);
        check_counts(layout, findings);
    }
    declared_ranges(source, layout, findings)
}

/// Checks the offsets and the checksum of the summary.
fn check_position(
    source: &dyn Source,
    layout: &FileLayout,
    at: u64,
    footer: Footer,
    findings: &mut Findings,
) -> Result<()> {
    let bytes = at..at + RECORD_HEADER_LEN as u64 + 20;
    let start = layout.summary.start.unwrap_or(0);
    if footer.summary != start && (layout.is_complete || footer.summary > at) {
        let (declared, actual) = (footer.summary, where_is(layout.summary.start));
        let message =
            format!("the footer declares byte {declared}, but the summary is {actual}");
        findings
            .add(Finding::new(&code::SUMMARY_PLACE, message).with_bytes(bytes.clone()));
        return Ok(());
    }
    let offsets = layout.summary.offsets;
    if footer.offsets != offsets.unwrap_or(0) && layout.is_complete {
        let (declared, actual) = (footer.offsets, where_is(offsets));
        let message = format!(
            "the footer declares the summary offsets at byte {declared}, but they are {actual}"
        );
        findings
            .add(Finding::new(&code::SUMMARY_PLACE, message).with_bytes(bytes.clone()));
    }
    if start == 0 {
        let message = "the footer declares no summary";
        findings.add(Finding::new(&code::SUMMARY_MISSING, message).with_bytes(bytes));
        return Ok(());
    }
    // The checksum includes the footer up to the checksum itself.
    let summed = start..at + RECORD_HEADER_LEN as u64 + 16;
    if footer.crc != 0 && checksum(source, summed.clone())? != footer.crc {
        let message = "all records after the data section";
        findings.add(Finding::new(&code::SUMMARY_CRC, message).with_bytes(summed));
    }
    Ok(())
}

fn where_is(at: Option<u64>) -> String {
    at.map_or("missing".to_owned(), |at| format!("at byte {at}"))
}

/// Compares the chunk indexes with the chunks.
fn check_chunk_indexes(layout: &FileLayout, findings: &mut Findings) {
    let summary = &layout.summary;
    let by_offset: HashMap<u64, &ChunkEntry> =
        layout.chunks.iter().map(|chunk| (chunk.bytes.start, chunk)).collect();
    for (at, index) in &summary.chunks {
        let Some(chunk) = by_offset.get(&index.at) else {
            let message = format!("it declares byte {}", index.at);
            findings.add(
                Finding::new(&code::CHUNK_INDEX_PLACE, message).with_bytes(*at..*at),
            );
            continue;
        };
        if let Some(message) = first_difference(index, chunk) {
            findings.add(
                Finding::new(&code::CHUNK_INDEX_DIFFERS, message).with_bytes(*at..*at),
            );
        }
        let indexes = chunk.indexes.iter().map(|(id, bytes)| (*id, bytes.start));
        let indexes: HashSet<(u16, u64)> = indexes.collect();
        for (channel, offset) in &index.channels {
            if !indexes.contains(&(*channel, *offset)) {
                let message = format!("channel {channel} at byte {offset}");
                let finding = Finding::new(&code::MESSAGE_INDEX_PLACE, message);
                findings.add(finding.with_bytes(*at..*at));
            }
        }
    }
    // A summary without chunk indexes is valid.
    if summary.chunks.is_empty() {
        return;
    }
    let declared: HashMap<u64, ()> =
        summary.chunks.iter().map(|(_, index)| (index.at, ())).collect();
    for chunk in layout.chunks.iter().filter(|c| !declared.contains_key(&c.bytes.start))
    {
        let message = "the summary lists other chunks, but not this one";
        let finding = Finding::new(&code::CHUNK_INDEX_MISSING, message);
        findings.add(finding.with_bytes(chunk.bytes.clone()));
    }
}

/// Returns the first difference between `index` and `chunk`.
fn first_difference(index: &ChunkIndex, chunk: &ChunkEntry) -> Option<String> {
    let (start, end, size, compression) = &chunk.header;
    let indexes: u64 = chunk.indexes.iter().map(|(_, at)| at.end - at.start).sum();
    let numbers = [
        ("first time", index.start, *start),
        ("last time", index.end, *end),
        ("length", index.len, chunk.bytes.end - chunk.bytes.start),
        ("uncompressed size", index.size, *size),
        ("compressed size", index.compressed_len, chunk.compressed_len),
        ("length of message indexes", index.index_len, indexes),
    ];
    let different = numbers.iter().find(|(_, declared, actual)| declared != actual);
    let different = different.map(|(property, declared, actual)| {
        format!("{property}: {declared}, and it is {actual}")
    });
    different.or_else(|| {
        let declared = &index.compression;
        let message = || {
            format!("compression: {declared:?} is declared, but it is {compression:?}")
        };
        (declared != compression).then(message)
    })
}

/// Compares the statistics that do not depend on the contents of chunks.
fn check_counts(layout: &FileLayout, findings: &mut Findings) {
    let Some((at, declared)) = &layout.summary.statistics else { return };
    let actual = [layout.chunks.len(), layout.attachments.len(), layout.metadata.len()];
    let names = ["chunks", "attachments", "metadata records"];
    let declared = [declared.chunks, declared.attachments, declared.metadata];
    for ((name, declared), actual) in names.iter().zip(declared).zip(actual) {
        if declared as usize != actual {
            let message =
                format!("{declared} {name} are declared, but there are {actual}");
            findings.add(Finding::new(&code::STATISTICS, message).with_bytes(*at..*at));
        }
    }
}

/// Checks the declared positions of attachments, metadata and summary groups.
fn declared_ranges(
    source: &dyn Source,
    layout: &FileLayout,
    findings: &mut Findings,
) -> Result<()> {
    let attachments: HashSet<&Range<u64>> = layout.attachments.iter().collect();
    let metadata: HashSet<&Range<u64>> = layout.metadata.iter().collect();
    for (at, kind, bytes) in &layout.summary.declared_ranges {
        let is_present = match *kind {
            op::ATTACHMENT => attachments.contains(bytes),
            op::METADATA => metadata.contains(bytes),
            // Some writers declare empty groups.
            _ if bytes.is_empty() => true,
            kind => {
                source.read_at(bytes.start..bytes.start + 1)?.first() == Some(&kind)
            }
        };
        if !is_present && layout.is_complete {
            let (start, end) = (bytes.start, bytes.end);
            let message =
                format!("a record with the opcode {kind:#04x} at {start}..{end}");
            findings
                .add(Finding::new(&code::INDEX_PLACE, message).with_bytes(*at..*at));
        }
    }
    Ok(())
}

/// Returns the CRC-32 of `bytes`.
fn checksum(source: &dyn Source, bytes: Range<u64>) -> Result<u32> {
    let (mut hasher, mut at) = (crc32fast::Hasher::new(), bytes.start);
    while at < bytes.end {
        let read = source.read_at(at..bytes.end.min(at + WINDOW))?;
        if read.is_empty() {
            break;
        }
        hasher.update(&read);
        source.release(at..at + read.len() as u64);
        at += read.len() as u64;
    }
    Ok(hasher.finalize())
}
