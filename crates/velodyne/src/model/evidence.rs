//! Statistics of packets that indicate the lidar model.

use std::collections::BTreeMap;

use crate::{
    model::{
        kind::ReturnMode,
        returns::{mode_from_azimuths, mode_from_banks, mode_from_byte},
    },
    packet::{BLOCKS, Bank, Firings},
};

/// The maximum number of packets that are examined. This is slightly more than two rounds
/// of the status of an HDL-64E, each of 4160 packets.
const MAX_PACKETS: u64 = 8_400;

/// The maximum number of intervals that are stored for each return mode.
const MAX_INTERVALS: usize = 1_024;

/// Longer intervals between packets, in microseconds, are gaps in the recording. The
/// longest packet takes 1327.
const MAX_INTERVAL_MICROS: u32 = 10_000;

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
    /// The number of data packets whose last bytes are missing. They are not examined.
    pub incomplete_packets: u64,
    /// The number of packets with each order of the laser banks.
    pub(super) bank_orders: BTreeMap<BankOrder, u64>,
    /// The number of packets for each pair of last bytes.
    pub(super) tails: BTreeMap<(u8, u8), u64>,
    /// The packets by the return mode that they state.
    pub(super) modes: BTreeMap<Option<ReturnMode>, ModePackets>,
    /// The time and the return mode of the previous packet.
    previous: Option<(u32, Option<ReturnMode>)>,
}

/// Packets with the same return mode.
#[derive(Clone, Debug, Default)]
pub(super) struct ModePackets {
    pub(super) packets: u64,
    /// The microseconds from the previous packet to each packet, for the first packets.
    pub(super) intervals: Vec<u32>,
}

/// The order of the laser banks in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BankOrder {
    /// Only the first bank.
    First,
    /// The first and the second bank alternate.
    Alternating,
    /// One block of the second bank for every three of the first.
    OneInFour,
    /// All four banks in order, three times.
    FourBanks,
    /// All four banks in order, each twice, then four empty blocks.
    FourBanksTwice,
    /// Any other order.
    Unknown,
}

impl Evidence {
    /// Adds a payload. Once enough packets have been examined, payloads are only counted.
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
        if packet.tail.is_missing() {
            self.incomplete_packets += 1;
            return;
        }
        let bank_order = BankOrder::from_flags(packet.flags);
        *self.bank_orders.entry(bank_order).or_default() += 1;
        let tail = packet.tail;
        *self.tails.entry((tail.status_type, tail.status_value)).or_default() += 1;
        let returns = match bank_order {
            BankOrder::First => mode_from_byte(&packet),
            BankOrder::Alternating => mode_from_azimuths(&packet),
            BankOrder::FourBanks | BankOrder::FourBanksTwice => {
                mode_from_banks(&packet)
            }
            BankOrder::OneInFour | BankOrder::Unknown => None,
        };
        let mode_packets = self.modes.entry(returns).or_default();
        mode_packets.packets += 1;
        let previous = self.previous.replace((tail.micros, returns));
        if let Some((previous_micros, previous_returns)) = previous {
            let interval = tail.micros.wrapping_sub(previous_micros);
            if returns == previous_returns
                && interval < MAX_INTERVAL_MICROS
                && mode_packets.intervals.len() < MAX_INTERVALS
            {
                mode_packets.intervals.push(interval);
            }
        }
    }

    /// Returns the number of packets whose second-to-last byte satisfies `is_type`. An
    /// HDL-64E states the type of its status there.
    pub(super) fn count_status_type(&self, is_type: impl Fn(u8) -> bool) -> u64 {
        let matching =
            self.tails.iter().filter(|((status_type, _), _)| is_type(*status_type));
        matching.map(|(_, count)| count).sum()
    }

    /// Returns whether some packets end in these two bytes.
    pub(super) fn has_tail(&self, tail: [u8; 2]) -> bool {
        self.tails.contains_key(&tail.into())
    }

    /// Returns the order of the laser banks in most packets, and the number of packets
    /// with this order.
    pub(super) fn bank_order(&self) -> Option<(BankOrder, u64)> {
        let most_frequent = self.bank_orders.iter().max_by_key(|(_, count)| **count);
        most_frequent.map(|(order, count)| (*order, *count))
    }

    /// Returns the product ID that is the last byte of most packets, if the packets are
    /// from a model with one bank of lasers. An HDL-64E sends no product ID, and that of a
    /// VLS-128 is not needed.
    pub(crate) fn product_id(&self) -> Option<u8> {
        self.bank_order().filter(|(order, _)| *order == BankOrder::First)?;
        let mut counts: BTreeMap<u8, u64> = BTreeMap::new();
        for ((_, last_byte), count) in &self.tails {
            *counts.entry(*last_byte).or_default() += count;
        }
        let most_frequent = counts.into_iter().max_by_key(|(_, count)| *count);
        most_frequent.map(|(product_id, _)| product_id)
    }

    /// Returns the return mode that most packets state, or `None` if most packets do not
    /// state one.
    pub(super) fn returns(&self) -> Option<ReturnMode> {
        *self.modes.iter().max_by_key(|(_, mode_packets)| mode_packets.packets)?.0
    }

    /// Returns the microseconds between consecutive packets with this return mode or, if
    /// there are more of these, between packets that do not state a mode.
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
        // The intervals `start..end` differ by at most 2 % and 1 us.
        let (mut start, mut largest_group) = (0, 0..0);
        for (end, longest) in (1..).zip(&intervals) {
            let is_similar = |shorter: &u32| {
                u64::from(*shorter) * 51 / 50 + 1 >= u64::from(*longest)
            };
            while intervals.get(start).is_some_and(|shorter| !is_similar(shorter)) {
                start += 1;
            }
            if end - start > largest_group.len() {
                largest_group = start..end;
            }
        }
        let group = intervals.get(largest_group)?;
        let total: u64 = group.iter().copied().map(u64::from).sum();
        let mean = total as f64 / group.len() as f64;
        // If the timestamps do not advance, the mean is 0. It is NaN without intervals.
        (mean > 1.0).then_some(mean)
    }

    /// Returns the median deviation of the intervals of this return mode from the nearest
    /// small multiple of `period`, as a fraction of `period`.
    pub(super) fn deviation(&self, returns: ReturnMode, period: f64) -> f64 {
        let periods = self.intervals(returns).iter().map(|n| f64::from(*n) / period);
        let mut deviations: Vec<f64> = periods
            .filter(|periods| *periods < 4.5)
            .map(|periods| (periods - periods.round().max(1.0)).abs())
            .collect();
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
        const IN_TURN: [Bank; 4] =
            [Bank::First, Bank::Second, Bank::Third, Bank::Fourth];
        let banks = flags.map(Bank::from_flag);
        let second_bank_blocks =
            banks.iter().filter(|bank| **bank == Some(Bank::Second)).count();
        let has_first_or_second_only =
            banks.iter().all(|bank| matches!(bank, Some(Bank::First | Bank::Second)));
        let repeats_after = |blocks| (0..BLOCKS).all(|i| banks[i] == banks[i % blocks]);
        if banks.iter().all(|bank| *bank == Some(Bank::First)) {
            Self::First
        } else if has_first_or_second_only && repeats_after(2) {
            Self::Alternating
        } else if has_first_or_second_only
            && second_bank_blocks == 3
            && repeats_after(4)
        {
            Self::OneInFour
        } else if (0..BLOCKS).all(|i| banks[i] == Some(IN_TURN[i % 4])) {
            Self::FourBanks
        } else if (0..8).all(|i| banks[i] == Some(IN_TURN[i / 2])) {
            Self::FourBanksTwice
        } else {
            Self::Unknown
        }
    }
}
