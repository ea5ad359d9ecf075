//! The lidars whose messages share a topic. The frame id of a message identifies its lidar.

use std::{borrow::Cow, mem};

use logtool_core::{
    Block, Log, Manifest, Record, Selection, Topic, TopicContent, TopicId, TopicOrigin,
    decode_text,
};
use logtool_rosmsg::{Derivation, FrameIdReader};
use logtool_velodyne::lidar::{Lidar, LidarOptions, Probe};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// The suffix of the name of a topic of packets, after that of the topic of their messages.
pub(super) const PACKETS_SUFFIX: &str = "/packets";

/// The number of bytes that are read at once to detect the lidars.
const PROBE_BYTES: u64 = 8 << 20;

/// The maximum number of lidars that share a topic.
const MAX_LIDARS: usize = 64;

/// If a lidar has at least this many messages, a frame id that only one message has is damaged.
const MANY_MESSAGES: u64 = 10;

/// The messages of a logged topic, which contain packets and have frame ids.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ScanMessages {
    pub(super) topic: TopicId,
    /// The number of bytes before the message in each payload.
    header_len: usize,
    frame_id_reader: FrameIdReader,
}

/// Messages with packets, and the topics of the packets of their lidars.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ScanTopic {
    pub(super) messages: ScanMessages,
    /// The topic of all packets in the bag, which becomes that of the first lidar.
    pub(super) packets: TopicId,
    /// The frame id of each lidar, and the topic of its packets.
    pub(super) lidars: Vec<(String, TopicId)>,
}

/// A topic of packets in a bag, and the lidars that were found in its first messages.
pub(super) struct ProbedTopic {
    pub(super) packets: TopicId,
    /// The messages, if they have frame ids.
    pub(super) messages: Option<ScanMessages>,
    /// At least one lidar, in the order of their first messages.
    pub(super) lidars: Vec<ProbedLidar>,
    /// The frame ids that were found only in one message, which is damaged.
    pub(super) damaged_frame_ids: Vec<String>,
}

/// A lidar, as far as its messages were read.
#[derive(Default)]
pub(super) struct ProbedLidar {
    pub(super) frame_id: String,
    /// The lidar, if its packets were [identified](ProbedTopic::identify).
    pub(super) lidar: Option<Lidar>,
    probe: Probe,
    message_count: u64,
}

/// Reads messages until their lidars are known.
struct FrameProbe {
    messages: Option<ScanMessages>,
    lidars: Vec<ProbedLidar>,
    message_count: u64,
    /// The number of messages up to the latest one with a new frame id.
    latest_first: u64,
}

impl ScanMessages {
    /// Returns the messages that contain the packets of the topic `packets`, if they have frame
    /// ids.
    fn find(manifest: &Manifest, packets: &Topic) -> Option<Self> {
        let name = packets.name.strip_suffix(PACKETS_SUFFIX)?;
        let is_named =
            |topic: &Topic| topic.name == name && topic.origin == TopicOrigin::Logged;
        let topics = manifest.topics().filter(|(_, topic)| is_named(topic));
        let mut candidates = topics.filter_map(|(id, topic)| {
            let frame_id_reader = Derivation::from_topic(topic)?.frame_id_reader()?;
            let header_len = topic.header_len as usize;
            Some(Self { topic: id, header_len, frame_id_reader })
        });
        // If several topics have the name, it is unknown which of them has the packets.
        candidates.next().filter(|_| candidates.next().is_none())
    }

    /// Returns the frame id of `message`, whose derived records are `packets`. Returns `None` if
    /// `message` is damaged.
    pub(super) fn frame_id<'r>(
        &self,
        message: &Record<'r>,
        packets: &[Record<'_>],
    ) -> Option<Cow<'r, str>> {
        let content = message.payload.get(self.header_len..)?;
        // The only derived record of a message whose packets cannot be read is its whole content.
        if packets.iter().any(|packet| packet.payload.len() >= content.len()) {
            return None;
        }
        let frame_id = self.frame_id_reader.frame_id(content)?;
        // Names of frames started with a slash before tf2.
        Some(decode_text(frame_id.strip_prefix(b"/").unwrap_or(frame_id)))
    }
}

impl ScanTopic {
    /// Returns the same with other ids of the topics: `number` returns the new id of each.
    pub(super) fn renumbered(&self, number: impl Fn(TopicId) -> TopicId) -> Self {
        let lidars = self.lidars.iter();
        Self {
            messages: ScanMessages {
                topic: number(self.messages.topic),
                ..self.messages.clone()
            },
            packets: number(self.packets),
            lidars: lidars
                .map(|(frame_id, id)| (frame_id.clone(), number(*id)))
                .collect(),
        }
    }

    /// Returns the topic of the packets of the lidar with this frame id.
    pub(super) fn packets_of(&self, frame_id: &str) -> Option<TopicId> {
        let mut lidars = self.lidars.iter();
        lidars.find(|(other, _)| other == frame_id).map(|(_, packets)| *packets)
    }

    /// Returns whether `packets` is the topic of the packets of a lidar.
    pub(super) fn has_packets(&self, packets: TopicId) -> bool {
        self.lidars.iter().any(|(_, other)| *other == packets)
    }
}

impl ProbedTopic {
    /// Finds the lidars of all topics of packets in `bag`.
    pub(super) fn find_all(bag: &dyn Log) -> Result<Vec<Self>> {
        let topics = bag.manifest().topics().filter(|(_, topic)| {
            topic.content == TopicContent::LidarPackets
                && topic.name.ends_with(PACKETS_SUFFIX)
        });
        topics.map(|(id, topic)| Self::find(bag, id, topic)).collect()
    }

    /// Identifies the models of the lidars.
    pub(super) fn identify(&mut self, options: &LidarOptions) {
        for found in &mut self.lidars {
            found.lidar = mem::take(&mut found.probe).finish(options);
        }
    }

    /// Finds the lidars of the topic of packets `topic`.
    fn find(bag: &dyn Log, packets: TopicId, topic: &Topic) -> Result<Self> {
        let messages = ScanMessages::find(bag.manifest(), topic);
        let message_topic = messages.as_ref().map(|messages| messages.topic);
        let topics = [packets].into_iter().chain(message_topic).collect();
        let selection = Selection { topics, ..Selection::default() };
        let (mut probe, mut block) = (FrameProbe::new(messages), Block::default());
        for part in bag.manifest().plan(&selection, PROBE_BYTES) {
            let mut cursor = bag.read(&part, &selection)?;
            while !probe.is_enough() && cursor.fill(&mut block)? {
                probe.add(&block);
            }
            bag.source().release(part.bytes);
            if probe.is_enough() {
                break;
            }
        }
        Ok(probe.finish(packets))
    }
}

impl FrameProbe {
    fn new(messages: Option<ScanMessages>) -> Self {
        let mut lidars = Vec::new();
        if messages.is_none() {
            lidars.push(ProbedLidar::default());
        }
        Self { messages, lidars, message_count: 0, latest_first: 0 }
    }

    /// Adds the records of `block`: packets, and after them the message that contains them.
    fn add(&mut self, block: &Block) {
        let Some(messages) = self.messages.clone() else {
            let probes = self.lidars.iter_mut().map(|lidar| &mut lidar.probe);
            for probe in probes {
                block.iter().for_each(|packet| probe.add(packet.payload, packet.time));
            }
            return;
        };
        let mut packets = Vec::new();
        for record in block.iter() {
            if record.topic != messages.topic {
                packets.push(record);
                continue;
            }
            if let Some(frame_id) = messages.frame_id(&record, &packets)
                && !packets.is_empty()
                && let Some(lidar) = self.lidar(&frame_id)
            {
                lidar.message_count += 1;
                let probe = &mut lidar.probe;
                packets
                    .iter()
                    .for_each(|packet| probe.add(packet.payload, packet.time));
            }
            packets.clear();
        }
    }

    /// Returns the lidar that sent a message, or `None` if there are too many.
    fn lidar(&mut self, frame_id: &str) -> Option<&mut ProbedLidar> {
        self.message_count += 1;
        let index = self.lidars.iter().position(|lidar| lidar.frame_id == frame_id);
        if index.is_none() && self.lidars.len() < MAX_LIDARS {
            self.latest_first = self.message_count;
            let frame_id = frame_id.to_owned();
            self.lidars.push(ProbedLidar { frame_id, ..ProbedLidar::default() });
            return self.lidars.last_mut();
        }
        self.lidars.get_mut(index?)
    }

    /// Returns whether the lidars are known. If there are several frame ids, each must have had the
    /// chance to occur twice.
    fn is_enough(&self) -> bool {
        let following = self.message_count - self.latest_first;
        self.lidars.iter().any(|lidar| lidar.probe.is_enough())
            && (self.lidars.len() == 1 || following >= MANY_MESSAGES)
    }

    /// Returns the lidars of the topic `packets`.
    fn finish(self, packets: TopicId) -> ProbedTopic {
        let Self { messages, lidars, .. } = self;
        let has_many = |lidar: &ProbedLidar| lidar.message_count >= MANY_MESSAGES;
        let has_many = lidars.iter().any(has_many);
        let (damaged, mut lidars): (Vec<_>, Vec<_>) =
            lidars.into_iter().partition(|lidar| has_many && lidar.message_count == 1);
        // Without a sound message, all records of the topic are those of one lidar.
        let messages = messages.filter(|_| !lidars.is_empty());
        if lidars.is_empty() {
            lidars.push(ProbedLidar::default());
        }
        let damaged_frame_ids =
            damaged.into_iter().map(|lidar| lidar.frame_id).collect();
        ProbedTopic { packets, messages, lidars, damaged_frame_ids }
    }
}
