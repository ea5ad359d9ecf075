//! Detects the return mode of a packet. A lidar can switch its mode while it runs.

use std::collections::BTreeMap;

use crate::{
    model::kind::{Model, ReturnMode, Sensor},
    packet::{BLOCKS, PacketHeaders},
};

impl Sensor {
    /// Returns the sensor with the return mode of `packet`, or unchanged if the packet does
    /// not state a return mode.
    #[must_use]
    pub fn with_mode_of(self, packet: &PacketHeaders) -> Self {
        let returns = match self.model {
            Model::Hdl64eS1 | Model::Hdl64eS2 => None,
            // The azimuths distinguish dual return from single return, but not which
            // single return is sent: `self.returns` may be `Last`.
            Model::Hdl64eS3 => mode_from_azimuths(packet).filter(|returns| {
                (*returns == ReturnMode::Dual) != (self.returns == ReturnMode::Dual)
            }),
            model if model.is_vls128() => mode_from_banks(packet),
            _ => mode_from_byte(packet),
        };
        Self { returns: returns.unwrap_or(self.returns), ..self }
    }
}

/// Detects the mode from the second-to-last byte (VLP-16 manual, table 9-2). In dual return
/// mode, two consecutive blocks have the same azimuth.
pub(super) fn mode_from_byte(packet: &PacketHeaders) -> Option<ReturnMode> {
    match packet.tail.status_type {
        0x37 => Some(ReturnMode::Strongest),
        0x38 => Some(ReturnMode::Last),
        0x39 => {
            let azimuths = packet.azimuths;
            let is_paired = azimuths.as_chunks::<2>().0.iter().all(|[a, b]| a == b);
            is_paired.then_some(ReturnMode::Dual)
        }
        _ => None,
    }
}

/// Detects the mode of an HDL-64E. In dual return mode four blocks have the same azimuth,
/// otherwise two. Returns `None` if the head does not turn.
pub(super) fn mode_from_azimuths(packet: &PacketHeaders) -> Option<ReturnMode> {
    let [a, _, b, _, c, _, d, _, e, _, f, _]: [u16; BLOCKS] = packet.azimuths;
    if a == b && b != c && c == d && d != e && e == f {
        return Some(ReturnMode::Dual);
    }
    (a != b && c != d && e != f).then_some(ReturnMode::Strongest)
}

/// Detects the mode of a VLS-128. In dual return mode two consecutive blocks are of the
/// same bank.
pub(super) fn mode_from_banks(packet: &PacketHeaders) -> Option<ReturnMode> {
    let [first, second, ..] = packet.flags;
    if first == second {
        Some(ReturnMode::Dual)
    } else if mode_from_byte(packet) == Some(ReturnMode::Last) {
        Some(ReturnMode::Last)
    } else {
        Some(ReturnMode::Strongest)
    }
}

/// Describes the number of packets of each mode, or returns `None` if all packets have the
/// same mode.
pub(crate) fn describe_mode_changes(
    packet_counts: &BTreeMap<ReturnMode, u64>,
) -> Option<String> {
    let description = |(returns, count): (&ReturnMode, &u64)| match count {
        1 => format!("{returns} in 1 packet"),
        count => format!("{returns} in {count} packets"),
    };
    let descriptions: Vec<String> = packet_counts.iter().map(description).collect();
    (descriptions.len() > 1).then(|| {
        format!(
            "the return mode changes: {}; each packet is decoded in its own mode",
            descriptions.join(", ")
        )
    })
}
