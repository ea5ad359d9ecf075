//! Computes the points of a packet.

#[cfg(target_arch = "x86_64")]
use pulp::NullaryFnOnce;

use crate::{
    calibration::Calibration,
    model::Sensor,
    packet::{BLOCKS, CHANNELS, Firings, Outline, Returns},
    points::{
        arrangement::{Arrangement, Place},
        heading::{Heading, Rate, Turning},
        intensity::Intensities,
        lasers::{Bank, Lane, Roomy, banks},
        moves::Moves,
        options::{Axes, Formula, PointOptions},
        pace::Pace,
        part::{Part, Words},
        scan::Scans,
        sin_cos_table::{Circle, TURN},
        table::{BOTH, Hits, LAST, STRONGEST, Table},
        timing::{Timing, turned},
        tracker::{AT_CUT, Stamps},
        two_point::Near,
    },
};

/// Computes points from the packets of one sensor.
#[derive(Clone, Debug)]
pub(super) struct Unpacker {
    #[cfg(target_arch = "x86_64")]
    wide: Option<pulp::x86::V3>,
    sensor: Sensor,
    options: PointOptions,
    step: f64,
    arrangement: Arrangement,
    timing: Timing,
    /// The times of the firings after the time of the packet, in nanoseconds.
    offsets: [Roomy<i64>; BLOCKS],
    banks: Vec<Bank>,
    intensities: Vec<Option<Intensities>>,
    nears: Vec<Option<Near>>,
    turning: Turning,
    moves: Option<Moves>,
    circle: Circle,
    heading: Heading,
    raw: Lane<u16>,
    hits: Hits,
    /// The first azimuth and the rotation rate of the previous packet, which
    /// velodyne_decoder uses for the VLS-128.
    before: Option<(u16, f64)>,
}

/// The position and the times of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The offset of its record.
    pub(super) offset: u64,
    /// The time of its record.
    pub(super) record_nanos: i64,
    /// The time of the packet, from the selected time source.
    pub(super) nanos: i64,
}

/// The arguments of [`Unpacker::add_packet`], which is compiled for one instruction set.
#[cfg(target_arch = "x86_64")]
struct Adding<'u, 'b, P> {
    part: P,
    unpacker: &'u mut Unpacker,
    table: &'u mut Table,
    scans: &'u mut Scans,
    packet: Firings<'b>,
    outline: &'b Outline,
    moment: Moment,
}

#[cfg(target_arch = "x86_64")]
impl<P: Part> NullaryFnOnce for Adding<'_, '_, P> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let Self { part, unpacker, table, scans, packet, outline, moment } = self;
        unpacker.add_packet(part, table, scans, packet, outline, moment)
    }
}

impl Unpacker {
    pub(super) fn new(
        sensor: Sensor,
        calibration: &Calibration,
        options: PointOptions,
    ) -> Self {
        let (model, formula) = (sensor.model, options.formula);
        let banks = banks(model, calibration, formula);
        let step = calibration.distance_step_m.unwrap_or(model.distance_step_m());
        let firsts = (0..banks.len()).map(|at| at * CHANNELS);
        let mut own = Self {
            #[cfg(target_arch = "x86_64")]
            wide: pulp::x86::V3::try_new(),
            sensor,
            options,
            step,
            arrangement: Arrangement::of(sensor),
            timing: Timing::of(sensor),
            offsets: [[0; 2 * CHANNELS]; BLOCKS],
            intensities: firsts
                .map(|first| Intensities::of(calibration, first, formula))
                .collect(),
            nears: banks.iter().map(|bank| Near::of(bank, formula, step)).collect(),
            banks,
            turning: Turning::of(sensor, formula),
            moves: Moves::of(sensor, formula),
            circle: Circle::new(),
            heading: Heading::new(),
            raw: [0; CHANNELS],
            hits: Hits::new(),
            before: None,
        };
        own.settle_offsets();
        own
    }

    /// Returns the sensor whose packets are decoded.
    pub(super) fn sensor(&self) -> Sensor {
        self.sensor
    }

    /// Appends the points of `packet` to `table`. `outline` are the headers of the
    /// packet. Returns false if it is not a packet of this sensor.
    ///
    /// The code is compiled twice, for any processor and with AVX2, and selected at run
    /// time. Both compute identical results, because the compiler never contracts a
    /// product and a sum.
    pub(super) fn add(
        &mut self,
        table: &mut Table,
        scans: &mut Scans,
        packet: Firings<'_>,
        outline: &Outline,
        moment: Moment,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = self.wide {
            let unpacker = self;
            return wide.vectorize(Adding {
                part: wide,
                unpacker,
                table,
                scans,
                packet,
                outline,
                moment,
            });
        }
        self.add_packet(Words, table, scans, packet, outline, moment)
    }

    #[inline(always)]
    fn add_packet(
        &mut self,
        part: impl Part,
        table: &mut Table,
        scans: &mut Scans,
        packet: Firings<'_>,
        outline: &Outline,
        moment: Moment,
    ) -> bool {
        let Some((banks, azimuths)) = self.arrangement.look(outline) else {
            return false;
        };
        if !self.sensor.model.tells_time() {
            self.timing.follow(&azimuths);
            self.settle_offsets();
        }
        let stamps = Stamps { nanos: moment.record_nanos, micros: outline.tail.micros };
        let heads = &self.timing.heads;
        let scans = scans.next(self.sensor, &azimuths, heads, moment.offset, stamps);
        let mut scan = scans.first;
        let pace = self.pace(&azimuths, scans.rotation_rate);
        let usual = match scans.rotation_rate > 0.0 {
            true => scans.rotation_rate,
            false => scans.rate,
        };
        let rate = self.rate(&azimuths, usual, pace.as_ref());
        if let Some(moves) = &mut self.moves {
            moves.follow(&azimuths);
        }
        let returns = packet.returns();
        // Look up all azimuths together, so that memory latency occurs only once.
        let places = azimuths.map(|azimuth| self.circle.sin_cos(azimuth));
        for block in 0..self.arrangement.used {
            scan += u32::from(scans.begins[block]);
            let place = self.arrangement.places[block];
            let other = place.partner.and_then(|at| returns.get(at)).copied();
            self.pick(part, returns[block], other, place);
            if self.hits.back == 0 {
                continue;
            }
            let azimuth = azimuths[block];
            if self.turning == Turning::Still {
                self.hits.degrees.same = Some(f32::from(azimuth) / 100.0);
            } else if let Some(moves) = &self.moves {
                let degrees = &mut self.hits.degrees.each;
                self.heading.move_on(self.circle, moves, block, degrees);
            } else {
                self.heading.turn(
                    self.turning,
                    self.circle,
                    azimuth,
                    rate,
                    &self.timing,
                    block,
                    &mut self.hits.degrees.each,
                );
            }
            if table.wants_place() {
                self.locate(banks[block], places[block]);
            }
            self.measure(banks[block], table.wants_corrected());
            // `scan` counts from 1 up to here.
            self.cut(block, azimuth, rate, scan.saturating_sub(1));
            if let Some(bank) = self.banks.get(banks[block]) {
                let delay = pace.map_or(0, |pace| pace.delays[block].round() as i64);
                let nanos = moment.nanos.saturating_add(delay);
                table.add(bank, &self.hits, nanos, &self.offsets[block]);
            }
        }
        true
    }

    fn settle_offsets(&mut self) {
        let first = self.timing.first;
        for (row, nanos) in self.offsets.iter_mut().zip(&self.timing.nanos) {
            for (to, nanos) in row.iter_mut().zip(nanos) {
                *to = (first + nanos).round() as i64;
            }
        }
    }

    /// Returns the rotation of the head in a packet that crosses a blanked sector. The
    /// delays of its blocks are relative to the time of the packet.
    fn pace(&self, azimuths: &[u16; BLOCKS], rotation_rate: f64) -> Option<Pace> {
        let blanked = self.options.blanked;
        let known = match rotation_rate > 0.0 {
            true => rotation_rate,
            false => blanked.map_or(0.0, |sector| sector.rate()),
        };
        let mut pace = Pace::of(azimuths, &self.timing.heads, blanked, known)?;
        if self.options.is_timed_at_end(self.sensor.model) {
            pace.end_in_time();
        }
        Some(pace)
    }

    /// Returns the rotation rate. `usual` is the recent rate.
    fn rate(
        &mut self,
        azimuths: &[u16; BLOCKS],
        usual: f64,
        pace: Option<&Pace>,
    ) -> Rate {
        if let Some(pace) = pace
            && !self.sensor.model.is_vls128()
        {
            return Rate::of(pace.rate);
        }
        if !self.sensor.model.is_vls128() {
            return Rate::within(&self.timing, azimuths, self.sensor.model);
        }
        if self.options.formula != Formula::VelodyneDecoder {
            return Rate::of(usual);
        }
        // From the previous packet, unless a packet seems to be missing between them.
        let first = azimuths[0];
        let turned = self.before.map(|(before, _)| turned(before, first));
        let now = turned.map_or(0.0, |t| f64::from(t) / self.sensor.packet_nanos());
        let last = self.before.map_or(0.0, |(_, rate)| rate);
        let rate = if last > 0.0 && now > last * 1.8 { last } else { now };
        self.before = Some((first, rate));
        Rate::of(rate)
    }

    /// Finds the channels of a block with a return. If both returns are the same, only
    /// the strongest is used.
    #[inline(always)]
    fn pick(
        &mut self,
        part: impl Part,
        returns: Returns<'_>,
        other: Option<Returns<'_>>,
        place: Place,
    ) {
        let hits = &mut self.hits;
        hits.back = part.part(returns, &mut self.raw, &mut hits.sent);
        hits.kind.same = Some(if place.is_last { LAST } else { STRONGEST });
        if let Some(other) = other {
            self.pick_of_two(returns, other, place.is_last);
        }
    }

    /// Finds the channels of a block in dual return mode.
    fn pick_of_two(&mut self, returns: Returns<'_>, other: Returns<'_>, is_last: bool) {
        let by_distance = self.options.formula == Formula::VelodyneDecoder;
        let hits = &mut self.hits;
        hits.kind.same = None;
        let both = returns.as_chunks::<3>().0.iter().zip(other.as_chunks::<3>().0);
        for ((at, (own, other)), kind) in (0_u32..).zip(both).zip(&mut hits.kind.each) {
            let is_same = own[..2] == other[..2] && (by_distance || own[2] == other[2]);
            *kind = match (is_same, is_last) {
                (true, _) => BOTH,
                (false, true) => LAST,
                (false, false) => STRONGEST,
            };
            hits.back &= !(u32::from(is_same && is_last) << (at % 32));
        }
    }

    /// Computes the positions of the returns of a bank. The head is at the azimuth with
    /// this sine and cosine for the block.
    #[inline(always)]
    fn locate(&mut self, bank: usize, (sin, cos): (f64, f64)) {
        let Some(own) = self.banks.get(bank) else { return };
        let (raw, axes, hits) = (&self.raw, self.options.axes, &mut self.hits);
        let near = self.nears.get(bank).and_then(Option::as_ref);
        if self.turning == Turning::Still {
            compute(own, raw, |_| (sin, cos), axes, hits);
            if let Some(near) = near {
                near.correct(raw, |_| (sin, cos), axes, hits);
            }
        } else {
            let Heading { sin, cos } = &self.heading;
            compute(own, raw, |at| (sin[at], cos[at]), axes, hits);
            if let Some(near) = near {
                near.correct(raw, |at| (sin[at], cos[at]), axes, hits);
            }
        }
    }

    /// Computes the distances, and the intensities if they are selected.
    #[inline(always)]
    fn measure(&mut self, bank: usize, wants_intensity: bool) {
        let Some(own) = self.banks.get(bank) else { return };
        own.distances(&self.raw, self.step as f32, &mut self.hits.distance);
        let (sent, corrected) = (&self.hits.sent, &mut self.hits.corrected);
        match self.intensities.get(bank) {
            _ if !wants_intensity => {}
            Some(Some(own)) => own.correct(&self.raw, sent, corrected),
            _ => {
                let all = corrected.iter_mut().zip(sent).take(CHANNELS);
                all.for_each(|(to, sent)| *to = f32::from(*sent));
            }
        }
    }

    /// Assigns the firings of a block to `scan`, and those after the scan start to the
    /// next scan. Blocks that are not [near](AT_CUT) the scan start have no such firings:
    /// otherwise the rotation rate would be impossible.
    #[inline(always)]
    fn cut(&mut self, block: usize, azimuth: u16, rate: Rate, scan: u32) {
        let left = f64::from(TURN - turned(self.options.cut, azimuth));
        let nanos = &self.timing.nanos[block];
        let head = self.timing.heads[block];
        let is_far = left > f64::from(AT_CUT);
        let is_before = |nanos: f64| (nanos - head) * rate.exact < left;
        if rate.exact <= 0.0 || is_far || is_before(nanos[CHANNELS - 1]) {
            self.hits.scan.same = Some(scan);
            return;
        }
        self.hits.scan.same = None;
        for (to, nanos) in self.hits.scan.each.iter_mut().zip(nanos) {
            *to = scan + u32::from(!is_before(*nanos));
        }
    }
}

/// Computes the positions of the returns of a bank. `head` returns the sine and cosine of
/// the azimuth of the head for each channel.
#[inline(always)]
fn compute(
    bank: &Bank,
    raw: &Lane<u16>,
    head: impl Fn(usize) -> (f64, f64),
    axes: Axes,
    hits: &mut Hits,
) {
    let (ahead, across) = match axes {
        Axes::Ros => (&mut hits.x, &mut hits.y),
        Axes::Manual => (&mut hits.y, &mut hits.x),
    };
    // The axis to the right has the opposite sign of the axis to the left.
    let way = if axes == Axes::Ros { -1.0 } else { 1.0 };
    for at in 0..CHANNELS {
        let raw = f64::from(raw[at]);
        let (sin, cos) = head(at);
        let u = raw * bank.a[at] + bank.p[at];
        let w = raw * bank.b[at] + bank.q[at];
        ahead[at] = (u * cos + w * sin) as f32;
        across[at] = (u * (sin * way) - w * (cos * way)) as f32;
        hits.z[at] = (raw * bank.c[at] + bank.r[at]) as f32;
    }
}
