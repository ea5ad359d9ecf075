//! What is counted of frames that are no packets of lidars: none of them is passed over
//! without a word.

use std::collections::BTreeMap;

use logtool_core::{Code, Value};

use crate::{
    capture::{codes, manufacturer::Manufacturer, reader::Foreign},
    oddity::Oddity,
};

/// The name of the count of packets of lidars of other manufacturers.
const OTHER_LIDARS: &str = "packets_of_other_lidars";

/// What is counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    data: u64,
    position: u64,
    pieces: u64,
    /// How many there are of each sort, and where the first is.
    foreign: BTreeMap<Foreign, (u64, u64)>,
}

impl Counts {
    /// Counts a packet of a lidar.
    pub(super) fn packet(&mut self, is_position: bool) {
        match is_position {
            true => self.position += 1,
            false => self.data += 1,
        }
    }

    /// Counts a piece of a datagram that is not complete with it.
    pub(super) fn piece(&mut self) {
        self.pieces += 1;
    }

    /// Counts a frame, at `at`, that is no packet of a lidar.
    pub(super) fn foreign(&mut self, why: Foreign, at: u64) {
        self.foreign.entry(why).or_insert((0, at)).0 += 1;
    }

    /// Returns the manufacturer of most of the packets of other lidars, in a capture without
    /// any packet of a Velodyne lidar.
    pub(super) fn other_manufacturer(&self) -> Option<Manufacturer> {
        let packets = self.foreign.iter().filter_map(|(why, (count, _))| match why {
            Foreign::OtherLidar(whose) => Some((*whose, *count)),
            _ => None,
        });
        let most = packets.max_by_key(|(_, count)| *count);
        most.filter(|_| self.data + self.position == 0).map(|(whose, _)| whose)
    }

    /// The counts, by name.
    pub(super) fn metadata(&self, metadata: &mut BTreeMap<String, Value>) {
        let mut tell = |key: &str, count: u64| {
            metadata.insert(key.to_owned(), Value::UInt(count));
        };
        tell("packets", self.data);
        tell("position_packets", self.position);
        if self.pieces > 0 {
            tell("pieces", self.pieces);
        }
        let mut of_others = 0;
        for (why, (count, _)) in &self.foreign {
            match why {
                Foreign::OtherLidar(_) => of_others += count,
                why => tell(why.name(), *count),
            }
        }
        if of_others > 0 {
            tell(OTHER_LIDARS, of_others);
        }
    }

    /// What is odd, a sentence each.
    pub(super) fn remark(&self, given_up: u64, odd: &mut Vec<Oddity>) {
        for (why, (count, first)) in &self.foreign {
            let text = match count {
                1 => format!("1 frame {}: at byte {first}", why.what(true)),
                _ => {
                    let what = why.what(false);
                    format!("{count} frames {what}: the first at byte {first}")
                }
            };
            let text = match why {
                Foreign::OtherLidar(whose) => format!("{text} (looks like {whose})"),
                _ => text,
            };
            odd.push(Oddity::new(why.code(), text));
        }
        if given_up > 0 {
            let text = match given_up {
                1 => "1 datagram that came in pieces is not complete".to_owned(),
                _ => {
                    format!("{given_up} datagrams that came in pieces are not complete")
                }
            };
            odd.push(Oddity::new(&codes::PIECES, text));
        }
        if self.data + self.position == 0 {
            odd.push(Oddity::new(&codes::EMPTY, "there is no packet of a lidar"));
        }
    }
}

impl Foreign {
    fn code(self) -> &'static Code {
        match self {
            Self::Short => &codes::SHORT,
            Self::Broken | Self::Hidden | Self::Marred | Self::Zeros => &codes::BROKEN,
            Self::WrongFlags => &codes::FLAGS,
            Self::Checksum => &codes::CHECKSUM,
            Self::OtherLidar(_) => &codes::OTHER_LIDAR,
            Self::OtherDatagram => &codes::OTHER_DATAGRAM,
            Self::OtherProtocol => &codes::OTHER_PROTOCOL,
            Self::Twice => &codes::TWICE,
            Self::UnknownLink => &codes::UNKNOWN_LINK,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Short => "short_captures",
            Self::Broken => "broken_packets",
            Self::Hidden => "hidden_packets",
            Self::Marred => "marred_packets",
            Self::WrongFlags => "packets_with_wrong_flags",
            Self::Zeros => "zeroed_packets",
            Self::Checksum => "packets_with_wrong_checksums",
            Self::OtherLidar(_) => OTHER_LIDARS,
            Self::OtherDatagram => "other_datagrams",
            Self::OtherProtocol => "other_protocols",
            Self::Twice => "packets_that_came_twice",
            Self::UnknownLink => "unknown_links",
        }
    }

    /// What such frames are, or such a frame if it is `one`.
    fn what(self, one: bool) -> &'static str {
        let pick = |of_one: &'static str, of_several: &'static str| {
            if one { of_one } else { of_several }
        };
        match self {
            Self::Short => pick(
                "is captured only in part, and lost",
                "are captured only in part, and lost",
            ),
            Self::Broken => {
                pick("is shorter than it says", "are shorter than they say")
            }
            Self::Hidden => pick(
                "holds a packet of a lidar, and its headers do not lead there: lost",
                "hold packets of a lidar, and their headers do not lead there: lost",
            ),
            Self::Marred => pick(
                "holds a data packet with a block of no known lasers: lost",
                "hold data packets with blocks of no known lasers: lost",
            ),
            Self::WrongFlags => pick(
                "is as long as a data packet, but its blocks are of no known lasers",
                "are as long as data packets, but their blocks are of no known lasers",
            ),
            Self::Zeros => pick(
                "holds only zeros where a packet of a lidar was: lost",
                "hold only zeros where packets of a lidar were: lost",
            ),
            Self::Checksum => pick(
                "holds a packet of a lidar with a wrong UDP checksum: lost",
                "hold packets of a lidar with wrong UDP checksums: lost",
            ),
            Self::OtherLidar(_) => pick(
                "holds a packet of a lidar of another manufacturer, which is not supported",
                "hold packets of a lidar of another manufacturer, which is not supported",
            ),
            Self::OtherDatagram => pick(
                "is a datagram of something else",
                "are datagrams of something else",
            ),
            Self::OtherProtocol => {
                pick("is of another protocol", "are of other protocols")
            }
            Self::Twice => pick(
                "holds a packet that came just before, as mirror ports send them, and \
                 is left out",
                "hold packets that came just before, as mirror ports send them, and are \
                 left out",
            ),
            Self::UnknownLink => pick(
                "is of an unknown type of link, and not looked into",
                "are of an unknown type of link, and not looked into",
            ),
        }
    }
}
