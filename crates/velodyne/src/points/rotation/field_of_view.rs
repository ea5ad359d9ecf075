//! Detects the sector that a lidar blanks because of its configured field of view.
//!
//! Packets do not state the field of view. It can be seen where the azimuth jumps over
//! the same sector in each rotation. A single jump inside a packet is sufficient, because
//! no firing is lost there. A jump between packets counts only if it is repeated, because
//! it may be due to lost packets.

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
pub(crate) const FIRST_PACKETS: u64 = 8_192;

/// The maximum number of jumps that are compared.
const MAX_JUMPS: usize = 256;

/// A step is a jump if it exceeds the usual step by more than this, in hundredths of a
/// degree.
const JUMP: f64 = 50.0;

/// The maximum delay of a host's timestamp, as the angle by which the head turns
/// meanwhile, in hundredths of a degree.
const MAX_DELAY_TURN: f64 = 9_000.0;

/// The microseconds after which the clock of a lidar wraps.
const HOUR_MICROS: i64 = 3_600_000_000;

/// The variation of the ends of a sector between rotations, in addition to the steps
/// between firings, in hundredths of a degree.
const EDGE_VARIATION: i32 = 100;

/// Collects the block headers of the first packets of a lidar.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldProbe(Vec<(PacketHeaders, Timestamp)>);

/// A packet after the sensor is known.
struct SensorPacket {
    azimuths: [u16; BLOCKS],
    azimuth_nanos: [f64; BLOCKS],
    time: Timestamp,
    micros: u32,
}

/// Two consecutive azimuths that are too far apart.
#[derive(Clone, Copy)]
struct Jump {
    from: u16,
    to: u16,
    is_inside_packet: bool,
}

impl FieldProbe {
    /// Adds a packet, unless enough packets were added.
    pub(crate) fn add(&mut self, headers: PacketHeaders, time: Timestamp) {
        if (self.0.len() as u64) < FIRST_PACKETS {
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
        let (jumps, travel) = jumps(&packets, sensor, rate);
        let (from, to) = sector(&jumps, travel, rate * longest_step(&packets, sensor))?;
        let rotation_nanos = rotation(&packets, sensor, rate);
        let sector = BlankedSector {
            from,
            to,
            rotation_nanos,
            is_stamped_at_end: false,
            starts_later: false,
        };
        if is_measured(&packets, sector) {
            return None;
        }
        let is_stamped_at_end = is_stamped_at_end(&packets, sector, sensor);
        Some(BlankedSector { is_stamped_at_end, ..sector })
    }
}

/// Returns the usual rotation rate, in hundredths of a degree per nanosecond.
fn usual_rate_of_packets(packets: &[SensorPacket], sensor: Sensor) -> Option<f64> {
    let inner_rates = packets
        .iter()
        .filter_map(|p| usual_rate(&steps(&p.azimuths), &p.azimuth_nanos));
    let mut rates: Vec<f64> = inner_rates.filter(|rate| *rate > 0.0).collect();
    if rates.is_empty() {
        let pairs = packets.windows(2).filter_map(|pair| match pair {
            [before, packet] => {
                Some(angle_between(before.azimuths[0], packet.azimuths[0]))
            }
            _ => None,
        });
        let rate = |step| f64::from(step) / sensor.packet_nanos();
        rates.extend(pairs.map(rate).filter(|rate| *rate > 0.0 && *rate <= MAX_RATE));
    }
    median(&mut rates)
}

/// Returns the longest time between two consecutive firings, in nanoseconds.
fn longest_step(packets: &[SensorPacket], sensor: Sensor) -> f64 {
    let Some(SensorPacket { azimuth_nanos, .. }) = packets.first() else { return 0.0 };
    let intervals = azimuth_nanos.windows(2).map(|pair| pair[1] - pair[0]);
    intervals.fold(sensor.packet_nanos() - azimuth_nanos[BLOCKS - 1], f64::max)
}

/// Returns the jumps of the azimuth and the total angle that the head turned.
fn jumps(packets: &[SensorPacket], sensor: Sensor, rate: f64) -> (Vec<Jump>, u64) {
    let (mut jumps, mut travel) = (Vec::new(), 0);
    let mut add = |from, to, is_inside_packet| {
        if jumps.len() < MAX_JUMPS {
            jumps.push(Jump { from, to, is_inside_packet });
        }
    };
    let mut before: Option<&SensorPacket> = None;
    for packet in packets {
        let azimuths = &packet.azimuths;
        if let Some(before) = before.replace(packet) {
            let (from, to) = (before.azimuths[BLOCKS - 1], azimuths[0]);
            let step = angle_between(from, to);
            travel += u64::from(step);
            let interval = sensor.packet_nanos() - before.azimuth_nanos[BLOCKS - 1];
            let step = f64::from(step);
            // A shorter time means that packets are out of order, a longer one that whole
            // rotations were lost.
            let in_time = step / 2.0..step * 2.0 + MAX_DELAY_TURN;
            let is_in_time = nanos_between(before, packet, sensor)
                .is_some_and(|nanos| in_time.contains(&(nanos * rate)));
            if step - rate * interval > JUMP && is_in_time {
                add(from, to, false);
            }
        }
        travel += steps(azimuths).into_iter().map(u64::from).sum::<u64>();
        if let Some(rotation) =
            PacketRotation::measure(azimuths, &packet.azimuth_nanos, None, rate)
        {
            for block in (1..BLOCKS).filter(|block| rotation.jumps[*block]) {
                add(azimuths[block - 1], azimuths[block], true);
            }
        }
    }
    (jumps, travel)
}

/// Returns the nanoseconds between two packets, by the lidar's own clock if it has one.
fn nanos_between(
    before: &SensorPacket,
    packet: &SensorPacket,
    sensor: Sensor,
) -> Option<f64> {
    if sensor.model.has_timestamps() {
        let micros = i64::from(packet.micros) - i64::from(before.micros);
        return Some(micros.rem_euclid(HOUR_MICROS) as f64 * 1e3);
    }
    if before.time == Timestamp::MAX || packet.time == Timestamp::MAX {
        return None;
    }
    Some(packet.time.as_nanos().saturating_sub(before.time.as_nanos()) as f64)
}

/// Returns whether `packets` contain firings inside the sector, apart from a few packets
/// that may be damaged.
fn is_measured(packets: &[SensorPacket], sector: BlankedSector) -> bool {
    let is_inside = |packet: &&SensorPacket| {
        let quarter = sector.width() / 4;
        let inner = quarter + 1..3 * quarter;
        let is_inside =
            |azimuth: &u16| inner.contains(&angle_between(sector.from, *azimuth));
        packet.azimuths.iter().any(is_inside)
    };
    packets.iter().filter(is_inside).count() > packets.len() / 100
}

/// Returns the edges of the sector that most of `jumps` cross, if most rotations in
/// `travel` have one jump. The head turns by `step` between two firings.
fn sector(jumps: &[Jump], travel: u64, step: f64) -> Option<(u16, u16)> {
    let edge = EDGE_VARIATION + step as i32;
    let difference = |of: u16, other: u16| {
        let difference = i32::from(angle_between(of, other));
        if difference > i32::from(TURN / 2) {
            difference - i32::from(TURN)
        } else {
            difference
        }
    };
    let is_alike = |a: &Jump, b: &Jump| {
        difference(a.from, b.from).abs() <= edge && difference(a.to, b.to).abs() <= edge
    };
    let count =
        |jump: &Jump| jumps.iter().filter(|other| is_alike(jump, other)).count();
    let common = jumps.iter().max_by_key(|jump| count(jump))?;
    let similar_jumps = || jumps.iter().filter(|other| is_alike(common, other));
    let inside_count = similar_jumps().filter(|jump| jump.is_inside_packet).count();
    let count = similar_jumps().count();
    let rotations = (travel / u64::from(TURN)).min(MAX_JUMPS as u64) as usize;
    let is_repeated = count >= 2 && count * 2 >= jumps.len();
    if (inside_count == 0 && !is_repeated) || (count + 1) * 2 < rotations {
        return None;
    }
    let from = similar_jumps().map(|jump| difference(common.from, jump.from)).max()?;
    let to = similar_jumps().map(|jump| difference(common.to, jump.to)).min()?;
    let shift = |azimuth: u16, steps: i32| {
        (i32::from(azimuth) + steps).rem_euclid(i32::from(TURN)) as u16
    };
    let (from, to) = (shift(common.from, from), shift(common.to, to));
    (f64::from(angle_between(from, to)) > JUMP).then_some((from, to))
}

/// Returns the duration of a rotation in nanoseconds.
fn rotation(packets: &[SensorPacket], sensor: Sensor, rate: f64) -> u64 {
    let model = sensor.model;
    let mut meter = RotationMeter::default();
    let measured = packets.iter().filter_map(|packet| {
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
    let mut measured: Vec<f64> = measured.collect();
    let rate = median(&mut measured).unwrap_or(rate);
    (f64::from(TURN) / rate).round() as u64
}

/// Returns whether the times of records are those of the last firings of their packets.
/// This is decided by comparing the intervals before and after packets that cross the
/// `sector`.
fn is_stamped_at_end(
    packets: &[SensorPacket],
    sector: BlankedSector,
    sensor: Sensor,
) -> bool {
    let rate = sector.rate();
    let blanked = |packet: &SensorPacket| {
        let rotation = PacketRotation::measure(
            &packet.azimuths,
            &packet.azimuth_nanos,
            Some(sector),
            rate,
        );
        rotation.map_or(0.0, |rotation| rotation.delay())
    };
    let (mut votes, mut is_known) = (0.0, false);
    for pair in packets.windows(2) {
        let [before, packet] = pair else { continue };
        if before.time == Timestamp::MAX || packet.time == Timestamp::MAX {
            continue;
        }
        let (from, to) = (before.azimuths[BLOCKS - 1], packet.azimuths[0]);
        let between = if sector.is_crossed(from, to) {
            f64::from(angle_between(from, to)) / rate
        } else {
            0.0
        };
        let expected_nanos = sensor.packet_nanos() + between;
        let elapsed_nanos =
            packet.time.as_nanos().saturating_sub(before.time.as_nanos()) as f64;
        let by_first = (elapsed_nanos - expected_nanos - blanked(before)).abs();
        let by_last = (elapsed_nanos - expected_nanos - blanked(packet)).abs();
        (votes, is_known) = (votes + by_first - by_last, true);
    }
    // Without record times: packets of a message have their own timestamps, and a host
    // timestamps packets on arrival.
    if is_known {
        votes >= 0.0
    } else {
        sensor.model.timestamp_reference() == TimestampReference::End
    }
}

fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    (middle < values.len())
        .then(|| *values.select_nth_unstable_by(middle, f64::total_cmp).1)
}
