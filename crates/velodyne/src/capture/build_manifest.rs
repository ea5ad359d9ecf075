//! The index pass: builds the manifest of a capture by reading all of its items.
//!
//! Captures have no index, so all headers of frames and packets must be read to open one.

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
        corrections::{Corrections, wrong_headers::WrongHeaders},
        format_state::{FormatState, PartStart},
        hour_counter::HourCounter,
        item::{Declaration, Section},
        packets::{defragment::Reassembler, duplicates::DuplicateFilter},
        reader::{Doubt, ItemContent, ItemReader, LidarPacket, RejectReason},
        resync::Resync,
    },
    lidar::LidarOptions,
};

/// The maximum number of damaged ranges that are reported separately.
const MAX_DAMAGED_RANGES: usize = 1 << 16;

/// The maximum number of sections and interfaces of a file.
const MAX_DECLARATIONS: usize = 1 << 16;

/// The minimum length of a part, except the last one.
const PART_BYTES: u64 = 1 << 20;

/// The number of bytes at the start of a file that are read to detect the container and
/// whether checksums are correct.
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
    let container_and_start = match detected {
        None if options.is_format_given => {
            Some(Container::with_damaged_header(&first_bytes))
        }
        detected => detected,
    };
    let (container, start) = container_and_start.ok_or_else(|| {
        let message = "not a pcap, a pcapng, or packets of 1206 bytes";
        Error::new(ErrorKind::Unrecognized, message).with_offset(0)
    })?;
    let hours = match container {
        Container::Bare => HourCounter::detect(&first_bytes),
        _ => None,
    };
    let reader = ItemReader {
        container,
        section: Section::default(),
        reassembler: Reassembler::default(),
        duplicate_filter: DuplicateFilter::default(),
        hours,
        verifies_checksums: false,
        corrections: Arc::default(),
    };
    let verifies_checksums = reader.clone().has_correct_checksums(&first_bytes, start);
    drop(first_bytes);
    let reader = ItemReader { verifies_checksums, ..reader };
    let scan = |reader: ItemReader, window: &mut WindowReader<'_>| {
        let mut builder = ManifestBuilder::new(reader, start, source.len());
        let scanner = SpeculativeScanner::new(source, container, PROBED_BYTES as u64);
        builder.scan(start, window, scanner)?;
        Ok::<_, Error>(builder)
    };
    let mut builder = scan(reader.clone(), &mut window)?;
    // The corrections decide which packets exist, so that the capture is read again; a third
    // time if packets whose header checksums are not verified lead to further corrections.
    loop {
        let corrections = builder.corrections();
        if corrections == *builder.reader.corrections {
            break;
        }
        let corrections = Arc::new(corrections);
        builder = scan(ItemReader { corrections, ..reader.clone() }, &mut window)?;
    }
    if detected.is_none() {
        let header = Damage::new(DamageKind::Garbled, 0..start.min(source.len()));
        let reason = "the header of the capture is damaged: read as Ethernet frames";
        builder.damage.insert(0, header.with_reason(reason));
    }
    builder.finish(lidar)
}

/// The state of the index pass.
struct ManifestBuilder {
    reader: ItemReader,
    file_len: u64,
    declarations: Vec<(u64, Declaration)>,
    topics: TopicStatsTable,
    counts: FrameCounts,
    wrong_headers: WrongHeaders,
    /// The damaged ranges, in the order of the file.
    damage: Vec<Damage>,
    /// The packets that are read, but doubtful.
    doubtful: Vec<Damage>,
    parts: Vec<Part>,
    /// The state of the reader at the start of each part.
    starts: Vec<PartStart>,
    last_search: Option<ItemSearch>,
    /// The last offset at which an item is known to start. After an item whose length is not
    /// confirmed, no item is known to start.
    known_start: u64,
    /// Whether the last damaged range consists of lost frames, and no packet followed.
    extends_damage: bool,
}

/// A search for an item after damage.
#[derive(Clone, Copy)]
struct ItemSearch {
    resync: Resync,
    /// The offset of the damaged item.
    damaged: u64,
    /// The offset of the next item, if there is one.
    next: Option<u64>,
}

impl ManifestBuilder {
    fn new(reader: ItemReader, start: u64, file_len: u64) -> Self {
        let mut builder = Self {
            reader,
            file_len,
            declarations: Vec::new(),
            topics: TopicStatsTable::default(),
            counts: FrameCounts::default(),
            wrong_headers: WrongHeaders::default(),
            damage: Vec::new(),
            doubtful: Vec::new(),
            parts: Vec::new(),
            starts: Vec::new(),
            last_search: None,
            known_start: start,
            extends_damage: false,
        };
        builder.start_part(start);
        builder
    }

    /// Reads all items from `offset` on. Where `scanner` has scanned a segment ahead, its
    /// results are used.
    fn scan(
        &mut self,
        mut offset: u64,
        window: &mut WindowReader<'_>,
        mut scanner: SpeculativeScanner,
    ) -> Result<()> {
        while offset < self.file_len {
            scanner.submit(offset, &self.reader, self.declarations.len());
            offset = match scanner.take(offset, self.declarations.len()) {
                Some(segment) => self.add_segment(segment)?,
                None => self.read_next(offset, window)?,
            };
        }
        Ok(())
    }

    /// Records the items of a segment that was scanned ahead. Returns the offset at which
    /// reading continues.
    fn add_segment(&mut self, segment: Segment) -> Result<u64> {
        let Segment { start, bytes, items, end } = segment;
        for ScannedItem { offset, len, content, hash } in items {
            self.start_part_if_due(offset);
            let item = bytes.get((offset - start) as usize..).unwrap_or_default();
            let item = item.get(..len).unwrap_or_default();
            let content = match content {
                Some(ItemContent::Packet(packet)) => {
                    self.reader.reject_duplicate(packet, hash)
                }
                Some(content) => content,
                None => self.reader.read(offset, item),
            };
            self.record_lost_fragments();
            self.record_item(offset, item, content)?;
        }
        self.known_start = end;
        Ok(end)
    }

    /// Reads the item or the damage at `offset`. Returns the offset at which reading
    /// continues.
    fn read_next(&mut self, offset: u64, window: &mut WindowReader<'_>) -> Result<u64> {
        self.start_part_if_due(offset);
        let file_len = self.file_len;
        let bytes = window.read_at(offset, self.reader.container.classified_bytes())?;
        if bytes.is_empty() {
            // The source ends before its declared length.
            return Ok(self.record_damage(DamageKind::Truncated, offset, file_len));
        }
        let container = self.reader.container;
        let was_big_endian = self.reader.section.is_big_endian;
        let is_big_endian = container.is_big_endian(&bytes, was_big_endian);
        let classification =
            container.classify(offset, &bytes, is_big_endian, file_len);
        let resync = Resync { container, is_big_endian, file_len };
        let is_known_start = offset == self.known_start || container == Container::Bare;
        Ok(match classification {
            Classification::Item(len)
                if resync.has_confirmed_end(offset, len, window)? =>
            {
                self.known_start = offset + len;
                self.read_item(offset, len, window)?
            }
            Classification::Item(len) => {
                match self.find_item(resync, offset, window)? {
                    // No item starts here, or its declared length is wrong.
                    Some(next) if next < offset + len || !is_known_start => {
                        self.record_damage(DamageKind::Garbled, offset, next)
                    }
                    _ => self.read_item(offset, len, window)?,
                }
            }
            classification => match self.find_item(resync, offset, window)? {
                Some(next) => self.record_damage(DamageKind::Garbled, offset, next),
                None if classification == Classification::Truncated => {
                    self.record_damage(DamageKind::Truncated, offset, file_len)
                }
                None => self.record_damage(DamageKind::Garbled, offset, file_len),
            },
        })
    }

    /// Returns the offset of the next item after the damaged one at `damaged`. The result
    /// is stored, so that no range is searched twice.
    fn find_item(
        &mut self,
        resync: Resync,
        damaged: u64,
        window: &mut WindowReader<'_>,
    ) -> Result<Option<u64>> {
        if self.damage.len() >= MAX_DAMAGED_RANGES {
            return Ok(None);
        }
        let next = match self.last_search {
            Some(last)
                if last.resync == resync
                    && last.damaged <= damaged
                    && last.next.is_none_or(|next| next > damaged) =>
            {
                last.next
            }
            _ => {
                let next = resync.next_item(damaged, window)?;
                self.last_search = Some(ItemSearch { resync, damaged, next });
                next
            }
        };
        self.known_start = next.unwrap_or(self.known_start);
        Ok(next)
    }

    /// Reads the item of `len` bytes at `offset`, and returns its end.
    fn read_item(
        &mut self,
        offset: u64,
        len: u64,
        window: &mut WindowReader<'_>,
    ) -> Result<u64> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let bytes = window.read_at(offset, len)?;
        let Some(item) = bytes.get(..len) else {
            return Ok(self.record_damage(
                DamageKind::Truncated,
                offset,
                self.file_len,
            ));
        };
        let content = self.reader.read(offset, item);
        self.record_lost_fragments();
        self.record_item(offset, item, content)
    }

    /// Records the classification of the `item` at `offset`, and returns its end.
    fn record_item(
        &mut self,
        offset: u64,
        item: &[u8],
        content: ItemContent,
    ) -> Result<u64> {
        let end = offset + item.len() as u64;
        match content {
            ItemContent::Packet(packet) => {
                packet
                    .all()
                    .for_each(|packet| self.record_packet(offset, packet, item));
            }
            ItemContent::Fragment => {
                self.counts.count_fragment();
                self.extends_damage = false;
            }
            ItemContent::Rejected(reason) => self.counts.count_rejected(reason, offset),
            ItemContent::Lost(reason) => {
                self.counts.count_rejected(reason, offset);
                self.record_lost_frame(offset, end);
            }
            ItemContent::WrongHeader(device) => {
                self.wrong_headers.count(device);
                self.counts.count_rejected(RejectReason::HeaderChecksum, offset);
                self.record_lost_frame(offset, end);
            }
            ItemContent::Declaration(declaration) => {
                self.extends_damage = false;
                if self.declarations.len() >= MAX_DECLARATIONS {
                    let message = format!(
                        "the capture has more than {MAX_DECLARATIONS} sections and interfaces"
                    );
                    let err = Error::new(ErrorKind::Limit, message);
                    return Err(err.with_offset(offset));
                }
                self.declarations.push((offset, declaration));
            }
            ItemContent::Other => {}
            // Beyond the limit, malformed items are only counted.
            ItemContent::Broken if self.damage.len() >= MAX_DAMAGED_RANGES => {
                self.counts.count_rejected(RejectReason::Broken, offset);
            }
            ItemContent::Broken => {
                self.record_damage(DamageKind::Garbled, offset, end);
            }
        }
        Ok(end)
    }

    fn record_packet(&mut self, offset: u64, packet: &LidarPacket, item: &[u8]) {
        let Some(topic) = self.topics.add(packet, packet.payload(item)) else {
            self.counts.count_rejected(RejectReason::OtherSender, offset);
            return self.record_lost_frame(offset, offset + item.len() as u64);
        };
        self.counts.count_packet(packet.sender.is_position);
        if let Some(doubt) = packet.doubt {
            if doubt == Doubt::Incomplete {
                self.counts.count_incomplete(offset);
            }
            let item = offset..offset + item.len() as u64;
            doubt.damage(item).add_to(&mut self.doubtful);
        }
        if let Some(layer) = packet.unknown_layer {
            self.counts.count_found(layer, offset);
            let has_unreadable_ip = packet.has_unreadable_ip;
            self.wrong_headers.count_found(packet.sender, layer, has_unreadable_ip);
        }
        self.extends_damage = false;
        if let Some(part) = self.parts.last_mut() {
            part.topics.insert(topic);
            part.time = part.time.cover(&TimeRange::from_timestamp(packet.time));
        }
    }

    /// Returns the corrections that follow from the whole capture. They contain those that
    /// have been applied.
    fn corrections(&self) -> Corrections {
        let senders: Vec<_> = self
            .topics
            .stats
            .iter()
            .map(|stats| (stats.sender, stats.records))
            .collect();
        self.reader.corrections.update(&senders, &self.wrong_headers)
    }

    /// Records a frame whose packet is lost. Consecutive frames without a packet or a part
    /// boundary between them are one damaged range. Beyond the limit, frames are only
    /// counted, which the caller does.
    fn record_lost_frame(&mut self, offset: u64, end: u64) {
        if let Some(damage) = self.damage.last_mut().filter(|_| self.extends_damage) {
            damage.bytes.end = end;
            damage.lost_bytes += end - offset;
            damage.records += 1;
        } else if self.damage.len() < MAX_DAMAGED_RANGES {
            let damage = Damage::new(DamageKind::Garbled, offset..end);
            self.damage.push(damage.with_records(1, None));
            self.extends_damage = true;
        }
    }

    /// Records the frames with fragments of packets that were never completed. They may
    /// be anywhere before the current item, so they are inserted in order. Beyond the
    /// limit, they are only counted by the reassembler.
    fn record_lost_fragments(&mut self) {
        for frame in self.reader.reassembler.lost.drain(..) {
            if self.damage.len() >= MAX_DAMAGED_RANGES {
                continue;
            }
            let start = frame.bytes.start;
            let index =
                self.damage.partition_point(|damage| damage.bytes.start < start);
            let damage = Damage::new(DamageKind::Garbled, frame.bytes);
            let damage = damage.with_records(u64::from(frame.is_first), None);
            self.damage.insert(index, damage);
            self.extends_damage = false;
        }
    }

    /// Records a damaged range, and returns its end.
    fn record_damage(&mut self, kind: DamageKind, start: u64, end: u64) -> u64 {
        self.damage.push(Damage::new(kind, start..end));
        self.extends_damage = false;
        end
    }

    /// Starts a part at `offset`, where an item starts, if the current one is long enough.
    fn start_part_if_due(&mut self, offset: u64) {
        if self.parts.last().is_none_or(|part| offset - part.bytes.start >= PART_BYTES)
        {
            self.start_part(offset);
        }
    }

    /// Ends the current part, and starts a part at `offset`.
    fn start_part(&mut self, offset: u64) {
        if let Some(last) = self.parts.last_mut() {
            last.bytes.end = offset;
        }
        self.extends_damage = false;
        self.parts.push(Part {
            bytes: offset..offset,
            topics: TopicSet::EMPTY,
            time: TimeRange::EMPTY,
        });
        self.starts.push(PartStart {
            fragments: self.reader.reassembler.frame_offsets(),
            duplicate_filter: self.reader.duplicate_filter.clone(),
            hours: self.reader.hours,
        });
    }
}
