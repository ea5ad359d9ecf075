//! Which returns a packet holds, as it says itself. A lidar can be switched while it runs.

use std::collections::BTreeMap;

use crate::{
    model::kind::{Model, ReturnMode, Sensor},
    packet::{BLOCKS, Outline},
};

impl Sensor {
    /// The same, sending the returns that `packet` says it holds, if it says so.
    #[must_use]
    pub fn told_by(self, packet: &Outline) -> Self {
        let told = match self.model {
            Model::Hdl64eS1 | Model::Hdl64eS2 => None,
            // Of one return it is not said which.
            Model::Hdl64eS3 => by_azimuths(packet).filter(|told| {
                (*told == ReturnMode::Dual) != (self.returns == ReturnMode::Dual)
            }),
            model if model.is_vls128() => by_banks(packet),
            _ => by_byte(packet),
        };
        Self { returns: told.unwrap_or(self.returns), ..self }
    }
}

/// By the last byte but one (VLP-16 manual, table 9-2). Both returns are in two blocks of one
/// azimuth.
pub(super) fn by_byte(packet: &Outline) -> Option<ReturnMode> {
    match packet.tail.sort {
        0x37 => Some(ReturnMode::Strongest),
        0x38 => Some(ReturnMode::Last),
        0x39 => {
            let azimuths = packet.azimuths;
            let is_twice = azimuths.as_chunks::<2>().0.iter().all(|[a, b]| a == b);
            is_twice.then_some(ReturnMode::Dual)
        }
        _ => None,
    }
}

/// Of an HDL-64E: both returns are in four blocks of one azimuth, one is in two. Where the
/// head does not turn, that says nothing.
pub(super) fn by_azimuths(packet: &Outline) -> Option<ReturnMode> {
    let [a, _, b, _, c, _, d, _, e, _, f, _]: [u16; BLOCKS] = packet.azimuths;
    if a == b && b != c && c == d && d != e && e == f {
        return Some(ReturnMode::Dual);
    }
    (a != b && c != d && e != f).then_some(ReturnMode::Strongest)
}

/// Of a VLS-128: both returns are in two blocks of one bank.
pub(super) fn by_banks(packet: &Outline) -> Option<ReturnMode> {
    let [first, second, ..] = packet.flags;
    match by_byte(packet) {
        _ if first == second => Some(ReturnMode::Dual),
        Some(ReturnMode::Last) => Some(ReturnMode::Last),
        _ => Some(ReturnMode::Strongest),
    }
}

/// How many packets of each sort there are, in a sentence, if they are of several.
pub(crate) fn change(packets: &BTreeMap<ReturnMode, u64>) -> Option<String> {
    let of = |(returns, count): (&ReturnMode, &u64)| match count {
        1 => format!("{returns} in 1 packet"),
        count => format!("{returns} in {count} packets"),
    };
    let all: Vec<String> = packets.iter().map(of).collect();
    (all.len() > 1).then(|| {
        format!(
            "the returns that are sent change: {}; each packet is read as it says",
            all.join(", ")
        )
    })
}
