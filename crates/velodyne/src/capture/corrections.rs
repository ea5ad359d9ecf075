//! Corrections that only a whole capture shows: which senders never have correct header
//! checksums, and which senders do not exist, but are another one with a wrong bit.

pub(crate) mod wrong_headers;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{
    anomaly::Anomaly,
    capture::{
        codes,
        corrections::wrong_headers::WrongHeaders,
        packets::sender::{Device, Sender},
    },
};

/// The minimum number of packets that are evidence of a sender.
const MIN_PACKETS: u64 = 3;

/// The minimum ratio of the packets of a sender to the packets with one wrong bit in its address.
const MIN_RATIO: u64 = 4;

/// The corrections of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Corrections {
    /// Whether no IPv4 header checksum of the capture is verified.
    ignores_headers: bool,
    /// The devices whose IPv4 header checksums are not verified.
    unverified: Vec<Device>,
    /// The replaced senders, in ascending order.
    replaced: Vec<ReplacedSender>,
}

/// A sender whose packets are those of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReplacedSender {
    sender: Sender,
    by: Sender,
    packets: u64,
}

impl Corrections {
    /// Determines the corrections from the number of sound packets of each sender, and from
    /// the packets with wrong header checksums.
    pub(crate) fn new(senders: &[(Sender, u64)], wrong: &WrongHeaders) -> Self {
        let is_unverified = |(device, wrong): &(&Device, &u64)| {
            let of_device =
                senders.iter().filter(|(other, _)| other.device == **device);
            let sound: u64 = of_device.map(|(_, packets)| packets).sum();
            // A packet without an address is damaged. So are those whose address differs by
            // one bit from that of a sender with many more packets.
            let is_damaged = device.address.is_unspecified()
                || senders.iter().any(|(sender, packets)| {
                    *packets / MIN_RATIO >= **wrong
                        && is_one_bit_apart(sender.device, **device)
                });
            **wrong >= 2 && **wrong > sound && !is_damaged
        };
        let unverified = wrong.of_devices.iter().filter(is_unverified);
        let (unverified, of_unverified): (Vec<Device>, Vec<u64>) =
            unverified.map(|(device, packets)| (*device, *packets)).unzip();
        let damaged_packets = wrong.packets - of_unverified.iter().sum::<u64>();
        let sound_packets: u64 = senders.iter().map(|(_, packets)| packets).sum();
        // The addresses of such a capture were changed, so that they prove no damage.
        if damaged_packets >= MIN_PACKETS && damaged_packets > sound_packets {
            return Self::without_header_checksums();
        }
        // Without the packets of unverified devices, the senders are not known yet.
        let replaced = match unverified[..] {
            [] => replaced_senders(senders, wrong),
            _ => Vec::new(),
        };
        Self { ignores_headers: false, unverified, replaced }
    }

    /// Determines the corrections like [`new`](Self::new), from packets to which these
    /// corrections have been applied.
    pub(crate) fn update(
        &self,
        senders: &[(Sender, u64)],
        wrong: &WrongHeaders,
    ) -> Self {
        if self.is_empty() {
            Self::new(senders, wrong)
        } else if self.unverified.is_empty() || !self.replaced.is_empty() {
            self.clone()
        } else {
            Self { replaced: replaced_senders(senders, wrong), ..self.clone() }
        }
    }

    /// Creates corrections that only ignore all IPv4 header checksums.
    pub(crate) fn without_header_checksums() -> Self {
        Self { ignores_headers: true, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether the header checksums of packets from `device` are verified.
    pub(crate) fn verifies_headers(&self, device: Device) -> bool {
        !self.ignores_headers && !self.unverified.contains(&device)
    }

    /// Returns why checksums of IPv4 headers are not verified, if that is so.
    pub(crate) fn unverified_checksums(&self) -> Vec<&'static str> {
        let mut reasons = Vec::new();
        if self.ignores_headers {
            reasons.push(
                "most IPv4 header checksums are wrong, as after a change of addresses: they \
                 are not verified",
            );
        }
        if !self.unverified.is_empty() {
            reasons.push(
                "most IPv4 header checksums of a sender are wrong, as on the computer that \
                 sends the packets: they are not verified",
            );
        }
        reasons
    }

    /// Adds the corrections to `anomalies`.
    pub(crate) fn add_anomalies(&self, anomalies: &mut Vec<Anomaly>) {
        for ReplacedSender { sender, by, packets } in &self.replaced {
            let packets = match packets {
                1 => "1 packet is".to_owned(),
                packets => format!("{packets} packets are"),
            };
            let cause = if sender.device.address.is_unspecified() {
                "although their headers cannot be read"
            } else {
                "although its addresses or its port differ by one bit, are partly zero, or \
                 cannot be read"
            };
            let address = by.device.address;
            let text = format!("{packets} counted to the lidar at {address}, {cause}");
            anomalies.push(Anomaly::new(&codes::SENDER, text));
        }
    }

    /// Returns the real sender of a packet that seems to be from `sender`.
    pub(crate) fn sender(&self, sender: Sender) -> Sender {
        let found = self.replaced.binary_search_by_key(&sender, |other| other.sender);
        let found = found.ok().and_then(|index| self.replaced.get(index));
        found.map_or(sender, |replaced| replaced.by)
    }
}

/// Returns the senders that are replaced, in ascending order.
fn replaced_senders(
    senders: &[(Sender, u64)],
    wrong: &WrongHeaders,
) -> Vec<ReplacedSender> {
    let replaced = senders.iter().filter_map(|(sender, packets)| {
        let by = without_address((*sender, *packets), senders, wrong)
            .or_else(|| damaged((*sender, *packets), senders, wrong))?;
        Some(ReplacedSender { sender: *sender, by, packets: *packets })
    });
    let mut replaced: Vec<_> = replaced.collect();
    replaced.sort_unstable_by_key(|replaced| replaced.sender);
    replaced
}

/// Returns the sender of packets whose headers have no address, if the capture has packets
/// of a single lidar besides. Packets with the address of an outer layer are at most a
/// quarter as many.
fn without_address(
    (sender, packets): (Sender, u64),
    senders: &[(Sender, u64)],
    wrong: &WrongHeaders,
) -> Option<Sender> {
    if !wrong.has_uncertain_address(sender, packets) {
        return None;
    }
    let with_address = || {
        senders
            .iter()
            .filter(|(other, packets)| !wrong.has_uncertain_address(*other, *packets))
    };
    let mut devices: Vec<Device> = Vec::new();
    for (Sender { device, .. }, _) in with_address() {
        if !devices.contains(device) {
            devices.push(*device);
        }
    }
    let &[device] = &devices[..] else { return None };
    let other_packets: u64 = with_address().map(|(_, packets)| packets).sum();
    let is_outer = !sender.device.address.is_unspecified();
    if is_outer && packets != 1 && other_packets / MIN_RATIO < packets {
        return None;
    }
    let has_same_type =
        |(other, _): &&(Sender, u64)| other.is_position == sender.is_position;
    let other = with_address().find(has_same_type);
    let port = other.map_or(sender.port, |(other, _)| other.port);
    Some(Sender { device, port, ..sender })
}

/// Returns the sender of several packets from which `sender` differs by damage. A single
/// packet differs in one bit or in zeros of its addresses or its port, or only one of both
/// has a hardware address. Packets in unknown layers may have any hardware address.
fn damaged(
    (sender, packets): (Sender, u64),
    senders: &[(Sender, u64)],
    wrong: &WrongHeaders,
) -> Option<Sender> {
    let is_found = wrong.has_uncertain_mac(sender, packets);
    if packets != 1 && !is_found {
        return None;
    }
    let evident = senders.iter().filter(|(_, packets)| *packets >= MIN_PACKETS);
    let evident: Vec<(Sender, u64)> = evident.copied().collect();
    let is_certain = |(other, packets): &(Sender, u64)| {
        !is_found || !wrong.has_uncertain_mac(*other, *packets)
    };
    // The addresses of a lidar with other packets are sound.
    let is_known = evident
        .iter()
        .any(|other| other.0.device == sender.device && is_certain(other));
    let candidates = evident.into_iter();
    let mut candidates =
        candidates.filter(|(other, _)| !is_known || other.device == sender.device);
    candidates.find_map(|(other, other_packets)| {
        let has_same_type = sender.is_position == other.is_position;
        let ports = if has_same_type { [sender.port, other.port] } else { [0; 2] };
        let is_damaged = sender.device != other.device || ports[0] != ports[1];
        let [first, second] = [(sender, ports[0]), (other, ports[1])]
            .map(|(sender, port)| identity(sender.device, port));
        let (mac, other_mac) = (sender.device.mac, other.device.mac);
        let is_similar = packets == 1
            && mac.is_some() == other_mac.is_some()
            && (distance(&first, &second) == 1 || is_zeroed(&first, &second));
        let has_enough = packets == 1 || other_packets / MIN_RATIO >= packets;
        let may_differ_in_mac = mac.is_some() != other_mac.is_some()
            || is_found && is_certain(&(other, other_packets));
        let differs_in_mac = may_differ_in_mac
            && has_enough
            && sender.device.address == other.device.address
            && ports[0] == ports[1];
        let is_from_other = sender.device.interface == other.device.interface
            && (is_similar || differs_in_mac);
        let port = if has_same_type { other.port } else { sender.port };
        (is_damaged && is_from_other).then_some(Sender {
            device: other.device,
            port,
            ..sender
        })
    })
}

/// Returns the numbers that identify the packets from `device` to `port`: its hardware
/// address, the port, and its address. Those of IPv4 have the marks of mapped addresses.
fn identity(device: Device, port: u16) -> [u128; 2] {
    let [a, b, c, d, e, f] = device.mac.map_or([0; 6], |mac| mac.0);
    let [high, low] = port.to_be_bytes();
    let mac_and_port = u64::from_be_bytes([a, b, c, d, e, f, high, low]);
    let address = match device.address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    [mac_and_port.into(), address.to_bits()]
}

fn is_one_bit_apart(first: Device, second: Device) -> bool {
    first.interface == second.interface
        && first.mac.is_some() == second.mac.is_some()
        && distance(&identity(first, 0), &identity(second, 0)) == 1
}

/// Returns the number of bits in which two identities differ.
fn distance(first: &[u128; 2], second: &[u128; 2]) -> u32 {
    first.iter().zip(second).map(|(a, b)| (a ^ b).count_ones()).sum()
}

/// Returns whether `first` is `second`, except that bytes are 0.
fn is_zeroed(first: &[u128; 2], second: &[u128; 2]) -> bool {
    let bytes = |identity: &[u128; 2]| identity.map(u128::to_be_bytes);
    let (first, second) = (bytes(first), bytes(second));
    first.iter().flatten().zip(second.iter().flatten()).all(|(a, b)| a == b || *a == 0)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::capture::network::layer::{Layer, Mac};

    fn sender(mac: Option<u8>, address: [u8; 4], port: u16) -> Sender {
        let device = Device {
            interface: 0,
            mac: mac.map(|last| Mac([0x60, 0x76, 0x88, 0, 0, last])),
            address: IpAddr::V4(Ipv4Addr::from(address)),
        };
        Sender { device, port, is_position: false }
    }

    const ADDRESS: [u8; 4] = [192, 168, 1, 201];

    fn replaced(other: Sender, packets: u64) -> Sender {
        let lidar = sender(Some(1), ADDRESS, 2368);
        let senders = [(lidar, 20), (other, packets)];
        Corrections::new(&senders, &WrongHeaders::default()).sender(other)
    }

    #[test]
    fn single_packet_with_a_wrong_bit_is_from_the_similar_sender() {
        let lidar = sender(Some(1), ADDRESS, 2368);
        for other in [
            sender(Some(3), ADDRESS, 2368),
            sender(Some(1), [192, 168, 1, 200], 2368),
            sender(Some(1), ADDRESS, 2369),
            // Zeros.
            sender(Some(0), ADDRESS, 2368),
            sender(Some(0), [0, 0, 1, 201], 2368),
        ] {
            assert_eq!(replaced(other, 1), lidar);
            assert_eq!(replaced(other, 2), other);
        }
        for other in [sender(Some(2), ADDRESS, 2368), sender(Some(3), ADDRESS, 2369)] {
            assert_eq!(replaced(other, 1), other);
        }
        let position =
            |mac| Sender { is_position: true, ..sender(Some(mac), ADDRESS, 8308) };
        assert_eq!(replaced(position(3), 1), position(1));
        assert_eq!(replaced(position(2), 1), position(2));
    }

    #[test]
    fn single_packet_of_a_lidar_with_other_packets_is_its_own() {
        let data = |last| sender(Some(1), [192, 168, 1, last], 2368);
        let position = |last| Sender { is_position: true, port: 8308, ..data(last) };
        let senders =
            [(data(200), 9), (data(201), 9), (position(200), 1), (position(201), 1)];
        let corrections = Corrections::new(&senders, &WrongHeaders::default());
        for (sender, _) in senders {
            assert_eq!(corrections.sender(sender), sender);
        }
    }

    #[test]
    fn uncertain_hardware_address_is_that_of_the_other_packets() {
        let lidar = sender(Some(1), ADDRESS, 2368);
        let without_mac = sender(None, ADDRESS, 2368);
        assert_eq!(replaced(without_mac, 1), lidar);
        assert_eq!(replaced(without_mac, 2), without_mac);
        assert_eq!(replaced(sender(None, ADDRESS, 2369), 1).port, 2369);
        // Of packets in an unknown layer, up to a quarter of the others.
        let found = |other: Sender, packets, layer| {
            let mut wrong = WrongHeaders::default();
            (0..packets).for_each(|_| wrong.count_found(other, layer, false));
            let senders = [(lidar, 20), (other, packets)];
            Corrections::new(&senders, &wrong).sender(other)
        };
        let layer = Layer::EtherType(0x0c00);
        let second = sender(Some(2), ADDRESS, 2368);
        assert_eq!(found(second, 1, layer), lidar);
        assert_eq!(found(second, 5, layer), lidar);
        assert_eq!(found(without_mac, 5, Layer::UdpPort(9)), lidar);
        assert_eq!(found(second, 6, layer), second);
        assert_eq!(found(second, 5, Layer::UdpPort(9)), second);
        let other_address = sender(Some(2), [192, 168, 1, 7], 2368);
        assert_eq!(found(other_address, 1, layer), other_address);
        // Both lidars are behind the unknown layer, so that only a bit is a difference.
        let found_with = |other: Sender, packets| {
            let mut wrong = WrongHeaders::default();
            (0..20).for_each(|_| wrong.count_found(lidar, layer, false));
            (0..packets).for_each(|_| wrong.count_found(other, layer, false));
            let senders = [(lidar, 20), (other, packets)];
            Corrections::new(&senders, &wrong).sender(other)
        };
        assert_eq!(found_with(second, 5), second);
        assert_eq!(found_with(second, 1), second);
        assert_eq!(found_with(sender(Some(3), ADDRESS, 2368), 1), lidar);
        let bit = sender(Some(1), [192, 168, 1, 200], 2368);
        assert_eq!(found_with(bit, 1), lidar);
        assert_eq!(found_with(without_mac, 1), lidar);
    }

    #[test]
    fn senders_are_compared_after_unverified_devices_are_known() {
        let lidar = sender(Some(1), ADDRESS, 2368);
        let other = sender(Some(1), ADDRESS, 2370);
        let mut wrong = WrongHeaders::default();
        (0..9).for_each(|_| wrong.count(lidar.device));
        let first = Corrections::default().update(&[], &wrong);
        assert_eq!(first.sender(other), other);
        let senders = [(lidar, 8), (other, 1)];
        let second = first.update(&senders, &WrongHeaders::default());
        assert!(!second.verifies_headers(lidar.device));
        assert_eq!(second.sender(other), lidar);
        let third = second.update(&[(lidar, 9)], &WrongHeaders::default());
        assert_eq!(third, second);
    }

    #[test]
    fn packets_without_an_address_are_from_the_only_lidar() {
        let unknown = sender(None, [0; 4], 2368);
        let lidar = sender(Some(1), ADDRESS, 2370);
        assert_eq!(replaced(unknown, 9).device, lidar.device);
        // The address of an outer layer.
        let outer = sender(Some(7), [10, 0, 0, 1], 2370);
        let unreadable = |packets| {
            let mut wrong = WrongHeaders::default();
            let layer = Layer::EtherType(0x88b5);
            (0..packets).for_each(|_| wrong.count_found(outer, layer, true));
            let senders = [(lidar, 20), (outer, packets)];
            Corrections::new(&senders, &wrong).sender(outer)
        };
        assert_eq!([1, 5, 6].map(unreadable), [lidar, lidar, outer]);
        let second = sender(Some(2), ADDRESS, 2368);
        let senders = [(lidar, 9), (second, 9), (unknown, 9)];
        let corrections = Corrections::new(&senders, &WrongHeaders::default());
        assert_eq!(corrections.sender(unknown), unknown);
    }

    #[test]
    fn headers_of_a_device_are_not_verified_if_most_are_wrong() {
        let lidar = sender(Some(1), ADDRESS, 2368);
        let verifies = |sound: u64, wrong: Sender, count| {
            let mut wrong_headers = WrongHeaders::default();
            for _ in 0..count {
                wrong_headers.count(wrong.device);
            }
            let corrections = Corrections::new(&[(lidar, sound)], &wrong_headers);
            corrections.verifies_headers(wrong.device)
        };
        assert!(verifies(9, lidar, 9));
        assert!(!verifies(9, lidar, 10));
        assert!(verifies(0, lidar, 1));
        // Another sender, unless it is the first one with a wrong bit, or without an address.
        let with_address = |address| sender(Some(1), address, 2368);
        assert!(!verifies(9, with_address([192, 168, 1, 7]), 2));
        assert!(verifies(9, with_address([192, 168, 1, 7]), 1));
        assert!(verifies(9, with_address([192, 168, 1, 200]), 2));
        assert!(verifies(50, with_address([192, 168, 1, 200]), 12));
        assert!(!verifies(50, with_address([192, 168, 1, 200]), 13));
        assert!(verifies(9, with_address([0; 4]), 2));
    }

    #[test]
    fn no_headers_are_verified_if_most_of_the_capture_are_wrong() {
        let with_address = |last| sender(Some(1), [192, 168, 0, last], 2368);
        let corrections = |sound, count| {
            let mut wrong = WrongHeaders::default();
            (0..count).for_each(|last| wrong.count(with_address(last).device));
            let senders = [(sender(Some(1), ADDRESS, 2368), sound)];
            Corrections::new(&senders, &wrong)
        };
        assert!(!corrections(9, 10).verifies_headers(with_address(7).device));
        assert!(corrections(9, 9).verifies_headers(with_address(7).device));
        assert!(corrections(0, 2).verifies_headers(with_address(7).device));
        // Their addresses do not prove damage.
        let corrections = corrections(9, 10);
        let similar = sender(Some(1), [192, 168, 1, 200], 2368);
        assert_eq!(corrections.sender(similar), similar);
    }
}
