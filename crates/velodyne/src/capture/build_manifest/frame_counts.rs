//! Counts frames that have no packet of a lidar, so that all of them are reported.

use std::collections::BTreeMap;

use logtool_core::{FindingCode, MetadataKey, Value};

use crate::{
    anomaly::Anomaly,
    capture::{
        codes,
        network::layer::Layer,
        packets::{defragment::Reassembler, manufacturer::Manufacturer},
        reader::RejectReason,
    },
};

/// The metadata key of the number of packets of other manufacturers.
const OTHER_LIDARS: &str = "packets_of_other_lidars";

/// The maximum number of unknown layers that are reported.
const MAX_LAYERS: usize = 16;

/// The numbers of frames of a capture by their contents.
#[derive(Clone, Debug, Default)]
pub(super) struct FrameCounts {
    data_packets: u64,
    position_packets: u64,
    fragments: u64,
    /// The number of packets whose end was not captured, and the offset of the first frame.
    incomplete: Option<(u64, u64)>,
    /// The number of rejected or lost frames for each reason, and the offset of the first
    /// one.
    rejected: BTreeMap<RejectReason, (u64, u64)>,
    /// The number of packets that were found in each unknown layer, and the offset of the
    /// first frame.
    found: BTreeMap<Layer, (u64, u64)>,
}

impl FrameCounts {
    /// Counts a packet of a lidar.
    pub(super) fn count_packet(&mut self, is_position: bool) {
        if is_position { self.position_packets += 1 } else { self.data_packets += 1 }
    }

    /// Counts a packet in a frame at `offset` whose end was not captured.
    pub(super) fn count_incomplete(&mut self, offset: u64) {
        self.incomplete.get_or_insert((0, offset)).0 += 1;
    }

    /// Counts a fragment that does not complete its datagram.
    pub(super) fn count_fragment(&mut self) {
        self.fragments += 1;
    }

    /// Counts a frame at `offset` that is rejected or lost.
    pub(super) fn count_rejected(&mut self, reason: RejectReason, offset: u64) {
        self.rejected.entry(reason).or_insert((0, offset)).0 += 1;
    }

    /// Counts a packet in a frame at `offset` that was found in an unknown layer. Beyond a
    /// limit, packets of further layers are counted to a similar one.
    pub(super) fn count_found(&mut self, layer: Layer, offset: u64) {
        let is_new = !self.found.contains_key(&layer);
        let layer = match self.found.keys().next_back() {
            Some(last) if is_new && self.found.len() >= MAX_LAYERS => *last,
            _ => layer,
        };
        self.found.entry(layer).or_insert((0, offset)).0 += 1;
    }

    /// Returns the manufacturer of most of the packets of other lidars, in a capture without
    /// any packet of a Velodyne lidar.
    pub(super) fn other_manufacturer(&self) -> Option<Manufacturer> {
        let packets =
            self.rejected.iter().filter_map(|(reason, (count, _))| match reason {
                RejectReason::OtherLidar(manufacturer) => Some((*manufacturer, *count)),
                _ => None,
            });
        let most_frequent = packets.max_by_key(|(_, count)| *count);
        most_frequent
            .filter(|_| !self.has_packets())
            .map(|(manufacturer, _)| manufacturer)
    }

    fn has_packets(&self) -> bool {
        self.data_packets + self.position_packets > 0
    }

    /// Adds the counts to the metadata of a manifest.
    pub(super) fn add_to_metadata(&self, metadata: &mut BTreeMap<String, Value>) {
        let mut insert = |key: &str, count: u64| {
            metadata.insert(key.to_owned(), Value::UInt(count));
        };
        insert(MetadataKey::Packets.name(), self.data_packets);
        insert("position_packets", self.position_packets);
        if self.fragments > 0 {
            insert("fragments", self.fragments);
        }
        if let Some((count, _)) = self.incomplete {
            insert("incomplete_packets", count);
        }
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for (reason, (count, _)) in &self.rejected {
            *counts.entry(reason.metadata_key()).or_default() += count;
        }
        for (count, _) in self.found.values() {
            *counts.entry("packets_in_unknown_layers").or_default() += count;
        }
        counts.into_iter().for_each(|(key, count)| insert(key, count));
    }

    /// Adds the anomalies of the frames to `anomalies`, and those of the datagrams that
    /// `reassembler` dropped.
    pub(super) fn add_anomalies(
        &self,
        reassembler: &Reassembler,
        anomalies: &mut Vec<Anomaly>,
    ) {
        for (reason, (count, first)) in &self.rejected {
            let text = match count {
                1 => format!("1 frame {}: at byte {first}", reason.description(true)),
                _ => {
                    let description = reason.description(false);
                    format!("{count} frames {description}: the first at byte {first}")
                }
            };
            let text = match reason {
                RejectReason::OtherLidar(manufacturer) => {
                    format!("{text} (looks like {manufacturer})")
                }
                RejectReason::UnknownLink(link) => {
                    format!("{text} ({})", Layer::Link(*link))
                }
                _ => text,
            };
            anomalies.push(Anomaly::new(reason.code(), text));
        }
        if let Some((count, first)) = self.incomplete {
            let packets = match count {
                1 => "1 packet is truncated".to_owned(),
                count => format!("{count} packets are truncated"),
            };
            let text = format!(
                "{packets} by the snapshot length: only complete blocks are read, and the \
                 time of the lidar is missing: the first at byte {first}"
            );
            anomalies.push(Anomaly::new(&codes::SHORT, text));
        }
        for (layer, (count, first)) in &self.found {
            let packets = match count {
                1 => "1 packet was".to_owned(),
                count => format!("{count} packets were"),
            };
            let text = format!(
                "{packets} found in a layer that is not known ({layer}): the first at byte \
                 {first}"
            );
            anomalies.push(Anomaly::new(&codes::UNKNOWN_LAYER, text));
        }
        let others = reassembler.dropped_others;
        let incomplete = reassembler.dropped - others;
        if incomplete > 0 {
            let text = match incomplete {
                1 => "1 fragmented datagram is incomplete".to_owned(),
                count => format!("{count} fragmented datagrams are incomplete"),
            };
            anomalies.push(Anomaly::new(&codes::FRAGMENTS, text));
        }
        if others > 0 {
            let text = match others {
                1 => "1 incomplete fragmented datagram is not from a lidar".to_owned(),
                count => format!(
                    "{count} incomplete fragmented datagrams are not from lidars"
                ),
            };
            anomalies.push(Anomaly::new(&codes::OTHER_FRAGMENTS, text));
        }
        if !self.has_packets() {
            anomalies
                .push(Anomaly::new(&codes::EMPTY, "there are no packets of a lidar"));
        }
    }
}

impl RejectReason {
    fn code(self) -> &'static FindingCode {
        match self {
            Self::Short => &codes::SHORT,
            Self::Broken | Self::Hidden | Self::Corrupted | Self::Zeros => {
                &codes::BROKEN
            }
            Self::WrongFlags => &codes::FLAGS,
            Self::Checksum => &codes::CHECKSUM,
            Self::OtherLidar(_) => &codes::OTHER_LIDAR,
            Self::OtherDatagram => &codes::OTHER_DATAGRAM,
            Self::OtherProtocol => &codes::OTHER_PROTOCOL,
            Self::Duplicate => &codes::DUPLICATE,
            Self::HeaderChecksum => &codes::CHECKSUM,
            Self::UnknownLink(_) => &codes::UNKNOWN_LINK,
            Self::OtherSender => &codes::SENDERS,
        }
    }

    fn metadata_key(self) -> &'static str {
        match self {
            Self::Short => "truncated_frames",
            Self::Broken => "broken_packets",
            Self::Hidden => "unreachable_packets",
            Self::Corrupted => "corrupted_packets",
            Self::WrongFlags => "packets_with_wrong_flags",
            Self::Zeros => "zeroed_packets",
            Self::Checksum => "packets_with_wrong_checksums",
            Self::OtherLidar(_) => OTHER_LIDARS,
            Self::OtherDatagram => "other_datagrams",
            Self::OtherProtocol => "other_protocols",
            Self::Duplicate => "duplicate_packets",
            Self::HeaderChecksum => "packets_with_wrong_header_checksums",
            Self::UnknownLink(_) => "unknown_links",
            Self::OtherSender => "packets_of_further_senders",
        }
    }

    /// Returns the predicate of a sentence about such frames, in the singular if
    /// `is_singular`.
    fn description(self, is_singular: bool) -> &'static str {
        let choose = |singular: &'static str, plural: &'static str| {
            if is_singular { singular } else { plural }
        };
        match self {
            Self::Short => choose(
                "is truncated by the snapshot length, and lost",
                "are truncated by the snapshot length, and lost",
            ),
            Self::Broken => choose(
                "is shorter than its headers declare, and is lost",
                "are shorter than their headers declare, and are lost",
            ),
            Self::Hidden => choose(
                "contains a packet of a lidar that its headers do not lead to, and is lost",
                "contain packets of a lidar that their headers do not lead to, and are lost",
            ),
            Self::Corrupted => choose(
                "contains a data packet with an unknown block flag, and is lost",
                "contain data packets with unknown block flags, and are lost",
            ),
            Self::WrongFlags => choose(
                "has the length of a data packet, but unknown block flags",
                "have the length of data packets, but unknown block flags",
            ),
            Self::Zeros => choose(
                "contains only zeros in place of a packet of a lidar, and is lost",
                "contain only zeros in place of packets of a lidar, and are lost",
            ),
            Self::Checksum => choose(
                "contains a packet of a lidar with a wrong UDP checksum, and is lost",
                "contain packets of a lidar with wrong UDP checksums, and are lost",
            ),
            Self::OtherLidar(_) => choose(
                "contains a packet of a lidar of another manufacturer, which is not supported",
                "contain packets of a lidar of another manufacturer, which is not supported",
            ),
            Self::OtherDatagram => {
                choose("is not a datagram of a lidar", "are not datagrams of a lidar")
            }
            Self::OtherProtocol => {
                choose("has another protocol", "have other protocols")
            }
            Self::Duplicate => choose(
                "contains a duplicate packet, as sent by mirror ports, and is dropped",
                "contain duplicate packets, as sent by mirror ports, and are dropped",
            ),
            Self::HeaderChecksum => choose(
                "contains a packet of a lidar with a wrong IPv4 header checksum, and is lost",
                "contain packets of a lidar with wrong IPv4 header checksums, and are lost",
            ),
            Self::UnknownLink(_) => choose(
                "has an unknown link type, and is lost",
                "have an unknown link type, and are lost",
            ),
            Self::OtherSender => choose(
                "contains a packet of a sender after the first 256, and is lost",
                "contain packets of senders after the first 256, and are lost",
            ),
        }
    }
}
