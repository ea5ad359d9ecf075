//! Builds the manifest in one pass over all items: lidars, other frames, and damage.
//!
//! Captures have no index, so opening one means reading all headers of frames and
//! packets.

mod finish;
mod frame_counts;
mod position_clock;
mod segment;
mod speculative_scan;
mod topic_stats;

use std::sync::Arc;

use logtool_core::{
    Damage, DamageKind, Error, ErrorKind, Manifest, OpenOptions, Part, Result, Source,
    TimeRange, TopicSet, WindowReader,
};

use crate::{
    capture::{
        build_manifest::{
            frame_counts::FrameCounts,
            segment::{ScannedItem, Segment},
            speculative_scan::SpeculativeScanner,
            topic_stats::TopicStatsTable,
        },
        container::{Classification, Container},
        format_state::{FormatState, PartStart},
        hour_counter::HourCounter,
        item::{Declaration, Section},
        packets::{defragment::Reassembler, duplicates::DuplicateFilter},
        reader::{ItemContent, ItemReader, LidarPacket, RejectReason},
        resync::Resync,
    },
    lidar::LidarOptions,
};

/// The maximum number of damaged ranges that are reported separately.
const MAX_GAPS: usize = 1 << 16;

/// The maximum number of sections and interfaces of a file.
const MAX_DECLARATIONS: usize = 1 << 16;

/// The length after which a part ends.
const PART_BYTES: u64 = 1 << 20;

/// The number of bytes at the start of a file that are read to recognize the container.
const PROBED_BYTES: usize = 1 << 20;

/// Builds the manifest of the capture in `source`.
pub(crate) fn build_manifest(
    source: &Arc<dyn Source>,
    options: OpenOptions,
    lidar: &LidarOptions,
) -> Result<(Manifest, FormatState)> {
    let mut window = WindowReader::new(source);
    let first_bytes = window.read_at(0, PROBED_BYTES)?;
    let detected = Container::detect(&first_bytes);
    let guess = || Container::without_header(&first_bytes, source.len());
    let guess = || options.is_format_given.then(guess);
    let (container, start) = detected.or_else(guess).ok_or_else(|| {
        Error::new(ErrorKind::Unrecognized, "not a capture of packets").with_offset(0)
    })?;
    let hours = match container {
        Container::Bare => HourCounter::detect(&first_bytes),
        _ => None,
    };
    let reader = ItemReader {
        container,
        section: Section::default(),
        fragments: Reassembler::default(),
        duplicate_filter: DuplicateFilter::default(),
        hours,
        verifies_checksums: false,
    };
    let verifies_checksums = reader.clone().trusts_checksums(&first_bytes, start);
    drop(first_bytes);
    let reader = ItemReader { verifies_checksums, ..reader };
    let mut builder = ManifestBuilder::new(reader, start, source.len());
    if detected.is_none() {
        let lost = Damage::new(DamageKind::Garbled, 0..start.min(source.len()));
        builder.gaps.push(lost.with_reason(
            "the header of the capture is damaged: read as Ethernet frames with times in \
             microseconds",
        ));
    }
    builder.scan(
        start,
        &mut window,
        SpeculativeScanner::new(source, container, PROBED_BYTES as u64),
    )?;
    builder.finish(lidar)
}

/// The state of the index pass.
struct ManifestBuilder {
    reader: ItemReader,
    end: u64,
    declarations: Vec<(u64, Declaration)>,
    topics: TopicStatsTable,
    counts: FrameCounts,
    gaps: Vec<Damage>,
    parts: Vec<Part>,
    starts: Vec<PartStart>,
    /// The last search for an item: its search, start and result.
    searched: Option<(Resync, u64, Option<u64>)>,
    /// Whether the last damaged range consists of incomplete frames, and no packet
    /// followed.
    extends_gap: bool,
}

impl ManifestBuilder {
    fn new(reader: ItemReader, start: u64, end: u64) -> Self {
        let mut builder = Self {
            reader,
            end,
            declarations: Vec::new(),
            topics: TopicStatsTable::default(),
            counts: FrameCounts::default(),
            gaps: Vec::new(),
            parts: Vec::new(),
            starts: Vec::new(),
            searched: None,
            extends_gap: false,
        };
        builder.begin_part(start);
        builder
    }

    /// Iterates over all items, or takes over segments that were scanned ahead.
    fn scan(
        &mut self,
        mut at: u64,
        window: &mut WindowReader<'_>,
        mut scanner: SpeculativeScanner,
    ) -> Result<()> {
        while at < self.end {
            scanner.submit(at, &self.reader, self.declarations.len());
            at = match scanner.take(at, self.declarations.len()) {
                Some(segment) => self.segment(segment)?,
                None => self.step(at, window)?,
            };
        }
        Ok(())
    }

    /// Takes over a segment that starts here. Returns the position at which reading
    /// continues.
    fn segment(&mut self, segment: Segment) -> Result<u64> {
        let Segment { start, bytes, items, end } = segment;
        for ScannedItem { at, len, content, sum } in items {
            self.begin_part_if_due(at);
            let item = bytes.get((at - start) as usize..).unwrap_or_default();
            let item = item.get(..len).unwrap_or_default();
            let content = match content {
                Some(ItemContent::Packet(packet)) => {
                    self.reader.unless_duplicate(packet, sum)
                }
                Some(item) => item,
                None => self.reader.read(at, item),
            };
            self.lost_fragments();
            self.record_item(at, item, content)?;
        }
        Ok(end)
    }

    /// Reads the item at `at`. Returns the position at which reading continues.
    fn step(&mut self, at: u64, window: &mut WindowReader<'_>) -> Result<u64> {
        self.begin_part_if_due(at);
        let bytes = window.read_at(at, self.reader.container.classified_bytes())?;
        if bytes.is_empty() {
            // The source is shorter than its length.
            return Ok(self.record_damage(DamageKind::Truncated, at, self.end));
        }
        let container = self.reader.container;
        let before = self.reader.section.is_big_endian;
        let is_big_endian = container.is_big_endian(&bytes, before);
        let classification = container.classify(at, &bytes, is_big_endian, self.end);
        let resync = Resync { container, is_big_endian, end: self.end };
        Ok(match classification {
            Classification::Item(len) if resync.continues_at(at + len, window)? => {
                self.item(at, len, window)?
            }
            Classification::Item(len) => match self.next(resync, at, window)? {
                // The item has another length than declared.
                Some(next) if next < at + len => {
                    self.record_damage(DamageKind::Garbled, at, next)
                }
                _ => self.item(at, len, window)?,
            },
            classification => match self.next(resync, at, window)? {
                Some(next) => self.record_damage(DamageKind::Garbled, at, next),
                None if classification == Classification::Truncated => {
                    self.record_damage(DamageKind::Truncated, at, self.end)
                }
                None => self.record_damage(DamageKind::Garbled, at, self.end),
            },
        })
    }

    /// Returns the position of the next item after the broken one at `at`. The result is
    /// remembered so that no range is searched twice.
    fn next(
        &mut self,
        resync: Resync,
        at: u64,
        window: &mut WindowReader<'_>,
    ) -> Result<Option<u64>> {
        if self.gaps.len() >= MAX_GAPS {
            return Ok(None);
        }
        match self.searched {
            Some((before, from, next))
                if before == resync
                    && from <= at
                    && next.is_none_or(|next| next > at) =>
            {
                Ok(next)
            }
            _ => {
                let next = resync.next(at, window)?;
                self.searched = Some((resync, at, next));
                Ok(next)
            }
        }
    }

    /// Reads the item of `len` bytes at `at`, and returns its end.
    fn item(
        &mut self,
        at: u64,
        len: u64,
        window: &mut WindowReader<'_>,
    ) -> Result<u64> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let bytes = window.read_at(at, len)?;
        let Some(item) = bytes.get(..len) else {
            return Ok(self.record_damage(DamageKind::Truncated, at, self.end));
        };
        let content = self.reader.read(at, item);
        self.lost_fragments();
        self.record_item(at, item, content)
    }

    /// Records the classification of the `item` at `at`, and returns its end.
    fn record_item(
        &mut self,
        at: u64,
        item: &[u8],
        content: ItemContent,
    ) -> Result<u64> {
        let end = at + item.len() as u64;
        match content {
            ItemContent::Packet(packet) => self.packet(at, &packet, item),
            ItemContent::Fragment => {
                self.counts.fragment();
                self.extends_gap = false;
            }
            ItemContent::Rejected(reason) => self.counts.count_rejected(reason, at),
            ItemContent::Lost(reason) => {
                self.counts.count_rejected(reason, at);
                self.record_lost_frame(at, end);
            }
            ItemContent::Declaration(declaration) => {
                self.extends_gap = false;
                if self.declarations.len() >= MAX_DECLARATIONS {
                    let message = "over 65536 sections and interfaces";
                    return Err(Error::new(ErrorKind::Limit, message).with_offset(at));
                }
                self.declarations.push((at, declaration));
            }
            ItemContent::Other => {}
            ItemContent::Broken => {
                return Ok(self.record_damage(DamageKind::Garbled, at, end));
            }
        }
        Ok(end)
    }

    fn packet(&mut self, at: u64, packet: &LidarPacket, item: &[u8]) {
        let Some(topic) = self.topics.packet(packet, packet.payload(item)) else {
            return self.counts.count_rejected(RejectReason::OtherDatagram, at);
        };
        self.counts.packet(packet.sender.is_position);
        self.extends_gap = false;
        if let Some(part) = self.parts.last_mut() {
            part.topics.insert(topic);
            part.time = part.time.cover(&TimeRange::from_timestamp(packet.time));
        }
    }

    /// Records an incomplete frame that contained a packet. Consecutive frames without a
    /// packet or a part boundary between them are one damaged range.
    fn record_lost_frame(&mut self, at: u64, end: u64) {
        if let Some(gap) = self.gaps.last_mut().filter(|_| self.extends_gap) {
            gap.bytes.end = end;
            gap.lost_bytes += end - at;
            gap.records += 1;
        } else if self.gaps.len() < MAX_GAPS {
            // Beyond the limit, they are still counted.
            let gap = Damage::new(DamageKind::Garbled, at..end);
            self.gaps.push(gap.with_records(1, None));
            self.extends_gap = true;
        }
    }

    /// Records the frames with fragments of packets that were never completed. They may
    /// be anywhere before the current position, so they are inserted in order.
    fn lost_fragments(&mut self) {
        for lost in self.reader.fragments.lost.drain(..) {
            if self.gaps.len() >= MAX_GAPS {
                continue;
            }
            let start = lost.bytes.start;
            let index = self.gaps.partition_point(|gap| gap.bytes.start < start);
            let gap = Damage::new(DamageKind::Garbled, lost.bytes);
            let gap = gap.with_records(u64::from(lost.is_first), None);
            self.gaps.insert(index, gap);
            self.extends_gap = false;
        }
    }

    /// Records a damaged range, and returns its end.
    fn record_damage(&mut self, kind: DamageKind, at: u64, end: u64) -> u64 {
        self.gaps.push(Damage::new(kind, at..end));
        self.extends_gap = false;
        end
    }

    /// Starts a part at `at`, where an item starts, if the current one is long enough.
    fn begin_part_if_due(&mut self, at: u64) {
        if self.parts.last().is_none_or(|part| at - part.bytes.start >= PART_BYTES) {
            self.begin_part(at);
        }
    }

    /// Starts a part at `at`, and ends the current one.
    fn begin_part(&mut self, at: u64) {
        if let Some(last) = self.parts.last_mut() {
            last.bytes.end = at;
        }
        self.extends_gap = false;
        let (topics, time) = (TopicSet::EMPTY, TimeRange::EMPTY);
        self.parts.push(Part { bytes: at..at, topics, time });
        let ItemReader { fragments, duplicate_filter, hours, .. } = &self.reader;
        let (fragments, duplicate_filter) =
            (fragments.frames(), duplicate_filter.clone());
        self.starts.push(PartStart { fragments, duplicate_filter, hours: *hours });
    }
}
