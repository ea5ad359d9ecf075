//! Counts packets whose headers are wrong or unknown.

use std::collections::BTreeMap;

use crate::capture::{
    network::layer::Layer,
    packets::sender::{Device, Sender},
};

/// The maximum number of devices with wrong header checksums that are counted, and that of
/// senders whose packets are found in unknown layers.
const MAX_DEVICES: usize = 256;

/// The numbers of packets with wrong header checksums, and of those behind unknown headers.
#[derive(Clone, Debug, Default)]
pub(crate) struct WrongHeaders {
    pub(super) packets: u64,
    pub(super) of_devices: BTreeMap<Device, u64>,
    /// The numbers of packets whose hardware address is uncertain.
    found: BTreeMap<Sender, u64>,
    /// The numbers of packets whose IP header cannot be read.
    unreadable: BTreeMap<Sender, u64>,
}

impl WrongHeaders {
    /// Counts a packet from `device`.
    pub(crate) fn count(&mut self, device: Device) {
        self.packets += 1;
        if self.of_devices.len() < MAX_DEVICES || self.of_devices.contains_key(&device)
        {
            *self.of_devices.entry(device).or_default() += 1;
        }
    }

    /// Counts a packet that was found in an unknown `layer` and seems to be from `sender`. Its
    /// hardware address is uncertain, unless the headers of its IP packet were followed.
    pub(crate) fn count_found(
        &mut self,
        sender: Sender,
        layer: Layer,
        has_unreadable_ip: bool,
    ) {
        if has_unreadable_ip
            && (self.unreadable.len() < MAX_DEVICES
                || self.unreadable.contains_key(&sender))
        {
            *self.unreadable.entry(sender).or_default() += 1;
        }
        let is_certain = matches!(layer, Layer::IpProtocol(_) | Layer::UdpPort(_))
            && sender.device.mac.is_some();
        let is_counted =
            self.found.len() < MAX_DEVICES || self.found.contains_key(&sender);
        if is_counted && !is_certain {
            *self.found.entry(sender).or_default() += 1;
        }
    }

    /// Returns whether the address of all `packets` of `sender` is that of an outer layer, or
    /// unknown.
    pub(super) fn has_uncertain_address(&self, sender: Sender, packets: u64) -> bool {
        sender.device.address.is_unspecified()
            || self.unreadable.get(&sender) == Some(&packets)
    }

    /// Returns whether all `packets` of `sender` have an uncertain hardware address.
    pub(super) fn has_uncertain_mac(&self, sender: Sender, packets: u64) -> bool {
        self.found.get(&sender) == Some(&packets)
    }
}
