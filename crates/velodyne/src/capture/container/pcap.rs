//! The header of a pcap and those of its frames, in all variants of the format.
//!
//! ```text
//! file     magic u32 | major u16 | minor u16 | u32 | u32 | snapshot length u32 | link u32
//! frame    seconds u32 | fraction u32 | captured u32 | length u32
//! ```
//! The magic number determines the byte order and the unit of fractions. Variants have further
//! bytes at the end of these headers. Some share a magic number: the first frames decide which
//! one it is.

use serde::{Deserialize, Serialize};

use super::MAX_BLOCK;

/// The maximum length of a frame, unless the header of the pcap states a longer one. Greater
/// lengths are damage. The longest frame on real links has 65,551 bytes.
const MAX_FRAME: u32 = 1 << 18;

/// The maximum length of a frame on its link. Frames have up to 512 KiB before a network card
/// splits them.
const MAX_LINK_FRAME: u32 = 1 << 20;

/// The number of seconds between frames above which the later one needs more confirmation.
const MAX_GAP_SECS: u32 = 3_600;

/// The length of the header of a pcap.
const HEADER_BYTES: usize = 24;

/// The length of the header of a frame that all variants share.
const FRAME_HEADER_BYTES: usize = 16;

/// The link type of Ethernet.
const ETHERNET: u16 = 1;

/// The number of frames that must follow each other to confirm a variant.
const CONFIRMING_FRAMES: usize = 3;

/// The number of frames whose fractions are compared with a second.
const COMPARED_FRAMES: usize = 64;

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// The header of a pcap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pcap {
    pub(crate) is_big_endian: bool,
    pub(crate) resolution: Resolution,
    pub(crate) link: u16,
    snap_len: u32,
    /// The number of bytes at the end of the header of each frame, in variants of the format.
    extra_bytes: u8,
    /// Whether the lengths in the header of a frame may be in the other order, as in old
    /// versions of the format.
    may_swap_lengths: bool,
}

/// The unit of fractions of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Resolution {
    Micros,
    Nanos,
    /// Nanoseconds, although the magic number declares microseconds.
    UndeclaredNanos,
}

/// The header of a frame.
pub(crate) struct FrameHeader {
    seconds: u32,
    /// The time in nanoseconds since 1970, or `None` if the fraction is impossible.
    pub(crate) nanos: Option<i64>,
    /// The number of captured bytes.
    captured: u32,
    /// The length of the frame on the link.
    pub(crate) len: u32,
}

/// A magic number with the variants of the format that it identifies.
struct Magic {
    number: u32,
    resolution: Resolution,
    /// The number of bytes at the end of the header of the file.
    extra_header_bytes: usize,
    /// The numbers of bytes at the end of the header of a frame, the most frequent first.
    extra_bytes: &'static [u8],
}

/// The magic numbers of libpcap, Wireshark and netsniff-ng.
const MAGICS: [Magic; 8] = [
    // The usual one, that of Red Hat 6.1, and that of Nokia.
    Magic::new(0xa1b2_c3d4, Resolution::Micros, 0, &[0, 8, 4]),
    Magic::new(0xa1b2_3c4d, Resolution::Nanos, 0, &[0]),
    // Navtel.
    Magic::new(0xa12b_3c4d, Resolution::Nanos, 0, &[0]),
    // Modified by Alexey Kuznetsov, and that of SuSE 6.3.
    Magic::new(0xa1b2_cd34, Resolution::Micros, 0, &[8, 12]),
    // netsniff-ng.
    Magic::new(0xa1e2_cb12, Resolution::Nanos, 0, &[8]),
    // Francisco Mesquita.
    Magic::new(0xa1b2_34cd, Resolution::Micros, 0, &[0, 8, 12]),
    // Captured by hardware and by software of Ixia: the length of all frames follows.
    Magic::new(0x1c00_01ac, Resolution::Nanos, 4, &[0]),
    Magic::new(0x1c00_01ab, Resolution::Micros, 4, &[0]),
];

impl Magic {
    const fn new(
        number: u32,
        resolution: Resolution,
        extra_header_bytes: usize,
        extra_bytes: &'static [u8],
    ) -> Self {
        Self { number, resolution, extra_header_bytes, extra_bytes }
    }
}

impl Pcap {
    /// Returns the header in the first bytes of a file, and its length.
    pub(super) fn detect(first_bytes: &[u8]) -> Option<(Self, u64)> {
        let header = first_bytes.first_chunk::<HEADER_BYTES>()?;
        let (is_big_endian, magic) =
            [false, true].into_iter().find_map(|is_big_endian| {
                let number = super::word_at(header, 0, is_big_endian)?;
                let magic = MAGICS.iter().find(|magic| magic.number == number)?;
                Some((is_big_endian, magic))
            })?;
        let [_, _, _, _, a, b, c, d, ..] = *header;
        let version = if is_big_endian {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        } else {
            (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
        };
        // The upper bits describe the frame check sequence.
        let link = super::word_at(header, 20, is_big_endian)? as u16;
        let is_aix_version = magic.number == MAGICS[0].number && version == (2, 2);
        // AIX writes nanoseconds, and the type of the interface as in RFC 1573.
        let aix_link = aix_link(link).filter(|_| is_aix_version);
        let pcap = Self {
            is_big_endian,
            resolution: aix_link.map_or(magic.resolution, |_| Resolution::Nanos),
            link: aix_link.unwrap_or(link),
            snap_len: super::word_at(header, 16, is_big_endian)?,
            extra_bytes: 0,
            // The version 543 is that of DG/UX.
            may_swap_lengths: matches!(version, (2, ..4) | (543, _)),
        };
        let header_len = HEADER_BYTES + magic.extra_header_bytes;
        let frames = first_bytes.get(header_len..).unwrap_or_default();
        let variants: Vec<Self> = pcap.variants(magic.extra_bytes).collect();
        Some((pcap.adapted_to(frames, &variants), header_len as u64))
    }

    /// Returns a header in place of a damaged one, and its length. Ethernet frames are assumed.
    pub(super) fn with_damaged_header(first_bytes: &[u8]) -> (Self, u64) {
        let frames = first_bytes.get(HEADER_BYTES..).unwrap_or_default();
        let pcap = Self {
            is_big_endian: false,
            resolution: Resolution::Micros,
            link: ETHERNET,
            snap_len: MAX_FRAME,
            extra_bytes: 0,
            may_swap_lengths: false,
        };
        let orders = [pcap, Self { is_big_endian: true, ..pcap }];
        let variants: Vec<Self> = orders
            .iter()
            .flat_map(|order| order.variants(MAGICS[0].extra_bytes))
            .collect();
        (pcap.adapted_to(frames, &variants), HEADER_BYTES as u64)
    }

    /// Returns the header with each number of `extra_bytes`.
    fn variants(self, extra_bytes: &[u8]) -> impl Iterator<Item = Self> {
        extra_bytes
            .iter()
            .map(move |extra_bytes| Self { extra_bytes: *extra_bytes, ..self })
    }

    /// Returns the one of `variants` that the first `frames` confirm, with the unit of their
    /// fractions. The first variant is the usual one.
    fn adapted_to(self, frames: &[u8], variants: &[Self]) -> Self {
        let usual = (variants.first().copied().unwrap_or(self), frames);
        let (pcap, frames) = Self::first_confirmed(variants, frames).unwrap_or(usual);
        if pcap.resolution == Resolution::Micros && pcap.has_nanos(frames) {
            return Self { resolution: Resolution::UndeclaredNanos, ..pcap };
        }
        pcap
    }

    /// Returns the first of `variants` that `frames` confirm, from the first frames on that
    /// follow each other. Those before them may be damaged.
    fn first_confirmed<'f>(
        variants: &[Self],
        frames: &'f [u8],
    ) -> Option<(Self, &'f [u8])> {
        let searched_len = frames.len().min(MAX_FRAME as usize);
        (0..searched_len).find_map(|offset| {
            let frames = frames.get(offset..)?;
            let variant =
                variants.iter().find(|variant| variant.is_confirmed(frames))?;
            Some((*variant, frames))
        })
    }

    /// Returns whether the first `frames` follow each other, with similar times.
    fn is_confirmed(self, frames: &[u8]) -> bool {
        let mut offset = 0;
        let mut previous: Option<FrameHeader> = None;
        for _ in 0..CONFIRMING_FRAMES {
            let frame = frames.get(offset..).unwrap_or_default();
            if frame.is_empty() {
                return offset == frames.len();
            }
            let Some(header) = self.frame_header(frame).filter(|header| {
                header.has_plausible_lengths()
                    && previous.is_none_or(|previous| previous.is_near(header))
            }) else {
                return false;
            };
            offset += self.frame_header_len() + header.captured as usize;
            previous = Some(header);
        }
        true
    }

    /// Returns whether the fractions of most of the first `frames` are too long for
    /// microseconds, and possible in nanoseconds.
    fn has_nanos(self, mut frames: &[u8]) -> bool {
        let (mut count, mut long) = (0, 0);
        while count < COMPARED_FRAMES {
            let header = self.frame_header(frames);
            let header = header.filter(FrameHeader::has_plausible_lengths);
            if let Some((fraction, header)) = self.word_at(frames, 4).zip(header) {
                count += 1;
                let is_long = (1_000_000..NANOS_PER_SECOND).contains(&fraction.into());
                long += usize::from(is_long);
                let len = self.frame_header_len() + header.captured as usize;
                frames = frames.get(len..).unwrap_or_default();
            } else if let Some((_, next)) = Self::first_confirmed(&[self], frames) {
                frames = next;
            } else {
                break;
            }
        }
        long * 2 > count
    }

    /// Returns the length of the header of a frame.
    pub(crate) fn frame_header_len(self) -> usize {
        FRAME_HEADER_BYTES + usize::from(self.extra_bytes)
    }

    /// Returns the header of the frame that starts with `bytes`, if its length is plausible.
    pub(crate) fn frame_header(self, bytes: &[u8]) -> Option<FrameHeader> {
        let word_at = |offset| self.word_at(bytes, offset);
        let (seconds, fraction) = (word_at(0)?, word_at(4)?);
        let (mut captured, mut len) = (word_at(8)?, word_at(12)?);
        if self.may_swap_lengths && captured > len {
            (captured, len) = (len, captured);
        }
        let unit_nanos = match self.resolution {
            Resolution::Micros => 1_000,
            Resolution::Nanos | Resolution::UndeclaredNanos => 1,
        };
        let fraction = i64::from(fraction) * unit_nanos;
        // Fractions above a second exist in real files. Above four seconds is damage.
        let nanos = (fraction < 4 * NANOS_PER_SECOND)
            .then_some(i64::from(seconds) * NANOS_PER_SECOND + fraction);
        // Zeros are a lost sector of a disk.
        let is_zero = [seconds, captured, len] == [0; 3] && fraction == 0;
        let is_plausible = captured <= self.max_frame() && !is_zero;
        is_plausible.then_some(FrameHeader { seconds, nanos, captured, len })
    }

    /// Returns the length of the frame that starts with `bytes`, including its header.
    pub(super) fn item_len(self, bytes: &[u8]) -> Option<u64> {
        let captured = self.frame_header(bytes)?.captured;
        Some(self.frame_header_len() as u64 + u64::from(captured))
    }

    /// Returns whether `bytes` is accepted as the start of a frame after damage.
    pub(super) fn may_start_item(self, bytes: &[u8]) -> bool {
        self.frame_header(bytes).is_some_and(|header| {
            header.has_plausible_lengths() && header.nanos.is_some()
        })
    }

    /// Returns whether `next` may start the frame that follows on the one that `bytes` starts,
    /// shortly after it or before it.
    pub(super) fn is_near(self, bytes: &[u8], next: &[u8]) -> bool {
        let headers = self.frame_header(bytes).zip(self.frame_header(next));
        headers.is_some_and(|(header, next)| {
            next.has_plausible_lengths() && header.is_near(&next)
        })
    }

    fn max_frame(self) -> u32 {
        self.snap_len.clamp(MAX_FRAME, MAX_BLOCK)
    }

    fn word_at(self, bytes: &[u8], offset: usize) -> Option<u32> {
        super::word_at(bytes, offset, self.is_big_endian)
    }
}

impl FrameHeader {
    fn has_plausible_lengths(&self) -> bool {
        (1..=self.len).contains(&self.captured) && self.len <= MAX_LINK_FRAME
    }

    fn is_near(&self, next: &Self) -> bool {
        self.seconds.abs_diff(next.seconds) <= MAX_GAP_SECS
    }
}

/// Returns the link type for the type of an interface of AIX.
fn aix_link(interface_type: u16) -> Option<u16> {
    match interface_type {
        6 => Some(ETHERNET),
        9 => Some(6),   // token ring
        15 => Some(10), // FDDI
        24 => Some(0),  // loopback
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time before the first frame, in seconds since 1970.
    const START: u32 = 1_700_000_000;

    /// Creates a capture with three frames of four captured bytes, one second apart.
    fn capture(
        magic: u32,
        version: [u16; 2],
        (header_extra, frame_extra): (usize, usize),
        (link, fraction): (u32, u32),
        is_big_endian: bool,
    ) -> Vec<u8> {
        let to_bytes = |number: u32| {
            if is_big_endian { number.to_be_bytes() } else { number.to_le_bytes() }
        };
        let mut bytes = to_bytes(magic).to_vec();
        for number in version {
            bytes.extend(if is_big_endian {
                number.to_be_bytes()
            } else {
                number.to_le_bytes()
            });
        }
        bytes.extend([0, 0, 96, link].into_iter().flat_map(to_bytes));
        bytes.extend(vec![0; header_extra]);
        for second in 1..4 {
            bytes.extend(
                [START + second, fraction, 4, 60].into_iter().flat_map(to_bytes),
            );
            bytes.extend(vec![0; frame_extra]);
            bytes.extend([7; 4]);
        }
        bytes
    }

    /// Returns the time of the frame with this number, without its fraction.
    fn nanos(frame: i64) -> i64 {
        (i64::from(START) + frame) * NANOS_PER_SECOND
    }

    /// Returns the times of all frames of `bytes`, and the header.
    fn times(bytes: &[u8]) -> (Vec<Option<i64>>, Pcap) {
        let (pcap, start) = Pcap::detect(bytes).unwrap();
        let mut frames = &bytes[start as usize..];
        let mut times = Vec::new();
        while !frames.is_empty() {
            let header = pcap.frame_header(frames).unwrap();
            assert_eq!(header.len, 60);
            times.push(header.nanos);
            let (frame, next) =
                frames.split_at(pcap.item_len(frames).unwrap() as usize);
            assert_eq!(frame[pcap.frame_header_len()..], [7; 4]);
            frames = next;
        }
        (times, pcap)
    }

    #[test]
    fn all_variants_are_read_in_both_byte_orders() {
        // wiretap/libpcap.c of Wireshark, sf-pcap.c of libpcap, pcap_io.h of netsniff-ng.
        let variants = [
            (0xa1b2_c3d4, 0, 0, 1_000),
            (0xa1b2_c3d4, 0, 8, 1_000),
            (0xa1b2_c3d4, 0, 4, 1_000),
            (0xa1b2_3c4d, 0, 0, 1),
            (0xa12b_3c4d, 0, 0, 1),
            (0xa1b2_cd34, 0, 8, 1_000),
            (0xa1b2_cd34, 0, 12, 1_000),
            (0xa1e2_cb12, 0, 8, 1),
            (0xa1b2_34cd, 0, 0, 1_000),
            (0x1c00_01ac, 4, 0, 1),
            (0x1c00_01ab, 4, 0, 1_000),
        ];
        for (magic, header_extra, frame_extra, unit_nanos) in variants {
            for is_big_endian in [false, true] {
                let extra = (header_extra, frame_extra);
                let bytes = capture(magic, [2, 4], extra, (0x114, 250), is_big_endian);
                let (times, pcap) = times(&bytes);
                let expected: Vec<Option<i64>> = [1, 2, 3]
                    .map(|second| Some(nanos(second) + 250 * unit_nanos))
                    .into();
                assert_eq!(times, expected, "{magic:x} {extra:?} {is_big_endian}");
                assert_eq!((pcap.link, pcap.snap_len), (276, 96));
            }
        }
    }

    #[test]
    fn capture_of_aix_has_nanoseconds_and_the_link_of_its_interface_type() {
        let bytes = capture(0xa1b2_c3d4, [2, 2], (0, 0), (6, 999_999_999), true);
        let (times, pcap) = times(&bytes);
        assert_eq!((pcap.link, times[0]), (1, Some(nanos(1) + 999_999_999)));
        let usual = capture(0xa1b2_c3d4, [2, 4], (0, 0), (6, 9), true);
        assert_eq!(Pcap::detect(&usual).unwrap().0.link, 6);
    }

    #[test]
    fn lengths_of_old_versions_may_be_swapped() {
        for version in [[2, 2], [2, 3], [543, 0]] {
            let mut bytes = capture(0xa1b2_c3d4, version, (0, 0), (1, 5), false);
            for frame in bytes[24..].chunks_mut(20) {
                frame[8..16].rotate_left(4);
            }
            assert_eq!(times(&bytes).0.len(), 3);
        }
    }

    #[test]
    fn nanoseconds_under_the_magic_of_microseconds_are_recognized() {
        let bytes = capture(0xa1b2_c3d4, [2, 4], (0, 0), (1, 123_456_789), false);
        let (times, pcap) = times(&bytes);
        assert_eq!(pcap.resolution, Resolution::UndeclaredNanos);
        assert_eq!(times[0], Some(nanos(1) + 123_456_789));
    }

    #[test]
    fn frame_with_an_impossible_fraction_has_no_time() {
        let mut bytes = capture(0xa1b2_c3d4, [2, 4], (0, 0), (1, 5), false);
        bytes[24 + 20 + 7] = 0x10;
        let seconds = |second: i64| Some(nanos(second) + 5_000);
        assert_eq!(times(&bytes).0, [seconds(1), None, seconds(3)]);
        let (pcap, _) = Pcap::detect(&bytes).unwrap();
        assert!(!pcap.may_start_item(&bytes[24 + 20..]));
    }

    #[test]
    fn frame_length_is_bounded() {
        let mut bytes = capture(0xa1b2_c3d4, [2, 4], (0, 0), (1, 5), false);
        let (pcap, _) = Pcap::detect(&bytes).unwrap();
        assert_eq!(pcap.item_len(&bytes[24..]), Some(20));
        assert_eq!(pcap.item_len(&bytes[24..35]), None);
        // A declared length above a mebibyte.
        bytes[24 + 14] = 0x10;
        assert_eq!(pcap.item_len(&bytes[24..]), Some(20));
        assert!(!pcap.may_start_item(&bytes[24..]));
        bytes[24 + 11] = 0xff;
        assert_eq!(pcap.item_len(&bytes[24..]), None);
        bytes[24..40].fill(0);
        assert_eq!(pcap.item_len(&bytes[24..]), None);
    }

    #[test]
    fn damaged_header_is_replaced_by_what_the_frames_show() {
        for is_big_endian in [false, true] {
            let bytes =
                capture(0x4141_4141, [2, 4], (0, 0), (1, 123_456_789), is_big_endian);
            let (pcap, _) = Pcap::with_damaged_header(&bytes);
            assert_eq!(
                (pcap.is_big_endian, pcap.resolution),
                (is_big_endian, Resolution::UndeclaredNanos)
            );
        }
    }
}
