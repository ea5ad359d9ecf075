//! Writes packets of lidars as a pcap.
//!
//! ```text
//! header   4d 3c b2 a1 | 2 u16 | 4 u16 | 0 u32 | 0 u32 | max length u32 | 1 u32 (Ethernet)
//! frame    seconds u32 | nanoseconds u32 | captured u32 | length u32 | bytes
//! ```
//! (draft-ietf-opsawg-pcap.) Little-endian, with nanoseconds. New headers are created for all
//! frames, because records contain only the payloads.

use std::{
    borrow::Cow,
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use logtool_core::{
    Encoder, Error, ErrorKind, LogSlice, Manifest, Output, Record, RecordSink, Result,
    Topic, TopicId, TopicOrigin, UnsupportedContent, Value, WriteOptions,
};

use crate::{
    PACKETS_TOPIC,
    capture::{
        container::Container,
        decode::topics::{ENCODING, FORMAT_NAME},
        format_state::FormatState,
        network::{
            frame_writer::{self, DEFAULT_MAC, FACTORY_ADDRESS},
            layer::Mac,
        },
        packets::{
            ports::{DATA_PORT, POSITION_PORT},
            sender::Device,
        },
    },
    ros_scans,
    vel::{self, PacketReader},
};

/// The declared maximum length of frames, the value that tcpdump writes.
const SNAP_LEN: u32 = 262_144;

/// The number of buffered bytes after which the output is written.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes the packets of the source logs.
pub(crate) struct PcapSink<W> {
    out: W,
    sources: Vec<SourceLog>,
    /// Frames that are not yet written.
    buffer: Vec<u8>,
    remarks: Vec<String>,
    /// The number of packets from messages of `.vel` logs.
    vel_packets: u64,
    /// The number of messages of `.vel` logs that are not marked valid.
    invalid_messages: u64,
    /// The identification of the last packet that is not from a capture.
    last_identification: u16,
}

/// The hardware address, the IP address and the port of a device that sent packets.
type Sender = (Mac, IpAddr, u16);

/// The senders of the packets of each topic of a capture.
#[derive(Clone)]
struct Senders(Vec<Sender>);

/// Encodes the packets of several captures. Contains the senders of each capture.
struct CaptureEncoder(Vec<Senders>);

/// A source log.
enum SourceLog {
    /// A capture, with the sender of each topic.
    Capture(Senders),
    /// Another log, e.g. a bag, with the sender of each topic of packets.
    Packets(Vec<Option<Sender>>),
    /// A `.vel` log.
    Vel {
        packets: PacketReader,
        /// The offset to Unix time, in nanoseconds.
        to_unix: i64,
    },
}

impl<W: Output> PcapSink<W> {
    /// Starts a capture in `out` for the selected packets of `slices`.
    ///
    /// # Errors
    /// `Unsupported` if a slice has no packets, or packets without a time, or for `options`
    /// that are not possible for a capture.
    pub(crate) fn new(
        out: W,
        slices: &[LogSlice<'_>],
        options: &WriteOptions,
    ) -> Result<Self> {
        if options.compression.is_some() {
            return Err(unsupported("cannot compress a capture"));
        }
        if !options.rename.is_empty() {
            return Err(unsupported("cannot rename topics of a capture"));
        }
        let mut remarks = Vec::new();
        let source = |slice: &LogSlice<'_>| SourceLog::new(slice, &mut remarks);
        let sources: Vec<SourceLog> =
            slices.iter().map(source).collect::<Result<_>>()?;
        let mut buffer = vec![0x4d, 0x3c, 0xb2, 0xa1];
        buffer.extend([2_u16, 4].map(u16::to_le_bytes).concat());
        buffer.extend([0, 0, SNAP_LEN, 1].map(u32::to_le_bytes).concat());
        Ok(Self {
            out,
            sources,
            buffer,
            remarks,
            vel_packets: 0,
            invalid_messages: 0,
            last_identification: 0,
        })
    }

    fn write_packet(
        &mut self,
        sender: Sender,
        nanos: i64,
        identification: u16,
        payload: &[u8],
    ) -> Result<()> {
        append_frame(&mut self.buffer, sender, nanos, identification, payload)?;
        if self.buffer.len() >= BUFFER_BYTES {
            self.out.write_owned(&mut self.buffer)?;
        }
        Ok(())
    }

    /// Returns the identification of the next packet that is not from a capture.
    fn next_identification(&mut self) -> u16 {
        self.last_identification = self.last_identification.wrapping_add(1);
        self.last_identification
    }
}

/// Appends the frame of a packet to `buffer`.
fn append_frame(
    buffer: &mut Vec<u8>,
    sender: Sender,
    nanos: i64,
    identification: u16,
    payload: &[u8],
) -> Result<()> {
    let seconds = u32::try_from(nanos.div_euclid(1_000_000_000)).map_err(|_| {
        unsupported("cannot write packets with times outside 1970 to 2106")
    })?;
    if payload.len() > frame_writer::MAX_PAYLOAD {
        return Err(unsupported("cannot write packets longer than a datagram"));
    }
    let fraction = nanos.rem_euclid(1_000_000_000) as u32;
    let (_, address, _) = sender;
    let len = frame_writer::frame_len(address, payload) as u32;
    buffer.extend([seconds, fraction, len, len].map(u32::to_le_bytes).as_flattened());
    frame_writer::append_frame(buffer, sender, identification, payload);
    Ok(())
}

/// Returns the identification of a packet of the capture with the index `slice_index`. It
/// depends on the offset of the record, so that nearby packets have different
/// identifications, whichever thread encodes them. It also depends on the index, because
/// equal packets of two captures often have equal offsets.
fn identification(slice_index: usize, record: &Record<'_>) -> u16 {
    (record.offset as u16) ^ (slice_index as u16).wrapping_mul(0x9e37)
}

impl Senders {
    /// Returns the sender of the packets of `topic`.
    fn sender(&self, topic: TopicId) -> Result<Sender> {
        let sender = self.0.get(topic.index()).copied();
        sender.ok_or_else(|| no_topic(topic))
    }
}

impl Encoder for CaptureEncoder {
    fn encode(
        &self,
        slice_index: usize,
        record: Record<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let senders = self.0.get(slice_index).ok_or_else(|| no_topic(record.topic))?;
        append_frame(
            bytes,
            senders.sender(record.topic)?,
            record.time.as_nanos(),
            identification(slice_index, &record),
            record.payload,
        )
    }
}

impl<W: Output> RecordSink for PcapSink<W> {
    fn write(&mut self, slice_index: usize, record: Record<'_>) -> Result<()> {
        match self.sources.get(slice_index) {
            Some(SourceLog::Capture(senders)) => {
                let sender = senders.sender(record.topic)?;
                let identification = identification(slice_index, &record);
                let nanos = record.time.as_nanos();
                self.write_packet(sender, nanos, identification, record.payload)
            }
            Some(SourceLog::Packets(senders)) => {
                match senders.get(record.topic.index()).copied().flatten() {
                    Some(sender) => {
                        let identification = self.next_identification();
                        let nanos = record.time.as_nanos();
                        self.write_packet(sender, nanos, identification, record.payload)
                    }
                    // `unsupported_content` has reported these topics, or they are the
                    // messages that contain the packets.
                    None => Ok(()),
                }
            }
            Some(SourceLog::Vel { packets, to_unix }) => {
                if packets.topic() != Some(record.topic) {
                    // `unsupported_content` has reported these topics.
                    return Ok(());
                }
                if !packets.is_valid(&record) {
                    self.invalid_messages += 1;
                    return Ok(());
                }
                let (packets, to_unix) = (packets.packets(record), *to_unix);
                for packet in packets {
                    let nanos = packet.time.as_nanos().saturating_add(to_unix);
                    let identification = self.next_identification();
                    let sender = (DEFAULT_MAC, FACTORY_ADDRESS, DATA_PORT);
                    self.write_packet(sender, nanos, identification, packet.payload)?;
                    self.vel_packets += 1;
                }
                Ok(())
            }
            None => Err(no_topic(record.topic)),
        }
    }

    fn encoder(&self) -> Option<Arc<dyn Encoder>> {
        let senders = self.sources.iter().map(|source| match source {
            SourceLog::Capture(senders) => Some(senders.clone()),
            SourceLog::Packets(_) | SourceLog::Vel { .. } => None,
        });
        let senders: Option<Vec<Senders>> = senders.collect();
        senders.map(|senders| Arc::new(CaptureEncoder(senders)) as Arc<dyn Encoder>)
    }

    fn write_encoded(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        self.out.write_owned(&mut self.buffer)?;
        self.out.write_owned(bytes)?;
        Ok(())
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = self.remarks.clone();
        if self.vel_packets > 0 {
            remarks.push(format!("{} packets, one frame each", self.vel_packets));
        }
        if self.invalid_messages > 0 {
            let text = format!(
                "{} messages of packets that are not marked valid were dropped",
                self.invalid_messages
            );
            remarks.push(text);
        }
        remarks
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.out.write_owned(&mut self.buffer)?;
        self.out.flush()?;
        Ok(())
    }
}

impl SourceLog {
    /// Creates the source log for a slice, and adds remarks about its packets to `remarks`.
    fn new(slice: &LogSlice<'_>, remarks: &mut Vec<String>) -> Result<Self> {
        let LogSlice { manifest, selection } = slice;
        match manifest.format.as_str() {
            FORMAT_NAME => {
                let format_state: FormatState = manifest.decode_state(FORMAT_NAME)?;
                let logged = manifest.topics().filter(|(id, topic)| {
                    topic.origin == TopicOrigin::Logged
                        && selection.topics.contains(*id)
                });
                for (_, topic) in logged {
                    if topic.time.is_none() && topic.records != Some(0) {
                        let message = format!(
                            "cannot write packets without a time ({})",
                            topic.label()
                        );
                        return Err(unsupported(message));
                    }
                }
                if format_state.container == Container::Bare {
                    remarks.push(
                        "packets without a container: their times start in 1970, and their sender \
                         is the factory-default address and port of a lidar"
                            .to_owned(),
                    );
                }
                let sender = |sender: &crate::capture::packets::sender::Sender| {
                    let port = match (sender.port, sender.is_position) {
                        (0, false) => DATA_PORT,
                        (0, true) => POSITION_PORT,
                        (port, _) => port,
                    };
                    let Device { interface, mac, address } = sender.device;
                    let mac =
                        mac_on_single_interface(mac.unwrap_or(DEFAULT_MAC), interface);
                    let is_known = !address.is_unspecified();
                    (mac, if is_known { address } else { FACTORY_ADDRESS }, port)
                };
                Ok(Self::Capture(Senders(
                    format_state.senders.iter().map(sender).collect(),
                )))
            }
            vel::FORMAT_NAME => {
                if manifest.clock.to_unix.is_none() {
                    let text = "no GPS message states UTC: times are relative to the start \
                                of the program, written as 1970";
                    remarks.push(text.to_owned());
                }
                Ok(Self::Vel {
                    packets: PacketReader::new(manifest)?,
                    to_unix: manifest
                        .clock
                        .to_unix
                        .as_ref()
                        .map_or(0, |fit| fit.offset_nanos),
                })
            }
            other => {
                let senders = default_senders(slice);
                if senders.iter().all(Option::is_none) {
                    return Err(unsupported(format!(
                        "cannot write this {other} log as a capture: it has no packets \
                         of lidars"
                    )));
                }
                remarks.push(
                    "the senders of the packets are unknown: frames have the addresses from \
                     192.168.1.201 on, the factory default"
                        .to_owned(),
                );
                Ok(Self::Packets(senders))
            }
        }
    }
}

/// Returns the hardware address for a device of `interface` in a capture with a single
/// interface. Devices of several interfaces can have the same address. For interfaces other
/// than the first, the address is therefore marked as locally administered and combined with
/// the index of the interface.
fn mac_on_single_interface(Mac(mut mac): Mac, interface: u32) -> Mac {
    if interface > 0 {
        let [.., high, low] = interface.to_be_bytes();
        mac[0] |= 2;
        mac[1] ^= high;
        mac[2] ^= low;
    }
    Mac(mac)
}

/// Returns the senders of the packets of each topic of `slice`, e.g. of a bag: the
/// factory-default address for the first lidar, and the following addresses for others.
fn default_senders(slice: &LogSlice<'_>) -> Vec<Option<Sender>> {
    let LogSlice { manifest, selection } = slice;
    let mut host = 201_u8;
    let sender = |(id, topic): (TopicId, &Topic)| {
        let has_packets =
            topic.encoding == ENCODING && topic.origin == TopicOrigin::Derived;
        let is_selected = has_packets && selection.topics.contains(id);
        is_selected.then(|| {
            let address = IpAddr::V4(Ipv4Addr::new(192, 168, 1, host));
            host = host.saturating_add(1);
            (DEFAULT_MAC, address, DATA_PORT)
        })
    };
    manifest.topics().map(sender).collect()
}

/// Returns the selected topics of `slice` that a capture cannot contain. The result is
/// empty if there are no packets, because [`PcapSink::new`] reports that as an error.
pub(crate) fn unsupported_content(slice: &LogSlice<'_>) -> Vec<UnsupportedContent> {
    let LogSlice { manifest, selection } = slice;
    if manifest.format == FORMAT_NAME {
        return other_frames(manifest);
    }
    let has_packets = |topic: &Topic| {
        topic.name == PACKETS_TOPIC || ros_scans::has_packets(manifest, topic)
    };
    if !manifest.topics.iter().any(has_packets) {
        return Vec::new();
    }
    let topics = manifest.topics().filter(|(id, topic)| {
        topic.origin == TopicOrigin::Logged
            && selection.topics.contains(*id)
            && !has_packets(topic)
    });
    let dropped = topics.map(|(id, topic)| {
        let count = topic.records.unwrap_or(0);
        let records = if count == 1 { "record" } else { "records" };
        let label = topic.label();
        let description =
            format!("{label}, {count} {records}: a capture has only packets");
        UnsupportedContent { topic: Some(id), description }
    });
    dropped.collect()
}

/// Returns the frames of another capture that are not from lidars.
fn other_frames(manifest: &Manifest) -> Vec<UnsupportedContent> {
    let count = |key: &str| match manifest.metadata.get(key) {
        Some(Value::UInt(count)) => *count,
        _ => 0,
    };
    let descriptions = [
        (
            "packets_with_wrong_flags",
            "with the length of data packets and unknown flags",
        ),
        ("packets_of_other_lidars", "with packets of lidars of other manufacturers"),
        ("other_datagrams", "with other datagrams"),
        ("other_protocols", "of other protocols"),
        ("unknown_links", "with an unknown link type"),
    ];
    descriptions
        .into_iter()
        .map(|(key, description)| (count(key), description))
        .filter(|(count, _)| *count > 0)
        .map(|(count, description)| {
            let frames = if count == 1 { "frame" } else { "frames" };
            UnsupportedContent {
                topic: None,
                description: format!("{count} {frames} {description}"),
            }
        })
        .collect()
}

fn unsupported(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

fn no_topic(topic: TopicId) -> Error {
    Error::new(ErrorKind::NoSuch, format!("the log has no topic with id {}", topic.0))
}
