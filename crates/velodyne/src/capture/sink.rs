//! Writing packets of lidars as a pcap.
//!
//! ```text
//! header   4d 3c b2 a1 | 2 u16 | 4 u16 | 0 u32 | 0 u32 | longest u32 | 1 u32 (Ethernet)
//! frame    seconds u32 | nanoseconds u32 | captured u32 | length u32 | bytes
//! ```
//! (draft-ietf-opsawg-pcap.) Little-endian, with nanoseconds. Frames are made anew of the
//! payloads: what was around them in another capture is not known any more.

use std::{
    borrow::Cow,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use logtool_core::{
    Encoder, Error, ErrorKind, Extract, LeftOut, Manifest, Output, Record, RecordSink,
    Result, Topic, TopicId, TopicOrigin, Value, WriteOptions,
};

use crate::{
    capture::{
        container::Container,
        frame::{self, DELIVERED, OWN_MAC},
        link::Mac,
        notes::Notes,
        payload::{DATA_PORT, POSITION_PORT},
        sender::Device,
        topics::{ENCODING, FORMAT_NAME},
    },
    vel::{self, PacketReader},
};

/// The longest frame that a reader has to expect: what tcpdump writes there.
const LONGEST: u32 = 262_144;

/// So many bytes are written at once, and the frame in which they are exceeded.
const PIECE: usize = 256 << 10;

/// Writes the packets of some extracts.
pub(crate) struct PcapSink<W> {
    out: W,
    extracts: Vec<From>,
    /// Frames that are not yet given to the output.
    piece: Vec<u8>,
    remarks: Vec<String>,
    /// Packets out of messages, which hold several.
    unpacked: u64,
    /// Messages of packets that are not marked valid.
    invalid: u64,
    /// The identification of the last packet that is not of a capture.
    next: u16,
}

/// The messages of ROS of which packets are made.
const SCAN: &str = "velodyne_msgs/VelodyneScan";

/// The hardware address, the IP address and the port of a device that sent packets.
type Sender = (Mac, IpAddr, u16);

/// Who sent the packets of each topic of a capture.
#[derive(Clone)]
struct Senders(Vec<Sender>);

/// Captures, each with who sent what.
struct Captures(Vec<Senders>);

/// What packets are taken from.
enum From {
    /// A capture: who sent those of each topic.
    Capture(Senders),
    /// Another log with packets in it: who is to have sent those of each topic, if they
    /// are packets.
    Packets(Vec<Option<Sender>>),
    /// A `.vel` log.
    Vel {
        packets: PacketReader,
        /// What to add for Unix time.
        to_unix: i64,
    },
}

impl<W: Output> PcapSink<W> {
    /// Starts a capture in `out` of what is wanted of `extracts`.
    ///
    /// # Errors
    /// `Unsupported` if one of them is no capture and no `.vel` log, or has packets
    /// without a time, or for `options` that a capture cannot follow.
    pub(crate) fn new(
        out: W,
        extracts: &[Extract<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        if options.compression.is_some() {
            return Err(unsupported("a capture cannot be compressed"));
        }
        if !options.rename.is_empty() {
            return Err(unsupported(
                "the topics of a capture have no names of their own",
            ));
        }
        let mut remarks = Vec::new();
        let from = |extract: &Extract<'_>| From::of(extract, &mut remarks);
        let extracts: Vec<From> = extracts.iter().map(from).collect::<Result<_>>()?;
        let mut piece = vec![0x4d, 0x3c, 0xb2, 0xa1];
        piece.extend([2_u16, 4].map(u16::to_le_bytes).concat());
        piece.extend([0, 0, LONGEST, 1].map(u32::to_le_bytes).concat());
        Ok(Self { out, extracts, piece, remarks, unpacked: 0, invalid: 0, next: 0 })
    }

    fn packet(
        &mut self,
        sender: Sender,
        nanos: i64,
        identification: u16,
        payload: &[u8],
    ) -> Result<()> {
        put(&mut self.piece, sender, nanos, identification, payload)?;
        if self.piece.len() >= PIECE {
            self.out.give(&mut self.piece)?;
        }
        Ok(())
    }
}

/// Adds the frame of a packet to `piece`.
fn put(
    piece: &mut Vec<u8>,
    sender: Sender,
    nanos: i64,
    identification: u16,
    payload: &[u8],
) -> Result<()> {
    let seconds = u32::try_from(nanos.div_euclid(1_000_000_000)).map_err(|_| {
        unsupported("a capture has times from 1970 to 2106, and this packet has not")
    })?;
    if payload.len() > frame::MAX_PAYLOAD {
        return Err(unsupported("no datagram is that long"));
    }
    let fraction = nanos.rem_euclid(1_000_000_000) as u32;
    let len = frame::len(sender.1, payload) as u32;
    piece.extend([seconds, fraction, len, len].map(u32::to_le_bytes).as_flattened());
    frame::put(piece, sender, identification, payload);
    Ok(())
}

/// Returns the identification of a packet of the capture with the index `from`: from its
/// offset there, so that packets near each other have different ones whichever thread encodes
/// them, and from the index, as equal packets of two captures often have equal offsets.
fn own_identification(from: usize, record: &Record<'_>) -> u16 {
    (record.offset as u16) ^ (from as u16).wrapping_mul(0x9e37)
}

impl Senders {
    /// Who sent the packets of `topic`.
    fn of(&self, topic: TopicId) -> Result<Sender> {
        let sender = self.0.get(topic.index()).copied();
        sender.ok_or_else(|| no_topic(topic))
    }
}

impl Encoder for Captures {
    fn encode(
        &self,
        from: usize,
        record: Record<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let senders = self.0.get(from).ok_or_else(|| no_topic(record.topic))?;
        let sender = senders.of(record.topic)?;
        let nanos = record.time.as_nanos();
        put(bytes, sender, nanos, own_identification(from, &record), record.payload)
    }
}

impl<W: Output> RecordSink for PcapSink<W> {
    fn write(&mut self, from: usize, record: Record<'_>) -> Result<()> {
        match self.extracts.get(from) {
            Some(From::Capture(senders)) => {
                let sender = senders.of(record.topic)?;
                let (nanos, own) =
                    (record.time.as_nanos(), own_identification(from, &record));
                self.packet(sender, nanos, own, record.payload)
            }
            Some(From::Packets(senders)) => {
                match senders.get(record.topic.index()).copied().flatten() {
                    Some(sender) => {
                        self.next = self.next.wrapping_add(1);
                        let nanos = record.time.as_nanos();
                        self.packet(sender, nanos, self.next, record.payload)
                    }
                    // `leaves_out` has told so, or these are the messages of the packets.
                    None => Ok(()),
                }
            }
            Some(From::Vel { packets, to_unix }) => {
                if packets.topic() != Some(record.topic) {
                    // `leaves_out` has told so.
                    return Ok(());
                }
                if !packets.is_valid(&record) {
                    self.invalid += 1;
                    return Ok(());
                }
                let (packets, to_unix) = (packets.packets(record), *to_unix);
                for packet in packets {
                    let nanos = packet.time.as_nanos().saturating_add(to_unix);
                    self.next = self.next.wrapping_add(1);
                    let sender = (OWN_MAC, DELIVERED, DATA_PORT);
                    self.packet(sender, nanos, self.next, packet.payload)?;
                    self.unpacked += 1;
                }
                Ok(())
            }
            None => Err(no_topic(record.topic)),
        }
    }

    fn encoder(&self) -> Option<Arc<dyn Encoder>> {
        let senders = self.extracts.iter().map(|from| match from {
            From::Capture(senders) => Some(senders.clone()),
            From::Packets(_) | From::Vel { .. } => None,
        });
        let senders: Option<Vec<Senders>> = senders.collect();
        senders.map(|senders| Arc::new(Captures(senders)) as Arc<dyn Encoder>)
    }

    fn write_encoded(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        self.out.give(&mut self.piece)?;
        self.out.give(bytes)?;
        Ok(())
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.remarks.clone();
        if self.unpacked > 0 {
            remarks.push(format!("{} packets, a frame each", self.unpacked));
        }
        if self.invalid > 0 {
            let text = format!(
                "{} messages of packets that are not marked valid are left out",
                self.invalid
            );
            remarks.push(text);
        }
        remarks
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.out.give(&mut self.piece)?;
        self.out.flush()?;
        Ok(())
    }
}

impl From {
    fn of(extract: &Extract<'_>, remarks: &mut Vec<String>) -> Result<Self> {
        let Extract { manifest, selection } = extract;
        match manifest.format.as_str() {
            FORMAT_NAME => {
                let notes: Notes = manifest.noted(FORMAT_NAME)?;
                let logged = manifest.topics().filter(|(id, topic)| {
                    topic.origin == TopicOrigin::Logged
                        && selection.topics.contains(*id)
                });
                for (_, topic) in logged {
                    if topic.time.is_none() && topic.records != Some(0) {
                        let what = format!(
                            "{} has packets without a time, and a pcap has one for each",
                            topic.label()
                        );
                        return Err(unsupported(what));
                    }
                }
                if notes.container == Container::Bare {
                    remarks.push(
                        "packets without a container: they count from 1970, and from the \
                         address and port of a lidar as it is delivered"
                            .to_owned(),
                    );
                }
                let sender = |sender: &crate::capture::sender::Sender| {
                    let port = match (sender.port, sender.is_position) {
                        (0, false) => DATA_PORT,
                        (0, true) => POSITION_PORT,
                        (port, _) => port,
                    };
                    let Device { interface, mac, address } = sender.device;
                    let mac = on_one_link(mac.unwrap_or(OWN_MAC), interface);
                    let is_known = !address.is_unspecified();
                    (mac, if is_known { address } else { DELIVERED }, port)
                };
                Ok(Self::Capture(Senders(notes.topics.iter().map(sender).collect())))
            }
            vel::FORMAT_NAME => {
                if manifest.clock.to_unix.is_none() {
                    let text = "no GPS message tells UTC: the times count from the start \
                                of the program, which stands as 1970";
                    remarks.push(text.to_owned());
                }
                Ok(Self::Vel {
                    packets: PacketReader::new(manifest)?,
                    to_unix: manifest
                        .clock
                        .to_unix
                        .as_ref()
                        .map_or(0, |f| f.offset_nanos),
                })
            }
            other => {
                let senders = senders(extract);
                if senders.iter().all(Option::is_none) {
                    let what = "there are no packets of lidars, which a capture is of";
                    return Err(unsupported(format!("{other} as a capture: {what}")));
                }
                remarks.push(
                    "who sent the packets is not known: frames are from 192.168.1.201 on, \
                     as from lidars as they are delivered"
                        .to_owned(),
                );
                Ok(Self::Packets(senders))
            }
        }
    }
}

/// Returns the hardware address of a device in a capture of a single interface. Devices of
/// other interfaces can have the same address, so theirs is marked as locally administered
/// and contains the number of the interface.
fn on_one_link(Mac(mut mac): Mac, interface: u32) -> Mac {
    if interface > 0 {
        let [.., high, low] = interface.to_be_bytes();
        mac[0] |= 2;
        mac[1] ^= high;
        mac[2] ^= low;
    }
    Mac(mac)
}

/// Who is to have sent the packets of each topic of `extract` that has some, as a bag has:
/// a lidar as it is delivered, and others with the addresses after that.
fn senders(extract: &Extract<'_>) -> Vec<Option<Sender>> {
    let Extract { manifest, selection } = extract;
    let mut last = 201_u8;
    let sender = |(id, topic): (TopicId, &Topic)| {
        let is_packets =
            topic.encoding == ENCODING && topic.origin == TopicOrigin::Derived;
        let is_wanted = is_packets && selection.topics.contains(id);
        is_wanted.then(|| {
            let address = IpAddr::V4(Ipv4Addr::new(192, 168, 1, last));
            last = last.saturating_add(1);
            (OWN_MAC, address, DATA_PORT)
        })
    };
    manifest.topics().map(sender).collect()
}

/// What of `extract` a capture has no place for. Where it has no packets nothing can be taken of
/// it, which is an error, and told alone.
pub(crate) fn leaves_out(extract: &Extract<'_>) -> Vec<LeftOut> {
    let Extract { manifest, selection } = extract;
    if manifest.format == FORMAT_NAME {
        return foreign(manifest);
    }
    let has_packets =
        |topic: &Topic| topic.name == "velodyne_packets" || topic.type_name == SCAN;
    if !manifest.topics.iter().any(has_packets) {
        return Vec::new();
    }
    let wanted = manifest.topics().filter(|(id, topic)| {
        topic.origin == TopicOrigin::Logged
            && selection.topics.contains(*id)
            && !has_packets(topic)
    });
    let left = wanted.map(|(id, topic)| {
        let records = topic.records.unwrap_or(0);
        let some = if records == 1 { "record" } else { "records" };
        let label = topic.label();
        let what = format!("{label}, {records} {some}: a capture has only packets");
        LeftOut { topic: Some(id), what }
    });
    left.collect()
}

/// The frames of another capture that are not of lidars.
fn foreign(manifest: &Manifest) -> Vec<LeftOut> {
    let count = |key: &str| match manifest.metadata.get(key) {
        Some(Value::UInt(count)) => *count,
        _ => 0,
    };
    let sorts = [
        ("packets_with_wrong_flags", "with the length of data packets and other flags"),
        ("packets_of_other_lidars", "with packets of lidars of other manufacturers"),
        ("other_datagrams", "with other datagrams"),
        ("other_protocols", "of other protocols"),
        ("unknown_links", "of links of an unknown type"),
    ];
    let sorts = sorts.into_iter().map(|(key, what)| (count(key), what));
    let sorts = sorts.filter(|(count, _)| *count > 0);
    let left = sorts.map(|(count, what)| {
        let frames = if count == 1 { "frame" } else { "frames" };
        LeftOut { topic: None, what: format!("{count} {frames} {what}") }
    });
    left.collect()
}

fn unsupported(what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Unsupported, what)
}

fn no_topic(topic: TopicId) -> Error {
    Error::new(ErrorKind::NoSuch, format!("the log has no topic number {}", topic.0))
}
