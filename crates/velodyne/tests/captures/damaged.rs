//! Captures with damage at many places: bits, missing bytes and zeroed sectors. The packets in
//! all other frames are read with their times, and each lost packet is reported.

use super::*;

/// The number of frames of each capture.
const FRAMES: usize = 10;

/// The bytes before a packet in an Ethernet frame.
const NETWORK_HEADERS: usize = 42;

/// A capture that is made of frames of Ethernet.
struct MadeCapture {
    name: &'static str,
    bytes: Vec<u8>,
    /// The position of each frame with its headers, and its packet.
    frames: Vec<(Range<usize>, Packet)>,
    /// The length of the header of a frame in the container.
    header_len: usize,
}

/// The topic of a packet, its time in nanoseconds, and its payload.
type Packet = (&'static str, i64, Bytes);

/// Returns the time of a frame by its number and its original time, in nanoseconds.
type Clock = fn(i64, i64) -> i64;

/// The form of a pcap.
#[derive(Clone, Copy)]
struct PcapForm {
    magic: u32,
    is_big_endian: bool,
    /// The number of bytes at the end of the header of each frame.
    extra: usize,
    /// The number of nanoseconds in the unit of fractions.
    unit: u32,
    /// Whether frames are those of a Linux cooked capture.
    is_cooked: bool,
}

const USUAL: PcapForm = PcapForm {
    magic: 0xa1b2_c3d4,
    is_big_endian: false,
    extra: 0,
    unit: 1_000,
    is_cooked: false,
};

/// A generator of pseudo-random numbers.
struct RandomNumbers(u64);

impl RandomNumbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

fn word(number: u32, is_big_endian: bool) -> [u8; 4] {
    if is_big_endian { number.to_be_bytes() } else { number.to_le_bytes() }
}

/// Returns the time in nanoseconds and the bytes of the first Ethernet frames with a packet of
/// a lidar in a usual pcap.
fn ethernet_frames(pcap: &Bytes) -> Vec<(i64, Bytes)> {
    let number =
        |at: usize| i64::from(u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap()));
    let times_and_frames = frames(pcap).into_iter().map(|frame| {
        let nanos =
            number(frame.start) * 1_000_000_000 + number(frame.start + 4) * 1_000;
        (nanos, pcap.slice(frame.start + 16..frame.end))
    });
    times_and_frames
        .filter(|(_, frame)| matches!(frame.len(), 1_248 | 554))
        .take(FRAMES)
        .collect()
}

fn packet(nanos: i64, frame: &Bytes) -> Packet {
    let topic = if frame.len() == 554 { "position" } else { "velodyne_packets" };
    (topic, nanos, frame.slice(NETWORK_HEADERS..))
}

fn pcap(name: &'static str, form: PcapForm, source: &[(i64, Bytes)]) -> MadeCapture {
    let PcapForm { magic, is_big_endian, extra, unit, is_cooked } = form;
    let word = |number| word(number, is_big_endian);
    let mut bytes = word(magic).to_vec();
    let version = [2_u16, 4];
    bytes.extend(version.into_iter().flat_map(|number| {
        if is_big_endian { number.to_be_bytes() } else { number.to_le_bytes() }
    }));
    bytes.extend([0, 0, 65_536, if is_cooked { 113 } else { 1 }].map(word).concat());
    let mut made = Vec::new();
    for (nanos, frame) in source {
        let start = bytes.len();
        let cooked = [&[0, 0, 0, 1, 0, 6], &frame[6..12], &[0, 0], &frame[12..]];
        let captured = if is_cooked { cooked.concat() } else { frame.to_vec() };
        let len = captured.len() as u32;
        let fraction = (nanos % 1_000_000_000) as u32 / unit;
        let header = [(nanos / 1_000_000_000) as u32, fraction, len, len];
        bytes.extend(header.map(word).concat());
        bytes.extend(vec![0; extra]);
        bytes.extend(captured);
        made.push((start..bytes.len(), packet(*nanos, frame)));
    }
    MadeCapture { name, bytes, frames: made, header_len: 16 + extra }
}

fn pcapng(
    name: &'static str,
    is_big_endian: bool,
    source: &[(i64, Bytes)],
) -> MadeCapture {
    let word = |number| word(number, is_big_endian);
    let block = |kind: u32, body: &[u8]| {
        let len = word(12 + body.len() as u32);
        [&word(kind)[..], &len, body, &len].concat()
    };
    let section = [0x1a2b_3c4d, 1, u32::MAX, u32::MAX].map(word).concat();
    // The major version is the first 16 bits.
    let section = if is_big_endian {
        [&section[..4], &[0, 1, 0, 0], &section[8..]].concat()
    } else {
        section
    };
    let link = if is_big_endian { [0, 1, 0, 0] } else { [1, 0, 0, 0] };
    let mut bytes = block(0x0a0d_0d0a, &section);
    bytes.extend(block(1, &[link, [0; 4]].concat()));
    let mut made = Vec::new();
    for (nanos, frame) in source {
        let (start, micros) = (bytes.len(), nanos / 1_000);
        let len = frame.len() as u32;
        let fields = [0, (micros >> 32) as u32, micros as u32, len, len];
        let padding = vec![0; frame.len().next_multiple_of(4) - frame.len()];
        let body = [&fields.map(word).concat()[..], frame, &padding].concat();
        bytes.extend(block(6, &body));
        made.push((start..bytes.len(), packet(*nanos, frame)));
    }
    MadeCapture { name, bytes, frames: made, header_len: 28 }
}

fn made_captures() -> Vec<MadeCapture> {
    let puck = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/puck.pcap");
    let puck = ethernet_frames(&Bytes::from(std::fs::read(puck).unwrap()));
    let big_endian = PcapForm { is_big_endian: true, ..USUAL };
    let nanos = PcapForm { magic: 0xa1b2_3c4d, unit: 1, ..USUAL };
    let undeclared_nanos = PcapForm { unit: 1, ..USUAL };
    let modified = PcapForm { magic: 0xa1b2_cd34, extra: 8, ..USUAL };
    let cooked = PcapForm { is_cooked: true, ..USUAL };
    let mut captures = vec![
        pcap("pcap", USUAL, &puck),
        pcap("big-endian pcap", big_endian, &puck),
        pcap("pcap with nanoseconds", nanos, &puck),
        pcap("pcap with undeclared nanoseconds", undeclared_nanos, &puck),
        pcap("modified pcap", modified, &puck),
        pcap("cooked pcap", cooked, &puck),
        pcapng("pcapng", false, &puck),
        pcapng("big-endian pcapng", true, &puck),
    ];
    for (name, file) in [
        ("HDL-64E", "hdl64e_atwallshort.pcap"),
        ("VLP-16 with position packets", "vlp16_mrpt_gps_sample.pcap"),
    ] {
        let source = sample(file).map(|bytes| ethernet_frames(&bytes));
        captures.extend(source.map(|source| pcap(name, USUAL, &source)));
    }
    captures
}

impl MadeCapture {
    /// Reads the capture after its bytes at `touched` were changed, which makes it `damaged`.
    /// Returns what is wrong in the result.
    fn fault(&self, touched: Range<usize>, damaged: Vec<u8>) -> Option<String> {
        let (log, packets_by_topic) = open_and_read(Bytes::from(damaged));
        let damage = &log.manifest().damage;
        let fault = |what: &str| {
            Some(format!("{}, bytes {touched:?}: {what}, {damage:?}", self.name))
        };
        for (label, packets) in &packets_by_topic {
            let id = log.manifest().topic_id(label).unwrap();
            let records = log.manifest().topic(id).unwrap().records;
            if records != Some(packets.len() as u64) {
                return fault(&format!(
                    "{records:?} packets instead of {}",
                    packets.len()
                ));
            }
            if !self.frames.iter().any(|(_, (topic, ..))| topic == label) {
                return fault(label);
            }
        }
        let mut read: BTreeMap<&str, _> = packets_by_topic
            .iter()
            .map(|(label, packets)| (&**label, packets.iter()))
            .collect();
        for (index, (frame, (topic, nanos, payload))) in self.frames.iter().enumerate()
        {
            if frame.start < touched.end && touched.start < frame.end {
                continue;
            }
            let is_read = read.get_mut(topic).is_some_and(|packets| {
                packets.any(|(time, read)| time.as_nanos() == *nanos && read == payload)
            });
            if !is_read {
                return fault(&format!("frame {index} is lost"));
            }
        }
        let packets: usize = packets_by_topic.values().map(Vec::len).sum();
        let is_complete = packets == self.frames.len();
        if is_complete || !damage.is_empty() { None } else { fault("no damage") }
    }
}

#[test]
fn any_bit_of_frame_headers_loses_at_most_its_packet() {
    let mut faults = Vec::new();
    for capture in made_captures() {
        for index in [0, 1, 4] {
            let start = capture.frames[index].0.start;
            for bit in 0..8 * capture.header_len {
                let mut bytes = capture.bytes.clone();
                let offset = start + bit / 8;
                bytes[offset] ^= 1 << (bit % 8);
                faults.extend(capture.fault(offset..offset + 1, bytes));
            }
        }
    }
    assert_eq!(faults, [""; 0]);
}

#[test]
fn missing_bytes_lose_only_the_packets_of_their_frames() {
    let mut numbers = RandomNumbers(1);
    let mut faults = Vec::new();
    for capture in made_captures() {
        let first = capture.frames[0].0.start;
        for len in 1..=64 {
            let start = first + numbers.below(capture.bytes.len() - first - len);
            let mut bytes = capture.bytes.clone();
            bytes.drain(start..start + len);
            faults.extend(capture.fault(start..start + len, bytes));
        }
    }
    assert_eq!(faults, [""; 0]);
}

#[test]
fn zeroed_sectors_lose_only_the_packets_of_their_frames() {
    let mut numbers = RandomNumbers(2);
    let mut faults = Vec::new();
    for capture in made_captures() {
        let first = capture.frames[0].0.start;
        for len in [512, 4_096].repeat(24) {
            let start = first + numbers.below(capture.bytes.len() - first);
            let end = (start + len).min(capture.bytes.len());
            let mut bytes = capture.bytes.clone();
            bytes[start..end].fill(0);
            faults.extend(capture.fault(start..end, bytes));
        }
    }
    assert_eq!(faults, [""; 0]);
}

#[test]
fn damage_in_the_first_frames_selects_no_other_variant_of_pcap() {
    let puck = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/puck.pcap");
    let mut source = ethernet_frames(&Bytes::from(std::fs::read(puck).unwrap()));
    // A header of Ethernet that starts with zeros looks like the lengths of an empty frame.
    for (_, frame) in &mut source {
        *frame = [&[0; 12], &frame[12..]].concat().into();
    }
    let capture = pcap("pcap with zero addresses", USUAL, &source);
    let first_frames = capture.frames[0].0.start..capture.frames[2].0.end;
    let mut faults = Vec::new();
    for len in [4, 8, 12] {
        for start in first_frames.clone().step_by(100) {
            let mut bytes = capture.bytes.clone();
            bytes.drain(start..start + len);
            faults.extend(capture.fault(start..start + len, bytes));
        }
    }
    assert_eq!(faults, [""; 0]);
}

#[test]
fn wrong_checksums_are_recognized_after_damage_in_the_first_frame() {
    let puck = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/puck.pcap");
    let mut source = ethernet_frames(&Bytes::from(std::fs::read(puck).unwrap()));
    // UDP checksums as after a change of addresses.
    for (_, frame) in &mut source {
        *frame = [&frame[..40], &[0x12, 0x34], &frame[42..]].concat().into();
    }
    let capture = pcap("pcap with wrong checksums", USUAL, &source);
    let start = capture.frames[0].0.start + 8;
    let mut bytes = capture.bytes.clone();
    bytes[start..start + 512].fill(0);
    assert_eq!(capture.fault(start..start + 512, bytes), None);
}

#[test]
fn captures_with_unusual_times_are_complete() {
    const DAY: i64 = 86_400_000_000_000;
    let puck = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/puck.pcap");
    let source = ethernet_frames(&Bytes::from(std::fs::read(puck).unwrap()));
    let times: [(&str, Clock); 4] = [
        ("two clocks", |index, nanos| nanos % DAY + index % 2 * 19_000 * DAY),
        ("one jump", |index, nanos| nanos % DAY + index / 7 * 19_000 * DAY),
        ("days between", |index, nanos| nanos + index * DAY),
        ("backwards", |index, nanos| nanos - index * 400 * DAY),
    ];
    for (name, time) in times {
        let frames = (0..).zip(&source);
        let source: Vec<_> = frames
            .map(|(index, (nanos, frame))| (time(index, *nanos), frame.clone()))
            .collect();
        let capture = pcap(name, USUAL, &source);
        assert_eq!(capture.fault(0..0, capture.bytes.clone()), None);
        let (log, _) = open_and_read(capture.bytes.into());
        assert_eq!(log.manifest().damage, [], "{name}");
    }
}

#[test]
fn zeroed_lengths_are_damage() {
    for capture in made_captures() {
        let frame = capture.frames[4].0.clone();
        // The captured length, the declared length, and the zeros after them.
        let lengths =
            frame.start + if capture.name.contains("pcapng") { 20 } else { 8 };
        for (start, end) in [(lengths, lengths + 8), (lengths + 4, lengths + 516)] {
            let mut bytes = capture.bytes.clone();
            bytes[start..end].fill(0);
            let (log, packets_by_topic) = open_and_read(bytes.into());
            let what = format!("{}, {start}..{end}", capture.name);
            let packets: usize = packets_by_topic.values().map(Vec::len).sum();
            assert_eq!(packets, FRAMES - 1, "{what}");
            let [lost] = &log.manifest().damage[..] else {
                panic!("{what}: one damage")
            };
            assert!(frame.contains(&(lost.bytes.start as usize)), "{what}: {lost:?}");
            assert_eq!(lost.bytes.end, frame.end as u64, "{what}");
        }
    }
}

#[test]
fn incomplete_datagram_of_another_program_is_a_note() {
    let puck = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/puck.pcap");
    let mut source = ethernet_frames(&Bytes::from(std::fs::read(puck).unwrap()));
    let (nanos, frame) = &source[3];
    // The first 400 bytes of a UDP packet of 608 bytes to the port 53. The checksum of its IP
    // header is 0: it was not computed.
    let ip = [0x45, 0, 1, 164, 0, 77, 0x20, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let udp = [0x80, 0, 0, 53, 2, 96, 0, 0];
    let fragment = [&frame[..14], &ip, &udp, &[b'x'; 392]].concat();
    source.insert(4, (*nanos, fragment.into()));
    let bytes = pcap("with a fragment", USUAL, &source).bytes;
    let (log, packets_by_topic) = open_and_read(bytes.into());
    assert_eq!(packets_by_topic.values().map(Vec::len).sum::<usize>(), FRAMES);
    assert_eq!(log.manifest().damage, []);
    let mut findings = Findings::default();
    log.check(&mut findings).unwrap();
    let codes: Vec<&str> = findings.iter().map(|finding| finding.code.name).collect();
    assert!(codes.contains(&"capture.other.fragments"), "{codes:?}");
    assert!(!codes.contains(&"capture.fragments"), "{codes:?}");
}
