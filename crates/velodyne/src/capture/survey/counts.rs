//! What is counted of frames that are no packets of lidars: none of them is passed over
//! without a word.

use std::collections::BTreeMap;

use logtool_core::{Code, Value};

use crate::{
    capture::{codes, reader::Foreign},
    oddity::Oddity,
};

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
        for (why, (count, _)) in &self.foreign {
            tell(why.name(), *count);
        }
    }

    /// What is odd, a sentence each.
    pub(super) fn remark(&self, given_up: u64, odd: &mut Vec<Oddity>) {
        for (why, (count, first)) in &self.foreign {
            let frames = if *count == 1 { "frame is" } else { "frames are" };
            let what = why.what();
            let text = format!("{count} {frames} {what}: the first at byte {first}");
            odd.push(Oddity::new(why.code(), text));
        }
        if given_up > 0 {
            let text =
                format!("{given_up} datagrams that came in pieces are not complete");
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
            Self::Broken | Self::Hidden => &codes::BROKEN,
            Self::WrongFlags => &codes::FLAGS,
            Self::OtherDatagram => &codes::OTHER_DATAGRAM,
            Self::OtherProtocol => &codes::OTHER_PROTOCOL,
            Self::UnknownLink => &codes::UNKNOWN_LINK,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Short => "short_captures",
            Self::Broken => "broken_packets",
            Self::Hidden => "hidden_packets",
            Self::WrongFlags => "packets_with_wrong_flags",
            Self::OtherDatagram => "other_datagrams",
            Self::OtherProtocol => "other_protocols",
            Self::UnknownLink => "unknown_links",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Short => "captured only in part, and lost",
            Self::Broken => "shorter than they say",
            Self::Hidden => "of a lidar, broken, and lost",
            Self::WrongFlags => {
                "as long as data packets, but their blocks are of no known lasers"
            }
            Self::OtherDatagram => "datagrams of something else",
            Self::OtherProtocol => "of other protocols",
            Self::UnknownLink => "of an unknown type of link, and not looked into",
        }
    }
}
