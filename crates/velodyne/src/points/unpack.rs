//! From one packet to points.

use crate::{
    calibration::Calibration,
    model::Sensor,
    packet::{BLOCKS, CHANNELS, Firings, Returns},
    points::{
        arrangement::{Arrangement, Place},
        circle::{Circle, TURN},
        heading::{Heading, Rate, Turning},
        intensity::Intensities,
        lasers::{Bank, Lane, banks},
        options::{Axes, Formula, PointOptions},
        scan::Scans,
        table::{BOTH, Hits, LAST, STRONGEST, Table},
        timing::{Timing, turned},
        two_point,
    },
};

/// Makes points of the packets of one sensor.
#[derive(Clone, Debug)]
pub(super) struct Unpacker {
    sensor: Sensor,
    options: PointOptions,
    step: f64,
    arrangement: Arrangement,
    timing: Timing,
    /// The times of the firings after the time of the packet.
    offsets: [Lane<i64>; BLOCKS],
    banks: Vec<Bank>,
    intensities: Vec<Option<Intensities>>,
    has_two_points: bool,
    turning: Turning,
    circle: Circle,
    heading: Heading,
    raw: Lane<u16>,
    hits: Hits,
    /// The first azimuth of the packet before, and the rate then: for velodyne_decoder's
    /// way with the VLS-128.
    before: Option<(u16, f64)>,
}

/// Where and when a packet is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The offset of its record.
    pub(super) offset: u64,
    /// The time of its record.
    pub(super) record_nanos: i64,
    /// The time that it stands for.
    pub(super) nanos: i64,
}

impl Unpacker {
    pub(super) fn new(
        sensor: Sensor,
        calibration: &Calibration,
        options: PointOptions,
    ) -> Self {
        let (model, formula) = (sensor.model, options.formula);
        let banks = banks(model, calibration, formula);
        let firsts = (0..banks.len()).map(|at| at * CHANNELS);
        let mut own = Self {
            sensor,
            options,
            step: calibration.distance_step_m.unwrap_or(model.distance_step_m()),
            arrangement: Arrangement::of(sensor),
            timing: Timing::of(sensor),
            offsets: [[0; CHANNELS]; BLOCKS],
            intensities: firsts
                .map(|first| Intensities::of(calibration, first, formula))
                .collect(),
            has_two_points: banks.iter().any(|b| b.each.iter().any(|l| l.is_two_point)),
            banks,
            turning: Turning::of(sensor, formula),
            circle: Circle::new(),
            heading: Heading::new(),
            raw: [0; CHANNELS],
            hits: Hits::new(),
            before: None,
        };
        own.settle_offsets();
        own
    }

    /// Adds the points of `packet` to `table`; says whether it is one of this sensor.
    pub(super) fn add(
        &mut self,
        table: &mut Table,
        scans: &mut Scans,
        packet: Firings<'_>,
        moment: Moment,
    ) -> bool {
        let Some((places, azimuths)) = self.arrangement.look(packet) else { return false };
        if !self.sensor.model.tells_time() {
            self.timing.follow(&azimuths);
            self.settle_offsets();
        }
        let (mut scan, begins, turning) =
            scans.next(&azimuths, &self.timing.heads, moment.offset, moment.record_nanos);
        let rate = self.rate(&azimuths, turning);
        let returns = packet.returns();
        for block in 0..self.arrangement.used {
            scan += u32::from(begins[block]);
            let place = places[block];
            let other = place.partner.and_then(|at| returns.get(at)).copied();
            self.pick(returns[block], other, place);
            if self.hits.count == 0 {
                continue;
            }
            let Some(bank) = self.banks.get(place.bank) else { continue };
            self.heading.turn(
                self.turning,
                self.circle,
                azimuths[block],
                rate,
                &self.timing.nanos[block],
                self.timing.heads[block],
                &mut self.hits.degrees,
            );
            compute(bank, &self.raw, self.step, &self.heading, self.options.axes, &mut self.hits);
            if self.has_two_points {
                self.correct_near(place.bank);
            }
            match self.intensities.get(place.bank) {
                Some(Some(own)) => {
                    own.correct(&self.raw, &self.hits.sent, &mut self.hits.corrected);
                }
                _ => self.hits.corrected = self.hits.sent.map(f32::from),
            }
            self.hits.nanos = self.offsets[block].map(|offset| moment.nanos + offset);
            // Scans are counted from 1 up to here.
            self.hits.scan = [scan.saturating_sub(1); CHANNELS];
            self.cut(block, azimuths[block], rate);
            if let Some(bank) = self.banks.get(place.bank) {
                table.add(bank, &self.hits);
            }
        }
        true
    }

    fn settle_offsets(&mut self) {
        let first = self.timing.first;
        for (to, from) in self.offsets.iter_mut().zip(&self.timing.nanos) {
            *to = from.map(|nanos| (first + nanos).round() as i64);
        }
    }

    /// How fast the head turns; `usual` is how fast it did lately.
    fn rate(&mut self, azimuths: &[u16; BLOCKS], usual: f64) -> Rate {
        if !self.sensor.model.is_vls128() {
            return Rate::within(&self.timing, azimuths, self.sensor.model);
        }
        if self.options.formula != Formula::VelodyneDecoder {
            return Rate::of(usual);
        }
        // From the packet before, unless one seems to be missing between them.
        let first = azimuths[0];
        let turned = self.before.map(|(before, _)| turned(before, first));
        let now = turned.map_or(0.0, |t| f64::from(t) / self.sensor.packet_nanos());
        let last = self.before.map_or(0.0, |(_, rate)| rate);
        let rate = if last > 0.0 && now > last * 1.8 { last } else { now };
        self.before = Some((first, rate));
        Rate::of(rate)
    }

    /// Finds the channels of a block that came back; of two returns that are one, only
    /// the strongest counts.
    fn pick(&mut self, returns: Returns<'_>, other: Option<Returns<'_>>, place: Place) {
        let hits = &mut self.hits;
        for (at, [low, high, sent]) in returns.as_chunks::<3>().0.iter().enumerate() {
            self.raw[at % CHANNELS] = u16::from_le_bytes([*low, *high]);
            hits.sent[at % CHANNELS] = *sent;
        }
        hits.kind = [if place.is_last { LAST } else { STRONGEST }; CHANNELS];
        let mut is_there = self.raw.map(|raw| raw != 0);
        if let Some(other) = other {
            let by_distance = self.options.formula == Formula::VelodyneDecoder;
            let both = returns.as_chunks::<3>().0.iter().zip(other.as_chunks::<3>().0);
            for (at, (own, other)) in both.enumerate() {
                let is_same = own[..2] == other[..2] && (by_distance || own[2] == other[2]);
                if is_same && place.is_last {
                    is_there[at % CHANNELS] = false;
                } else if is_same {
                    hits.kind[at % CHANNELS] = BOTH;
                }
            }
        }
        hits.count = 0;
        for (at, is_there) in (0_u8..).zip(is_there) {
            hits.channels[hits.count % CHANNELS] = at;
            hits.count += usize::from(is_there);
        }
    }

    /// Puts those points right that near corrections touch.
    fn correct_near(&mut self, bank: usize) {
        let Some(bank) = self.banks.get(bank) else { return };
        let hits = &mut self.hits;
        for (at, laser) in bank.each.iter().enumerate().take(CHANNELS) {
            let d = f64::from(self.raw[at]) * self.step;
            let head = (self.heading.sin[at], self.heading.cos[at]);
            let Some((x, y, z)) = two_point::point(laser, self.options.formula, d, head)
            else {
                continue;
            };
            (hits.x[at], hits.y[at]) = match self.options.axes {
                Axes::Manual => (x as f32, y as f32),
                Axes::Ros => (y as f32, -x as f32),
            };
            hits.z[at] = z as f32;
        }
    }

    /// Puts those firings of a block into the next scan that happen after the cut.
    fn cut(&mut self, block: usize, azimuth: u16, rate: Rate) {
        let left = f64::from(TURN - turned(self.options.cut, azimuth));
        let nanos = &self.timing.nanos[block];
        let head = self.timing.heads[block];
        if rate.exact <= 0.0 || (nanos[CHANNELS - 1] - head) * rate.exact < left {
            return;
        }
        for (scan, nanos) in self.hits.scan.iter_mut().zip(nanos) {
            *scan += u32::from((nanos - head) * rate.exact >= left);
        }
    }
}

/// Computes where the lasers of a bank hit, over the raw distances `raw` of `step` metres
/// each.
#[inline]
fn compute(
    bank: &Bank,
    raw: &Lane<u16>,
    step: f64,
    heading: &Heading,
    axes: Axes,
    hits: &mut Hits,
) {
    let step = step as f32;
    for at in 0..CHANNELS {
        hits.distance[at] = f32::from(raw[at]) * step + bank.far[at];
    }
    let raw = raw.map(f64::from);
    for at in 0..CHANNELS {
        hits.z[at] = (raw[at] * bank.c[at] + bank.r[at]) as f32;
    }
    let (sin, cos) = (&heading.sin, &heading.cos);
    let (ahead, right) = match axes {
        Axes::Ros => (&mut hits.x, &mut hits.y),
        Axes::Manual => (&mut hits.y, &mut hits.x),
    };
    for at in 0..CHANNELS {
        let u = raw[at] * bank.a[at] + bank.p[at];
        let w = raw[at] * bank.b[at] + bank.q[at];
        ahead[at] = (u * cos[at] + w * sin[at]) as f32;
        right[at] = (u * sin[at] - w * cos[at]) as f32;
    }
    if axes == Axes::Ros {
        hits.y.iter_mut().for_each(|left| *left = -*left);
    }
}
