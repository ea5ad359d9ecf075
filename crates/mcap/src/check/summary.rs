//! Compares the summary of a file with its contents.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use logtool_core::{ByteReader, Finding, Findings, Result, Source};

use crate::{
    check::{
        CheckInput, codes as code,
        layout::{ChunkEntry, FileLayout},
    },
    wire::{self, ChunkIndex, FOOTER_LEN, Footer, RECORD_HEADER_LEN, op},
};

/// The number of bytes that are read at a time to compute a checksum.
const WINDOW_BYTES: u64 = 4 << 20;

/// The name and the media type of an attachment must be within this number of bytes.
const MAX_ATTACHMENT_HEADER_LEN: u64 = 1 << 20;

/// Adds findings about the summary and the checksums outside chunks.
pub(super) fn check(
    input: &CheckInput,
    layout: &FileLayout,
    findings: &mut Findings,
) -> Result<()> {
    let source = &*input.source;
    match layout.data_end {
        Some((offset, crc)) if crc != 0 && checksum(source, 0..offset)? != crc => {
            let message = "all records before the data end record";
            findings.add(Finding::new(&code::DATA_CRC, message).with_bytes(0..offset));
        }
        None if layout.footer.is_some() => {
            let message = "the file has a footer, but no data end record before it";
            findings.add(Finding::new(&code::DATA_END, message));
        }
        _ => {}
    }
    for bytes in &layout.attachments {
        if let Some(message) = attachment_defect(source, bytes)? {
            let finding = Finding::new(&code::ATTACHMENT_CRC, message);
            findings.add(finding.with_bytes(bytes.clone()));
        }
    }
    let Some((footer_offset, footer)) = layout.footer else {
        findings.add(Finding::new(&code::FOOTER, "the file has no footer"));
        return Ok(());
    };
    check_footer(source, layout, footer_offset, footer, findings)?;
    if layout.is_complete {
        check_chunk_indexes(layout, findings);
        check_record_counts(layout, findings);
        check_declared_ranges(source, layout, findings)?;
    }
    Ok(())
}

/// Returns the defect of the attachment record at `bytes`, if it has one.
pub(crate) fn attachment_defect(
    source: &dyn Source,
    bytes: &Range<u64>,
) -> Result<Option<&'static str>> {
    let content = bytes.start + RECORD_HEADER_LEN as u64..bytes.end;
    let first_bytes =
        content.start..content.end.min(content.start + MAX_ATTACHMENT_HEADER_LEN);
    let crc_range = wire::attachment_crc_offset(&source.read_at(first_bytes)?)
        .and_then(|crc_offset| content.start.checked_add(crc_offset))
        .and_then(|start| Some(start..start.checked_add(4)?))
        .filter(|crc_range| crc_range.end <= content.end);
    let Some(crc_range) = crc_range else {
        return Ok(Some("its fields exceed its record"));
    };
    let crc = ByteReader::new(&source.read_at(crc_range.clone())?).u32();
    let crc = crc.unwrap_or_default();
    let is_wrong = crc != 0 && checksum(source, content.start..crc_range.start)? != crc;
    Ok(is_wrong.then_some("the data or the fields of the attachment are damaged"))
}

/// Checks the offsets and the checksum in `footer`, which is at `footer_offset`.
fn check_footer(
    source: &dyn Source,
    layout: &FileLayout,
    footer_offset: u64,
    footer: Footer,
    findings: &mut Findings,
) -> Result<()> {
    let bytes = footer_offset..footer_offset + FOOTER_LEN as u64;
    let start = layout.summary.start.unwrap_or(0);
    if footer.summary_start != start
        && (layout.is_complete || footer.summary_start > footer_offset)
    {
        let declared = footer.summary_start;
        let actual = describe_position(layout.summary.start);
        let message =
            format!("the footer declares byte {declared}, but the summary is {actual}");
        findings.add(
            Finding::new(&code::SUMMARY_POSITION, message).with_bytes(bytes.clone()),
        );
        return Ok(());
    }
    let offsets_start = layout.summary.summary_offsets_start;
    if footer.summary_offsets_start != offsets_start.unwrap_or(0) && layout.is_complete
    {
        let declared = footer.summary_offsets_start;
        let actual = describe_position(offsets_start);
        let message = format!(
            "the footer declares the summary offsets at byte {declared}, but they are {actual}"
        );
        findings.add(
            Finding::new(&code::SUMMARY_POSITION, message).with_bytes(bytes.clone()),
        );
    }
    if start == 0 {
        let message = "the footer declares no summary";
        findings.add(Finding::new(&code::SUMMARY_MISSING, message).with_bytes(bytes));
        return Ok(());
    }
    // The checksum includes the footer up to the checksum itself.
    let checked_bytes = start..bytes.end - 4;
    let crc = footer.summary_crc;
    if crc != 0 && checksum(source, checked_bytes.clone())? != crc {
        let message = "all records after the data section";
        let finding = Finding::new(&code::SUMMARY_CRC, message);
        findings.add(finding.with_bytes(checked_bytes));
    }
    Ok(())
}

fn describe_position(offset: Option<u64>) -> String {
    offset.map_or("missing".to_owned(), |offset| format!("at byte {offset}"))
}

/// Compares the chunk indexes with the chunks.
fn check_chunk_indexes(layout: &FileLayout, findings: &mut Findings) {
    let chunk_indexes = &layout.summary.chunk_indexes;
    let chunks_by_offset: HashMap<u64, &ChunkEntry> =
        layout.chunks.iter().map(|chunk| (chunk.bytes.start, chunk)).collect();
    for (index_offset, index) in chunk_indexes {
        let mut add = |finding: Finding| {
            findings.add(finding.with_bytes(*index_offset..*index_offset));
        };
        let Some(chunk) = chunks_by_offset.get(&index.chunk_offset) else {
            let message = format!("it declares byte {}", index.chunk_offset);
            add(Finding::new(&code::CHUNK_INDEX_POSITION, message));
            continue;
        };
        if let Some(message) = first_difference(index, chunk) {
            add(Finding::new(&code::CHUNK_INDEX_DIFFERS, message));
        }
        let message_indexes = chunk
            .message_indexes
            .iter()
            .map(|(channel, bytes)| (*channel, bytes.start));
        let message_indexes: HashSet<(u16, u64)> = message_indexes.collect();
        for (channel, offset) in &index.message_index_offsets {
            if !message_indexes.contains(&(*channel, *offset)) {
                let message = format!("channel {channel} at byte {offset}");
                add(Finding::new(&code::MESSAGE_INDEX_POSITION, message));
            }
        }
    }
    // A summary without chunk indexes is valid.
    if chunk_indexes.is_empty() {
        return;
    }
    let declared_offsets: HashSet<u64> =
        chunk_indexes.iter().map(|(_, index)| index.chunk_offset).collect();
    for chunk in &layout.chunks {
        if !declared_offsets.contains(&chunk.bytes.start) {
            let message = "the summary lists other chunks, but not this one";
            let finding = Finding::new(&code::CHUNK_INDEX_MISSING, message);
            findings.add(finding.with_bytes(chunk.bytes.clone()));
        }
    }
}

/// Returns the first difference between `index` and `chunk`.
fn first_difference(index: &ChunkIndex, chunk: &ChunkEntry) -> Option<String> {
    let message_indexes = chunk.message_indexes.iter();
    let message_indexes_len: u64 =
        message_indexes.map(|(_, bytes)| bytes.end - bytes.start).sum();
    let numbers = [
        ("first time", index.start_time, chunk.start_time),
        ("last time", index.end_time, chunk.end_time),
        ("length", index.chunk_len, chunk.bytes.end - chunk.bytes.start),
        ("uncompressed size", index.uncompressed_len, chunk.uncompressed_len),
        ("compressed size", index.compressed_len, chunk.compressed_len),
        ("length of message indexes", index.message_indexes_len, message_indexes_len),
    ];
    for (property, declared, actual) in numbers {
        if declared != actual {
            return Some(format!(
                "{property}: {declared} is declared, but it is {actual}"
            ));
        }
    }
    let (declared, actual) = (&index.compression, &chunk.compression);
    (declared != actual)
        .then(|| format!("compression: {declared:?} is declared, but it is {actual:?}"))
}

/// Compares the statistics that do not depend on the contents of chunks.
fn check_record_counts(layout: &FileLayout, findings: &mut Findings) {
    let Some((offset, declared)) = &layout.summary.statistics else { return };
    let actual = [layout.chunks.len(), layout.attachments.len(), layout.metadata.len()];
    let names = ["chunks", "attachments", "metadata records"];
    let declared = [declared.chunks, declared.attachments, declared.metadata];
    for ((name, declared), actual) in names.iter().zip(declared).zip(actual) {
        if declared as usize != actual {
            let message =
                format!("{declared} {name} are declared, but there are {actual}");
            let finding = Finding::new(&code::STATISTICS, message);
            findings.add(finding.with_bytes(*offset..*offset));
        }
    }
}

/// Checks the declared positions of attachments, metadata and summary groups.
fn check_declared_ranges(
    source: &dyn Source,
    layout: &FileLayout,
    findings: &mut Findings,
) -> Result<()> {
    let attachments: HashSet<&Range<u64>> = layout.attachments.iter().collect();
    let metadata: HashSet<&Range<u64>> = layout.metadata.iter().collect();
    for (offset, op, bytes) in &layout.summary.declared_ranges {
        let is_present = match *op {
            op::ATTACHMENT => attachments.contains(bytes),
            op::METADATA => metadata.contains(bytes),
            // Some writers declare empty groups.
            _ if bytes.is_empty() => true,
            op => source.read_at(bytes.start..bytes.start + 1)?.first() == Some(&op),
        };
        if !is_present {
            let (start, end) = (bytes.start, bytes.end);
            let message =
                format!("a record with the opcode {op:#04x} at {start}..{end}");
            let finding = Finding::new(&code::INDEX_POSITION, message);
            findings.add(finding.with_bytes(*offset..*offset));
        }
    }
    Ok(())
}

/// Returns the CRC-32 of `bytes`.
fn checksum(source: &dyn Source, bytes: Range<u64>) -> Result<u32> {
    let (mut hasher, mut offset) = (crc32fast::Hasher::new(), bytes.start);
    while offset < bytes.end {
        let read = source.read_at(offset..bytes.end.min(offset + WINDOW_BYTES))?;
        if read.is_empty() {
            break;
        }
        hasher.update(&read);
        source.release(offset..offset + read.len() as u64);
        offset += read.len() as u64;
    }
    Ok(hasher.finalize())
}
