//! Statistics of packets that indicate the lidar model.

use std::collections::BTreeMap;

use crate::{
    model::{
        kind::ReturnMode,
        returns::{by_azimuths, by_banks, by_byte},
    },
    packet::{BLOCKS, Bank, Firings},
};

/// The maximum number of packets that are examined: two rounds of the status of an
/// HDL-64E.
const MAX_PACKETS: u64 = 8_400;

/// The maximum number of stored intervals between packets with one return mode.
const MAX_INTERVALS: usize = 1_024;

/// Statistics of the packets of one sensor, added in the order of arrival.
///
/// ```
/// use logtool_velodyne::model::Evidence;
///
/// let mut evidence = Evidence::default();
/// evidence.add(&[0; 100]); // not a data packet: counted, not examined
/// assert!(evidence.detect().sensor.is_none());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// The number of data packets.
    pub packets: u64,
    /// The number of payloads of another length.
    pub other_payloads: u64,
    pub(super) patterns: BTreeMap<BankOrder, u64>,
    /// The number of packets for each pair of last bytes.
    pub(super) tails: BTreeMap<(u8, u8), u64>,
    /// The packets by the return mode that they state.
    pub(super) modes: BTreeMap<Option<ReturnMode>, ModePackets>,
    /// The time and the return mode of the previous packet.
    last: Option<(u32, Option<ReturnMode>)>,
}

/// Packets with the same return mode.
#[derive(Clone, Debug, Default)]
pub(super) struct ModePackets {
    pub(super) packets: u64,
    /// Microseconds between consecutive packets, for the first packets.
    pub(super) intervals: Vec<u32>,
}

/// The order of the laser banks in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BankOrder {
    /// Only the first bank.
    First,
    /// The first and the second bank alternate.
    Alternating,
    /// One block of the second bank for each three of the first.
    OneInFour,
    /// All four banks in order, three times.
    FourBanks,
    /// All four banks in order, each twice, then four empty blocks.
    FourBanksTwice,
    /// Any other order.
    Unknown,
}

impl Evidence {
    /// Adds a payload. It is only counted if enough packets were examined before.
    pub fn add(&mut self, payload: &[u8]) {
        let Some(packet) = Firings::new(payload) else {
            self.other_payloads += 1;
            return;
        };
        self.packets += 1;
        if self.packets > MAX_PACKETS {
            return;
        }
        let packet = packet.headers();
        let pattern = BankOrder::from_flags(packet.flags);
        *self.patterns.entry(pattern).or_default() += 1;
        let tail = packet.tail;
        *self.tails.entry((tail.status_type, tail.status_value)).or_default() += 1;
        let returns = match pattern {
            BankOrder::First => by_byte(&packet),
            BankOrder::Alternating => by_azimuths(&packet),
            BankOrder::FourBanks | BankOrder::FourBanksTwice => by_banks(&packet),
            BankOrder::OneInFour | BankOrder::Unknown => None,
        };
        let mode_packets = self.modes.entry(returns).or_default();
        mode_packets.packets += 1;
        if let Some((last, before)) = self.last.replace((tail.micros, returns)) {
            let interval = tail.micros.wrapping_sub(last);
            let is_same_mode = returns == before && interval < 10_000;
            if is_same_mode && mode_packets.intervals.len() < MAX_INTERVALS {
                mode_packets.intervals.push(interval);
            }
        }
    }

    /// Returns true if further packets would only be counted.
    pub fn is_complete(&self) -> bool {
        self.packets >= MAX_PACKETS
    }

    /// Returns the number of packets whose last two bytes satisfy `has_type`.
    pub(super) fn count(&self, has_type: impl Fn((u8, u8)) -> bool) -> u64 {
        let matching = self.tails.iter().filter(|(tail, _)| has_type(**tail));
        matching.map(|(_, count)| count).sum()
    }

    /// Returns whether some packets end in these two bytes.
    pub(super) fn has_tail(&self, tail: [u8; 2]) -> bool {
        self.tails.contains_key(&tail.into())
    }

    /// Returns the product ID that most packets end in.
    pub(super) fn identity(&self) -> Option<u8> {
        let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
        for ((_, identity), count) in &self.tails {
            *counts.entry(*identity).or_default() += count;
        }
        counts.into_iter().max_by_key(|(_, count)| *count).map(|(identity, _)| identity)
    }

    /// Returns the product ID of most packets, if these have one bank of lasers. Other
    /// packets have no product ID.
    pub(crate) fn product_id(&self) -> Option<u8> {
        let most_frequent = self.patterns.iter().max_by_key(|(_, count)| **count);
        most_frequent
            .filter(|(pattern, _)| **pattern == BankOrder::First)
            .and_then(|_| self.identity())
    }

    /// Returns the return mode that most packets state, or `None` if they do not state
    /// one.
    pub(super) fn returns(&self) -> Option<ReturnMode> {
        *self.modes.iter().max_by_key(|(_, mode_packets)| mode_packets.packets)?.0
    }

    /// Returns the microseconds between consecutive packets with this return mode.
    fn intervals(&self, returns: ReturnMode) -> &[u32] {
        let modes = [Some(returns), None].into_iter();
        let modes = modes.filter_map(|returns| self.modes.get(&returns));
        modes
            .max_by_key(|mode_packets| mode_packets.packets)
            .map_or(&[], |mode_packets| &mode_packets.intervals)
    }

    /// Returns the usual time between packets with this return mode in microseconds: the
    /// mean of the largest group of similar intervals. Where packets are lost, the
    /// interval is a multiple of it.
    pub(super) fn period(&self, returns: ReturnMode) -> Option<f64> {
        let mut intervals = self.intervals(returns).to_vec();
        intervals.sort_unstable();
        let (mut first, mut run) = (0, 0..0);
        for (end, longer) in (1..).zip(&intervals) {
            let is_alike =
                |shorter: &u32| u64::from(*shorter) * 51 / 50 + 1 >= u64::from(*longer);
            while intervals.get(first).is_some_and(|shorter| !is_alike(shorter)) {
                first += 1;
            }
            if end - first > run.len() {
                run = first..end;
            }
        }
        let run = intervals.get(run)?;
        let total: u64 = run.iter().copied().map(u64::from).sum();
        let mean = total as f64 / run.len() as f64;
        (mean > 1.0).then_some(mean)
    }

    /// Returns the median deviation of the intervals of this return mode from the nearest
    /// small multiple of `period`, as a fraction of `period`.
    pub(super) fn deviation(&self, returns: ReturnMode, period: f64) -> f64 {
        let times = |micros: &u32| f64::from(*micros) / period;
        let few = self.intervals(returns).iter().map(times).filter(|n| *n < 4.5);
        let mut deviations: Vec<f64> =
            few.map(|n| (n - n.round().max(1.0)).abs()).collect();
        let middle = deviations.len() / 2;
        if deviations.is_empty() {
            0.0
        } else {
            *deviations.select_nth_unstable_by(middle, f64::total_cmp).1
        }
    }
}

impl BankOrder {
    fn from_flags(flags: [u16; BLOCKS]) -> Self {
        let banks = flags.map(Bank::from_flag);
        let has_order =
            |at: fn(usize) -> Option<Bank>| (0..BLOCKS).all(|i| banks[i] == at(i));
        let in_turn =
            |i: usize| [Bank::First, Bank::Second, Bank::Third, Bank::Fourth][i % 4];
        let lowers = banks.iter().filter(|bank| **bank == Some(Bank::Second)).count();
        let has_two_banks =
            banks.iter().all(|b| matches!(b, Some(Bank::First | Bank::Second)));
        if has_order(|_| Some(Bank::First)) {
            Self::First
        } else if has_two_banks && (0..BLOCKS).all(|i| banks[i] == banks[i % 2]) {
            Self::Alternating
        } else if has_two_banks
            && lowers == 3
            && (0..BLOCKS).all(|i| banks[i] == banks[i % 4])
        {
            Self::OneInFour
        } else if (0..BLOCKS).all(|i| banks[i] == Some(in_turn(i))) {
            Self::FourBanks
        } else if (0..8).all(|i| banks[i] == Some(in_turn(i / 2))) {
            Self::FourBanksTwice
        } else {
            Self::Unknown
        }
    }
}
