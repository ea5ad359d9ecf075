//! What the end of a file says of it, against what is there.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use logtool_core::{Finding, Findings, Result, Source};

use crate::{
    check::{
        Checked, codes as code,
        layout::{ChunkSeen, Footer, Layout},
    },
    wire::{self, ChunkIndex, HEAD_LEN, op},
};

/// So much is read at a time for a checksum.
const WINDOW: u64 = 4 << 20;

/// The name and the media type of an attachment are within this many bytes.
const MAX_ATTACHMENT_HEAD: u64 = 1 << 20;

/// Adds what is wrong with the summary and with the checksums outside of chunks.
pub(super) fn check(
    log: &Checked,
    layout: &Layout,
    findings: &mut Findings,
) -> Result<()> {
    let source = &*log.source;
    match layout.data_end {
        Some((at, crc)) if crc != 0 && checksum(source, 0..at)? != crc => {
            let what = "all that is before the end of the data";
            findings.add(Finding::new(&code::DATA_CRC, what).at(0..at));
        }
        None if layout.footer.is_some() => {
            findings
                .add(Finding::new(&code::DATA_END, "there is a footer all the same"));
        }
        _ => {}
    }
    for bytes in &layout.attachments {
        let content = bytes.start + HEAD_LEN as u64..bytes.end;
        let head = content.start..content.end.min(content.start + MAX_ATTACHMENT_HEAD);
        let crc_at = wire::attachment_crc(&source.read_at(head)?)
            .and_then(|crc_at| content.start.checked_add(crc_at))
            .filter(|end| end.checked_add(4).is_some_and(|end| end <= content.end));
        let Some(end) = crc_at else {
            let what = "its fields are longer than its record";
            findings.add(Finding::new(&code::ATTACHMENT_CRC, what).at(bytes.clone()));
            continue;
        };
        let told = source.read_at(end..end + 4)?;
        let told = told.get(..4).and_then(|told| told.try_into().ok());
        let told = u32::from_le_bytes(told.unwrap_or_default());
        if told != 0 && checksum(source, content.start..end)? != told {
            let what = "of the attached file, or of what is said of it";
            findings.add(Finding::new(&code::ATTACHMENT_CRC, what).at(bytes.clone()));
        }
    }
    let Some((at, footer)) = layout.footer else {
        findings.add(Finding::new(&code::FOOTER, "no footer was found"));
        return Ok(());
    };
    place(source, layout, at, footer, findings)?;
    if layout.is_whole {
        chunks(layout, findings);
        counts(layout, findings);
    }
    places(source, layout, findings)
}

/// Where the summary is, and its checksum.
fn place(
    source: &dyn Source,
    layout: &Layout,
    at: u64,
    footer: Footer,
    findings: &mut Findings,
) -> Result<()> {
    let bytes = at..at + HEAD_LEN as u64 + 20;
    let start = layout.summary.start.unwrap_or(0);
    if footer.summary != start && (layout.is_whole || footer.summary > at) {
        let (told, is) = (footer.summary, where_is(layout.summary.start));
        let what = format!("the footer says byte {told}, and it is {is}");
        findings.add(Finding::new(&code::SUMMARY_PLACE, what).at(bytes.clone()));
        return Ok(());
    }
    let offsets = layout.summary.offsets;
    if footer.offsets != offsets.unwrap_or(0) && layout.is_whole {
        let (told, is) = (footer.offsets, where_is(offsets));
        let what = format!("the footer says that its offsets are at byte {told}: {is}");
        findings.add(Finding::new(&code::SUMMARY_PLACE, what).at(bytes.clone()));
    }
    if start == 0 {
        let what = "the footer says that there is none";
        findings.add(Finding::new(&code::SUMMARY_MISSING, what).at(bytes));
        return Ok(());
    }
    // The checksum takes in the footer, up to itself.
    let summed = start..at + HEAD_LEN as u64 + 16;
    if footer.crc != 0 && checksum(source, summed.clone())? != footer.crc {
        let what = "of all that is behind the data";
        findings.add(Finding::new(&code::SUMMARY_CRC, what).at(summed));
    }
    Ok(())
}

fn where_is(at: Option<u64>) -> String {
    at.map_or("nowhere".to_owned(), |at| format!("at byte {at}"))
}

/// The list of chunks against the chunks.
fn chunks(layout: &Layout, findings: &mut Findings) {
    let summary = &layout.summary;
    let by_place: HashMap<u64, &ChunkSeen> =
        layout.chunks.iter().map(|chunk| (chunk.bytes.start, chunk)).collect();
    for (at, index) in &summary.chunks {
        let Some(chunk) = by_place.get(&index.at) else {
            let what = format!("it says byte {}", index.at);
            findings.add(Finding::new(&code::CHUNK_INDEX_PLACE, what).at(*at..*at));
            continue;
        };
        if let Some(what) = differs(index, chunk) {
            findings.add(Finding::new(&code::CHUNK_INDEX_DIFFERS, what).at(*at..*at));
        }
        let there = chunk.indexes.iter().map(|(id, bytes)| (*id, bytes.start));
        let there: HashSet<(u16, u64)> = there.collect();
        for (channel, place) in &index.channels {
            if !there.contains(&(*channel, *place)) {
                let what = format!("that of channel {channel}, at byte {place}");
                let finding = Finding::new(&code::MESSAGE_INDEX_PLACE, what);
                findings.add(finding.at(*at..*at));
            }
        }
    }
    // A summary may do without a list of chunks.
    if summary.chunks.is_empty() {
        return;
    }
    let told: HashMap<u64, ()> =
        summary.chunks.iter().map(|(_, index)| (index.at, ())).collect();
    for chunk in layout.chunks.iter().filter(|c| !told.contains_key(&c.bytes.start)) {
        let what = "the summary lists other chunks and not this one";
        let finding = Finding::new(&code::CHUNK_INDEX_MISSING, what);
        findings.add(finding.at(chunk.bytes.clone()));
    }
}

/// What `index` says otherwise than `chunk`.
fn differs(index: &ChunkIndex, chunk: &ChunkSeen) -> Option<String> {
    let (start, end, size, compression) = &chunk.told;
    let indexes: u64 = chunk.indexes.iter().map(|(_, at)| at.end - at.start).sum();
    let numbers = [
        ("first time", index.start, *start),
        ("last time", index.end, *end),
        ("length", index.len, chunk.bytes.end - chunk.bytes.start),
        ("size when unpacked", index.size, *size),
        ("size when packed", index.packed_len, chunk.packed_len),
        ("length of message indexes", index.index_len, indexes),
    ];
    let odd = numbers.iter().find(|(_, told, is)| told != is);
    let odd = odd.map(|(what, told, is)| format!("{what}: {told}, and it is {is}"));
    odd.or_else(|| {
        let told = &index.compression;
        let what = || format!("compression: {told:?}, and it is {compression:?}");
        (told != compression).then(what)
    })
}

/// The numbers that need no look into chunks.
fn counts(layout: &Layout, findings: &mut Findings) {
    let Some((at, told)) = &layout.summary.statistics else { return };
    let is = [layout.chunks.len(), layout.attachments.len(), layout.metadata.len()];
    let names = ["chunks", "attached files", "metadata records"];
    let told = [told.chunks, told.attachments, told.metadata];
    for ((name, told), is) in names.iter().zip(told).zip(is) {
        if told as usize != is {
            let what = format!("{told} {name}, and there are {is}");
            findings.add(Finding::new(&code::STATISTICS, what).at(*at..*at));
        }
    }
}

/// Where records are said to be: attached files, metadata, groups of the summary.
fn places(source: &dyn Source, layout: &Layout, findings: &mut Findings) -> Result<()> {
    let attachments: HashSet<&Range<u64>> = layout.attachments.iter().collect();
    let metadata: HashSet<&Range<u64>> = layout.metadata.iter().collect();
    for (at, kind, bytes) in &layout.summary.places {
        let is_there = match *kind {
            op::ATTACHMENT => attachments.contains(bytes),
            op::METADATA => metadata.contains(bytes),
            // Some writers tell of each kind of which there could be a group.
            _ if bytes.is_empty() => true,
            kind => {
                source.read_at(bytes.start..bytes.start + 1)?.first() == Some(&kind)
            }
        };
        if !is_there && layout.is_whole {
            let (start, end) = (bytes.start, bytes.end);
            let what = format!("a record of the kind {kind:#04x} at {start}..{end}");
            findings.add(Finding::new(&code::INDEX_PLACE, what).at(*at..*at));
        }
    }
    Ok(())
}

/// The CRC-32 of `bytes`.
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
