//! From what a network card sees to what it carries: the link layers.
//!
//! Numbers of link types: <https://www.tcpdump.org/linktypes.html>.

/// What is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// An IP packet, which begins at this byte of the frame; its version says which.
    Ip(usize),
    /// Something else.
    Other,
    /// Of this type of link nothing is known.
    UnknownLink,
    /// The frame ends before that can be said.
    Short,
}

const NULL: u16 = 0;
const ETHERNET: u16 = 1;
const RAW: [u16; 3] = [12, 14, 101];
const LOOP: u16 = 108;
const LINUX_SLL: u16 = 113;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_SLL2: u16 = 276;

/// The tags of VLANs: one, several within each other, and an older number of these.
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// The most tags that are within each other.
const MAX_TAGS: usize = 8;

/// What `frame`, seen on a link of type `link`, carries.
pub(crate) fn carried(link: u16, frame: &[u8]) -> Carried {
    match link {
        ETHERNET => by_ethertype(frame, 12),
        LINUX_SLL => by_ethertype(frame, 14),
        LINUX_SLL2 => match ethertype(frame, 0) {
            Some(kind) if is_ip(kind) => Carried::Ip(20),
            Some(kind) if VLAN.contains(&kind) => by_ethertype(frame, 22),
            Some(_) => Carried::Other,
            None => Carried::Short,
        },
        IPV4 | IPV6 => Carried::Ip(0),
        link if RAW.contains(&link) => Carried::Ip(0),
        NULL | LOOP => by_family(frame),
        _ => Carried::UnknownLink,
    }
}

/// What follows on the type at `at`, once all tags of VLANs are taken off.
fn by_ethertype(frame: &[u8], mut at: usize) -> Carried {
    for _ in 0..=MAX_TAGS {
        match ethertype(frame, at) {
            Some(kind) if is_ip(kind) => return Carried::Ip(at + 2),
            Some(kind) if VLAN.contains(&kind) => at += 4,
            Some(_) => return Carried::Other,
            None => return Carried::Short,
        }
    }
    Carried::Other
}

/// What follows on the family of addresses, a `u32` in the order of whoever captured:
/// 2 is IPv4 everywhere, IPv6 is 10, 24, 28 or 30.
fn by_family(frame: &[u8]) -> Carried {
    let Some(family) = frame.first_chunk() else { return Carried::Short };
    let family = u32::from_le_bytes(*family);
    match family.min(family.swap_bytes()) {
        2 | 10 | 24 | 28 | 30 => Carried::Ip(4),
        _ => Carried::Other,
    }
}

fn ethertype(frame: &[u8], at: usize) -> Option<u16> {
    frame.get(at..)?.first_chunk().map(|kind| u16::from_be_bytes(*kind))
}

fn is_ip(kind: u16) -> bool {
    matches!(kind, 0x0800 | 0x86dd)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ethernet(types: &[u8]) -> Vec<u8> {
        [&[0; 12], types].concat()
    }

    #[test]
    fn tags_of_vlans_are_taken_off() {
        let plain = ethernet(&[0x08, 0x00]);
        assert_eq!(carried(ETHERNET, &plain), Carried::Ip(14));
        let tagged = ethernet(&[0x81, 0x00, 0, 100, 0x86, 0xdd]);
        assert_eq!(carried(ETHERNET, &tagged), Carried::Ip(18));
        let twice = ethernet(&[0x88, 0xa8, 0, 100, 0x81, 0x00, 0, 10, 0x08, 0x00]);
        assert_eq!(carried(ETHERNET, &twice), Carried::Ip(22));
        assert_eq!(carried(ETHERNET, &ethernet(&[0x08, 0x06])), Carried::Other);
        assert_eq!(carried(ETHERNET, &twice[..20]), Carried::Short);
    }

    #[test]
    fn tags_without_end_are_given_up() {
        let endless = ethernet(&[0x81, 0x00, 0, 0].repeat(100));
        assert_eq!(carried(ETHERNET, &endless), Carried::Other);
    }

    #[test]
    fn a_loopback_tells_its_family_in_either_order() {
        assert_eq!(carried(NULL, &[2, 0, 0, 0]), Carried::Ip(4));
        assert_eq!(carried(LOOP, &[0, 0, 0, 30]), Carried::Ip(4));
        assert_eq!(carried(NULL, &[7, 0, 0, 0]), Carried::Other);
        assert_eq!(carried(147, &[2, 0, 0, 0]), Carried::UnknownLink);
    }
}
