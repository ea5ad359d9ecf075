//! Detects the sector that a lidar blanks because of its configured field of view.
//!
//! Packets do not state the field of view. The azimuth jumps over the blanked sector in each
//! rotation. A single jump inside a packet is sufficient, because no firing is lost there. A
//! jump between packets counts only if it is repeated, because it may be due to lost
//! packets.

use logtool_core::Timestamp;

use crate::{
    model::{Sensor, TimestampReference},
    packet::{BLOCKS, PacketHeaders},
    points::{
        firing::{
            block_layout::BlockLayout,
            sin_cos_table::TURN,
            timing::{Timing, angle_between},
        },
        rotation::{
            blanked_sector::BlankedSector,
            packet_rotation::{
                MAX_RATE, PacketRotation, RotationMeter, steps, usual_rate,
            },
        },
    },
};

/// The number of packets that are examined: 10 s of a VLP-16, 0.4 s of a VLS-128 in dual
/// return mode.
pub(crate) const EXAMINED_PACKETS: u64 = 8_192;

/// The maximum number of jumps that are compared.
const MAX_JUMPS: usize = 256;

/// A step is a jump if it exceeds the usual step by more than this, in hundredths of a
/// degree.
const JUMP: f64 = 50.0;

/// The maximum delay of a host's timestamp, as the angle by which the head turns in this
/// time, in hundredths of a degree.
const MAX_DELAY_ANGLE: f64 = 9_000.0;

/// The microseconds after which the clock of a lidar wraps.
const HOUR_MICROS: i64 = 3_600_000_000;

/// The variation of the ends of a sector between rotations, in addition to the steps
/// between firings, in hundredths of a degree.
const EDGE_VARIATION: i32 = 100;

/// Collects the block headers of the first packets of a lidar.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldOfViewProbe(Vec<(PacketHeaders, Timestamp)>);

/// A packet with the azimuths and times that follow from the sensor.
struct SensorPacket {
    azimuths: [u16; BLOCKS],
    azimuth_nanos: [f64; BLOCKS],
    time: Timestamp,
    micros: u32,
}

/// A jump between two consecutive azimuths.
#[derive(Clone, Copy)]
struct Jump {
    from: u16,
    to: u16,
    is_inside_packet: bool,
}

impl FieldOfViewProbe {
    /// Adds a packet, unless enough packets were added.
    pub(crate) fn add(&mut self, headers: PacketHeaders, time: Timestamp) {
        if (self.0.len() as u64) < EXAMINED_PACKETS {
            self.0.push((headers, time));
        }
    }

    /// Returns the blanked sector, if there is one.
    pub(crate) fn finish(self, sensor: Sensor) -> Option<BlankedSector> {
        let layout = BlockLayout::new(sensor);
        let mut timing = Timing::new(sensor);
        let packets: Vec<SensorPacket> = self
            .0
            .iter()
            .filter_map(|(headers, time)| {
                let (_, azimuths) = layout.parse(headers)?;
                timing.follow(&azimuths);
                let (azimuth_nanos, micros) =
                    (timing.azimuth_nanos, headers.tail.micros);
                Some(SensorPacket { azimuths, azimuth_nanos, time: *time, micros })
            })
            .collect();
        let rate = usual_rate_of_packets(&packets, sensor)?;
        let (jumps, turned) = find_jumps(&packets, sensor, rate);
        let longest_step = rate * longest_interval(&packets, sensor);
        let rotation_nanos = rotation_nanos(&packets, sensor, rate);
        let sector = find_sectors(&jumps, turned, longest_step)
            .into_iter()
            .map(|(from, to)| BlankedSector {
                from,
                to,
                rotation_nanos,
                is_stamped_at_end: false,
                starts_later: false,
            })
            .find(|sector| !is_measured(&packets, *sector))?;
        let is_stamped_at_end = is_stamped_at_end(&packets, sector, sensor);
        Some(BlankedSector { is_stamped_at_end, ..sector })
    }
}

/// Returns the usual rotation rate, in hundredths of a degree per nanosecond.
fn usual_rate_of_packets(packets: &[SensorPacket], sensor: Sensor) -> Option<f64> {
    let rates_in_packets = packets.iter().filter_map(|packet| {
        usual_rate(&steps(&packet.azimuths), &packet.azimuth_nanos)
    });
    let mut rates: Vec<f64> = rates_in_packets.filter(|rate| *rate > 0.0).collect();
    if rates.is_empty() {
        // The packets contain one azimuth each.
        let steps = packets.windows(2).filter_map(|pair| match pair {
            [previous, packet] => {
                Some(angle_between(previous.azimuths[0], packet.azimuths[0]))
            }
            _ => None,
        });
        let rate = |step| f64::from(step) / sensor.packet_nanos();
        rates.extend(steps.map(rate).filter(|rate| *rate > 0.0 && *rate <= MAX_RATE));
    }
    median(&mut rates)
}

/// Returns the longest time between the azimuths of two consecutive blocks, in nanoseconds.
fn longest_interval(packets: &[SensorPacket], sensor: Sensor) -> f64 {
    let Some(SensorPacket { azimuth_nanos, .. }) = packets.first() else { return 0.0 };
    let intervals = azimuth_nanos.windows(2).map(|pair| pair[1] - pair[0]);
    intervals.fold(sensor.packet_nanos() - azimuth_nanos[BLOCKS - 1], f64::max)
}

/// Returns the jumps of the azimuth, and the total angle by which the head turned.
fn find_jumps(packets: &[SensorPacket], sensor: Sensor, rate: f64) -> (Vec<Jump>, u64) {
    let (mut jumps, mut turned) = (Vec::new(), 0);
    let mut add = |from, to, is_inside_packet| {
        if jumps.len() < MAX_JUMPS {
            jumps.push(Jump { from, to, is_inside_packet });
        }
    };
    let mut previous: Option<&SensorPacket> = None;
    for packet in packets {
        let azimuths = &packet.azimuths;
        if let Some(previous) = previous.replace(packet) {
            let (from, to) = (previous.azimuths[BLOCKS - 1], azimuths[0]);
            let step = angle_between(from, to);
            turned += u64::from(step);
            let interval = sensor.packet_nanos() - previous.azimuth_nanos[BLOCKS - 1];
            let step = f64::from(step);
            // A shorter time means that packets are out of order, a longer one that whole
            // rotations were lost.
            let plausible_angles = step / 2.0..step * 2.0 + MAX_DELAY_ANGLE;
            let is_plausible = nanos_between(previous, packet, sensor)
                .is_some_and(|nanos| plausible_angles.contains(&(nanos * rate)));
            if step - rate * interval > JUMP && is_plausible {
                add(from, to, false);
            }
        }
        turned += steps(azimuths).into_iter().map(u64::from).sum::<u64>();
        if let Some(rotation) =
            PacketRotation::measure(azimuths, &packet.azimuth_nanos, None, rate)
        {
            for block in (1..BLOCKS).filter(|block| rotation.jumps[*block]) {
                add(azimuths[block - 1], azimuths[block], true);
            }
        }
    }
    (jumps, turned)
}

/// Returns the nanoseconds between two packets, by the lidar's own clock if it has one.
fn nanos_between(
    previous: &SensorPacket,
    packet: &SensorPacket,
    sensor: Sensor,
) -> Option<f64> {
    if sensor.model.has_timestamps() {
        let micros = i64::from(packet.micros) - i64::from(previous.micros);
        return Some(micros.rem_euclid(HOUR_MICROS) as f64 * 1e3);
    }
    if previous.time == Timestamp::MAX || packet.time == Timestamp::MAX {
        return None;
    }
    Some(packet.time.as_nanos().saturating_sub(previous.time.as_nanos()) as f64)
}

/// Returns whether `packets` contain firings inside the sector, apart from a few packets
/// that may be damaged.
fn is_measured(packets: &[SensorPacket], sector: BlankedSector) -> bool {
    let quarter = sector.width() / 4;
    let core = quarter + 1..3 * quarter;
    let is_in_core =
        |azimuth: &u16| core.contains(&angle_between(sector.from, *azimuth));
    let packets_inside =
        packets.iter().filter(|packet| packet.azimuths.iter().any(is_in_core));
    packets_inside.count() > packets.len() / 100
}

/// Returns the edges of the possible sectors: first of the one that most of the jumps inside
/// packets cross, then of the one that most of all `jumps` cross. Most rotations must have such
/// a jump. The head turned by the angle `turned` in all packets, and turns by `step` between
/// two firings.
fn find_sectors(jumps: &[Jump], turned: u64, step: f64) -> Vec<(u16, u16)> {
    let tolerance = EDGE_VARIATION + step as i32;
    let are_similar = |a: &Jump, b: &Jump| {
        signed_angle(a.from, b.from).abs() <= tolerance
            && signed_angle(a.to, b.to).abs() <= tolerance
    };
    let similar_jumps =
        |jump: &Jump| jumps.iter().filter(|other| are_similar(jump, other)).collect();
    let clusters: Vec<(&Jump, Vec<&Jump>)> =
        jumps.iter().map(|jump| (jump, similar_jumps(jump))).collect();
    // Lost packets cause jumps between packets only. They may be more frequent than those
    // over the sector.
    let inside = clusters.iter().filter(|(jump, _)| jump.is_inside_packet);
    let candidates = [
        inside.max_by_key(|(_, similar)| similar.len()),
        clusters.iter().max_by_key(|(_, similar)| similar.len()),
    ];
    let rotations = (turned / u64::from(TURN)).min(MAX_JUMPS as u64) as usize;
    let edges = |(jump, similar): &(&Jump, Vec<&Jump>)| {
        let count = similar.len();
        let is_proven = similar.iter().any(|jump| jump.is_inside_packet);
        let is_repeated = count >= 2 && count * 2 >= jumps.len();
        let is_rare = (count + 1) * 2 < rotations;
        if is_rare || !is_proven && !is_repeated {
            return None;
        }
        common_sector(jump, similar)
    };
    candidates.into_iter().flatten().filter_map(edges).collect()
}

/// Returns the part of the circle that all jumps cross that are `similar` to `jump`.
fn common_sector(jump: &Jump, similar: &[&Jump]) -> Option<(u16, u16)> {
    let from_shifts = similar.iter().map(|other| signed_angle(jump.from, other.from));
    let to_shifts = similar.iter().map(|other| signed_angle(jump.to, other.to));
    let shifted = |azimuth: u16, shift: i32| {
        (i32::from(azimuth) + shift).rem_euclid(i32::from(TURN)) as u16
    };
    let from = shifted(jump.from, from_shifts.max()?);
    let to = shifted(jump.to, to_shifts.min()?);
    (f64::from(angle_between(from, to)) > JUMP).then_some((from, to))
}

/// Returns the angle from `azimuth` to `other`, which is negative if that way is shorter.
fn signed_angle(azimuth: u16, other: u16) -> i32 {
    let angle = i32::from(angle_between(azimuth, other));
    if angle > i32::from(TURN / 2) { angle - i32::from(TURN) } else { angle }
}

/// Returns the duration of a rotation in nanoseconds. `rate` is the usual rotation rate.
fn rotation_nanos(packets: &[SensorPacket], sensor: Sensor, rate: f64) -> u64 {
    let model = sensor.model;
    let mut meter = RotationMeter::default();
    let measured_rates = packets.iter().filter_map(|packet| {
        let (nanos, is_at_end) = if model.has_timestamps() {
            (
                i64::from(packet.micros) * 1_000,
                model.timestamp_reference() == TimestampReference::End,
            )
        } else {
            (packet.time.as_nanos(), true)
        };
        meter.add(&packet.azimuths, nanos, is_at_end, rate)
    });
    let mut measured_rates: Vec<f64> = measured_rates.collect();
    let rate = median(&mut measured_rates).unwrap_or(rate);
    (f64::from(TURN) / rate).round() as u64
}

/// Returns whether the times of records are those of the last firings of their packets.
/// A packet that crosses the `sector` takes longer. If its time is that of its first firing,
/// the interval to the next packet is longer, otherwise the interval to the previous one.
fn is_stamped_at_end(
    packets: &[SensorPacket],
    sector: BlankedSector,
    sensor: Sensor,
) -> bool {
    let rate = sector.rate();
    let delay_within = |packet: &SensorPacket| {
        let rotation = PacketRotation::measure(
            &packet.azimuths,
            &packet.azimuth_nanos,
            Some(sector),
            rate,
        );
        rotation.map_or(0.0, |rotation| rotation.delay())
    };
    // The sums of the errors under both assumptions are compared.
    let (mut error_difference, mut has_times) = (0.0, false);
    for pair in packets.windows(2) {
        let [previous, packet] = pair else { continue };
        if previous.time == Timestamp::MAX || packet.time == Timestamp::MAX {
            continue;
        }
        let (from, to) = (previous.azimuths[BLOCKS - 1], packet.azimuths[0]);
        // The angle also shows how long the packets took that are lost between both.
        let expected_nanos = previous.azimuth_nanos[BLOCKS - 1]
            + f64::from(angle_between(from, to)) / rate;
        let elapsed_nanos =
            packet.time.as_nanos().saturating_sub(previous.time.as_nanos()) as f64;
        let surplus_nanos = elapsed_nanos - expected_nanos;
        let (first_delay, last_delay) = (delay_within(previous), delay_within(packet));
        let longest_delay = first_delay.max(last_delay);
        // The angle does not show whole rotations whose packets are lost.
        if surplus_nanos - longest_delay > sector.rotation_nanos as f64 / 2.0 {
            continue;
        }
        let error_if_first = (surplus_nanos - first_delay).abs();
        let error_if_last = (surplus_nanos - last_delay).abs();
        error_difference += error_if_first - error_if_last;
        has_times = true;
    }
    if has_times {
        error_difference >= 0.0
    } else {
        // Only one packet of a message has the time of a record. The times of the others
        // follow from their own timestamps.
        sensor.model.timestamp_reference() == TimestampReference::End
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    (!values.is_empty())
        .then(|| *values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The step between two firings of a VLP-16 at 10 rotations per second.
    const STEP: f64 = 39.8;

    fn jump(from: u16, to: u16, is_inside_packet: bool) -> Jump {
        Jump { from, to, is_inside_packet }
    }

    #[test]
    fn jump_inside_a_packet_proves_a_sector_among_those_of_lost_packets() {
        // The packets after the one across the sector are lost, and others in places that are
        // similar in two rotations.
        let jumps = [
            jump(31_492, 4_530, true),
            jump(4_729, 5_250, false),
            jump(12_000, 12_520, false),
            jump(12_020, 12_540, false),
        ];
        let sectors = find_sectors(&jumps, 2 * u64::from(TURN), STEP);
        assert_eq!(sectors.first(), Some(&(31_492, 4_530)));
        assert!(find_sectors(&jumps[1..3], u64::from(TURN), STEP).is_empty());
    }

    #[test]
    fn jump_inside_one_damaged_packet_proves_nothing_in_many_rotations() {
        let mut jumps = vec![jump(31_492, 4_530, false); 10];
        jumps.push(jump(20_000, 30_000, true));
        let sectors = find_sectors(&jumps, 10 * u64::from(TURN), STEP);
        assert_eq!(sectors, [(31_492, 4_530)]);
    }
}
