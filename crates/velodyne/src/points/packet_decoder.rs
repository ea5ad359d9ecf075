//! Computes the points of a packet.

#[cfg(target_arch = "x86_64")]
use pulp::NullaryFnOnce;

use crate::{
    calibration::Calibration,
    model::Sensor,
    packet::{BLOCKS, CHANNELS, Firings, PacketHeaders, Returns},
    points::{
        block::{
            azimuth_steps::AzimuthSteps,
            deinterleave::{Deinterleave, PortableDeinterleave},
            firing_azimuths::{AzimuthModel, FiringAzimuths, RotationRate},
            intensity::IntensityCorrection,
            laser_bank::{BankCoefficients, PaddedPerChannel, PerChannel, banks},
            near_corrections::NearCorrections,
            point_buffer::{BOTH, BlockReturns, LAST, PointBuffer, STRONGEST},
        },
        firing::{
            block_layout::{BlockLayout, BlockReturn},
            sin_cos_table::{SinCosTable, TURN},
            timing::{Timing, angle_between},
        },
        options::{Axes, Formula, PointOptions},
        rotation::packet_rotation::PacketRotation,
        scans::{
            index::ScanNumbers,
            tracker::{NEAR_SCAN_START, PacketTimestamps},
        },
    },
};

/// Computes points from the packets of one sensor.
#[derive(Clone, Debug)]
pub(super) struct PacketDecoder {
    #[cfg(target_arch = "x86_64")]
    avx2: Option<pulp::x86::V3>,
    sensor: Sensor,
    options: PointOptions,
    step: f64,
    layout: BlockLayout,
    timing: Timing,
    /// The times of the firings after the time of the packet, in nanoseconds.
    offsets: [PaddedPerChannel<i64>; BLOCKS],
    banks: Vec<BankCoefficients>,
    intensity_corrections: Vec<Option<IntensityCorrection>>,
    near_corrections: Vec<Option<NearCorrections>>,
    azimuth_model: AzimuthModel,
    azimuth_steps: Option<AzimuthSteps>,
    circle: SinCosTable,
    firing_azimuths: FiringAzimuths,
    raw: PerChannel<u16>,
    block_returns: BlockReturns,
    /// The first azimuth and the rotation rate of the previous packet, which
    /// velodyne_decoder uses for the VLS-128.
    before: Option<(u16, f64)>,
}

/// The position and the times of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketTime {
    /// The offset of its record.
    pub(super) offset: u64,
    /// The time of its record.
    pub(super) record_nanos: i64,
    /// The time of the packet, from the selected time source.
    pub(super) nanos: i64,
}

/// The arguments of [`PacketDecoder::add_packet`], which is compiled for one instruction set.
#[cfg(target_arch = "x86_64")]
struct DecodeCall<'u, 'b, P> {
    simd: P,
    decoder: &'u mut PacketDecoder,
    table: &'u mut PointBuffer,
    scans: &'u mut ScanNumbers,
    packet: Firings<'b>,
    headers: &'b PacketHeaders,
    packet_time: PacketTime,
}

#[cfg(target_arch = "x86_64")]
impl<P: Deinterleave> NullaryFnOnce for DecodeCall<'_, '_, P> {
    type Output = bool;

    #[inline(always)]
    fn call(self) -> bool {
        let Self { simd, decoder, table, scans, packet, headers, packet_time } = self;
        decoder.add_packet(simd, table, scans, packet, headers, packet_time)
    }
}

impl PacketDecoder {
    pub(super) fn new(
        sensor: Sensor,
        calibration: &Calibration,
        options: PointOptions,
    ) -> Self {
        let (model, formula) = (sensor.model, options.formula);
        let banks = banks(model, calibration, formula);
        let step = calibration.distance_step_m.unwrap_or(model.distance_step_m());
        let firsts = (0..banks.len()).map(|at| at * CHANNELS);
        let mut decoder = Self {
            #[cfg(target_arch = "x86_64")]
            avx2: pulp::x86::V3::try_new(),
            sensor,
            options,
            step,
            layout: BlockLayout::new(sensor),
            timing: Timing::new(sensor),
            offsets: [[0; 2 * CHANNELS]; BLOCKS],
            intensity_corrections: firsts
                .map(|first| IntensityCorrection::new(calibration, first, formula))
                .collect(),
            near_corrections: banks
                .iter()
                .map(|bank| NearCorrections::new(bank, formula, step))
                .collect(),
            banks,
            azimuth_model: AzimuthModel::for_formula(sensor, formula),
            azimuth_steps: AzimuthSteps::new(sensor, formula),
            circle: SinCosTable::new(),
            firing_azimuths: FiringAzimuths::new(),
            raw: [0; CHANNELS],
            block_returns: BlockReturns::new(),
            before: None,
        };
        decoder.update_offsets();
        decoder
    }

    /// Returns the sensor whose packets are decoded.
    pub(super) fn sensor(&self) -> Sensor {
        self.sensor
    }

    /// Appends the points of `packet` to `table`. `headers` are the headers of the
    /// packet. Returns false if it is not a packet of this sensor.
    ///
    /// The code is compiled twice, for any processor and with AVX2, and selected at run
    /// time. Both compute identical results, because the compiler never contracts a
    /// product and a sum.
    pub(super) fn add(
        &mut self,
        table: &mut PointBuffer,
        scans: &mut ScanNumbers,
        packet: Firings<'_>,
        headers: &PacketHeaders,
        packet_time: PacketTime,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            let decoder = self;
            return avx2.vectorize(DecodeCall {
                simd: avx2,
                decoder,
                table,
                scans,
                packet,
                headers,
                packet_time,
            });
        }
        self.add_packet(
            PortableDeinterleave,
            table,
            scans,
            packet,
            headers,
            packet_time,
        )
    }

    #[inline(always)]
    fn add_packet(
        &mut self,
        simd: impl Deinterleave,
        table: &mut PointBuffer,
        scans: &mut ScanNumbers,
        packet: Firings<'_>,
        headers: &PacketHeaders,
        packet_time: PacketTime,
    ) -> bool {
        let Some((banks, azimuths)) = self.layout.parse(headers) else {
            return false;
        };
        if !self.sensor.model.has_timestamps() {
            self.timing.follow(&azimuths);
            self.update_offsets();
        }
        let stamps = PacketTimestamps {
            nanos: packet_time.record_nanos,
            micros: headers.tail.micros,
        };
        let azimuth_nanos = &self.timing.azimuth_nanos;
        let scans = scans.next(
            self.sensor,
            &azimuths,
            azimuth_nanos,
            packet_time.offset,
            stamps,
        );
        let mut scan = scans.first;
        let rotation = self.rotation(&azimuths, scans.rotation_rate);
        let measured_rate =
            if scans.rotation_rate > 0.0 { scans.rotation_rate } else { scans.rate };
        let rate = self.rate(&azimuths, measured_rate, rotation.as_ref());
        if self.azimuth_model == AzimuthModel::Exact {
            self.firing_azimuths.set_rate(rate, &self.timing);
        }
        if let Some(azimuth_steps) = &mut self.azimuth_steps {
            azimuth_steps.follow(&azimuths);
        }
        let returns = packet.returns();
        // Look up all azimuths together, so that memory latency occurs only once.
        let places = azimuths.map(|azimuth| self.circle.sin_cos(azimuth));
        for block in 0..self.layout.used_blocks {
            scan += u32::from(scans.begins[block]);
            let block_return = self.layout.block_returns[block];
            let partner_returns =
                block_return.partner.and_then(|at| returns.get(at)).copied();
            self.select_returns(simd, returns[block], partner_returns, block_return);
            if self.block_returns.back == 0 {
                continue;
            }
            let azimuth = azimuths[block];
            if self.azimuth_model == AzimuthModel::PerBlock {
                self.block_returns.degrees.same = Some(f32::from(azimuth) / 100.0);
            } else if let Some(azimuth_steps) = &self.azimuth_steps {
                let degrees = &mut self.block_returns.degrees.each;
                self.firing_azimuths.set_stepped(
                    self.circle,
                    azimuth_steps,
                    block,
                    degrees,
                );
            } else {
                self.firing_azimuths.set_rotating(
                    self.azimuth_model,
                    self.circle,
                    azimuth,
                    rate,
                    &self.timing,
                    block,
                    &mut self.block_returns.degrees.each,
                );
            }
            if table.wants_coordinates() {
                self.locate(banks[block], places[block]);
            }
            self.measure(banks[block], table.wants_corrected());
            // `scan` counts from 1 up to here.
            self.assign_scans(block, azimuth, rate, scan.saturating_sub(1));
            if let Some(bank) = self.banks.get(banks[block]) {
                let delay = rotation
                    .map_or(0, |rotation| rotation.delays[block].round() as i64);
                let nanos = packet_time.nanos.saturating_add(delay);
                table.add(bank, &self.block_returns, nanos, &self.offsets[block]);
            }
        }
        true
    }

    fn update_offsets(&mut self) {
        let first = self.timing.first;
        for (row, nanos) in self.offsets.iter_mut().zip(&self.timing.nanos) {
            for (to, nanos) in row.iter_mut().zip(nanos) {
                *to = (first + nanos).round() as i64;
            }
        }
    }

    /// Returns the rotation of the head in a packet that crosses a blanked sector. The
    /// delays of its blocks are relative to the time of the packet.
    fn rotation(
        &self,
        azimuths: &[u16; BLOCKS],
        rotation_rate: f64,
    ) -> Option<PacketRotation> {
        let blanked = self.options.blanked;
        let known_rate = if rotation_rate > 0.0 {
            rotation_rate
        } else {
            blanked.map_or(0.0, |sector| sector.rate())
        };
        let mut rotation = PacketRotation::measure(
            azimuths,
            &self.timing.azimuth_nanos,
            blanked,
            known_rate,
        )?;
        if self.options.is_timed_at_end(self.sensor.model) {
            rotation.end_in_time();
        }
        Some(rotation)
    }

    /// Returns the rotation rate. `measured_rate` is the recent rate.
    fn rate(
        &mut self,
        azimuths: &[u16; BLOCKS],
        measured_rate: f64,
        rotation: Option<&PacketRotation>,
    ) -> RotationRate {
        if let Some(rotation) = rotation
            && !self.sensor.model.is_vls128()
        {
            return RotationRate::from_nanos(rotation.rate);
        }
        if !self.sensor.model.is_vls128() {
            return RotationRate::rate_in_packet(
                &self.timing,
                azimuths,
                self.sensor.model,
            );
        }
        if self.options.formula != Formula::VelodyneDecoder {
            return RotationRate::from_nanos(measured_rate);
        }
        // From the previous packet, unless a packet seems to be missing between them.
        let first = azimuths[0];
        let turned = self.before.map(|(before, _)| angle_between(before, first));
        let current_rate =
            turned.map_or(0.0, |t| f64::from(t) / self.sensor.packet_nanos());
        let last = self.before.map_or(0.0, |(_, rate)| rate);
        let rate =
            if last > 0.0 && current_rate > last * 1.8 { last } else { current_rate };
        self.before = Some((first, rate));
        RotationRate::from_nanos(rate)
    }

    /// Finds the channels of a block with a return. If both returns are the same, only
    /// the strongest is used.
    #[inline(always)]
    fn select_returns(
        &mut self,
        simd: impl Deinterleave,
        returns: Returns<'_>,
        partner_returns: Option<Returns<'_>>,
        block_return: BlockReturn,
    ) {
        let block_returns = &mut self.block_returns;
        block_returns.back =
            simd.deinterleave(returns, &mut self.raw, &mut block_returns.intensities);
        block_returns.kind.same =
            Some(if block_return.is_last { LAST } else { STRONGEST });
        if let Some(partner_returns) = partner_returns {
            self.select_dual_returns(returns, partner_returns, block_return.is_last);
        }
    }

    /// Finds the channels of a block in dual return mode.
    fn select_dual_returns(
        &mut self,
        returns: Returns<'_>,
        partner_returns: Returns<'_>,
        is_last: bool,
    ) {
        let by_distance = self.options.formula == Formula::VelodyneDecoder;
        let block_returns = &mut self.block_returns;
        block_returns.kind.same = None;
        let pairs =
            returns.as_chunks::<3>().0.iter().zip(partner_returns.as_chunks::<3>().0);
        for ((at, (own, partner_returns)), kind) in
            (0_u32..).zip(pairs).zip(&mut block_returns.kind.each)
        {
            let is_same = own[..2] == partner_returns[..2]
                && (by_distance || own[2] == partner_returns[2]);
            *kind = match (is_same, is_last) {
                (true, _) => BOTH,
                (false, true) => LAST,
                (false, false) => STRONGEST,
            };
            block_returns.back &= !(u32::from(is_same && is_last) << (at % 32));
        }
    }

    /// Computes the positions of the returns of a bank. The head is at the azimuth with
    /// this sine and cosine for the block.
    #[inline(always)]
    fn locate(&mut self, bank: usize, (sin, cos): (f64, f64)) {
        let Some(bank_values) = self.banks.get(bank) else { return };
        let (raw, axes, block_returns) =
            (&self.raw, self.options.axes, &mut self.block_returns);
        let near = self.near_corrections.get(bank).and_then(Option::as_ref);
        if self.azimuth_model == AzimuthModel::PerBlock {
            compute(bank_values, raw, |_| (sin, cos), axes, block_returns);
            if let Some(near) = near {
                near.correct(raw, |_| (sin, cos), axes, block_returns);
            }
        } else {
            let FiringAzimuths { sin, cos, .. } = &self.firing_azimuths;
            compute(bank_values, raw, |at| (sin[at], cos[at]), axes, block_returns);
            if let Some(near) = near {
                near.correct(raw, |at| (sin[at], cos[at]), axes, block_returns);
            }
        }
    }

    /// Computes the distances, and the intensities if they are selected.
    #[inline(always)]
    fn measure(&mut self, bank: usize, wants_intensity: bool) {
        let Some(bank_values) = self.banks.get(bank) else { return };
        bank_values.distances(
            &self.raw,
            self.step as f32,
            &mut self.block_returns.distance,
        );
        let (intensities, corrected) =
            (&self.block_returns.intensities, &mut self.block_returns.corrected);
        match self.intensity_corrections.get(bank) {
            _ if !wants_intensity => {}
            Some(Some(bank_values)) => {
                bank_values.correct(&self.raw, intensities, corrected)
            }
            _ => {
                let all = corrected.iter_mut().zip(intensities).take(CHANNELS);
                all.for_each(|(to, intensities)| *to = f32::from(*intensities));
            }
        }
    }

    /// Assigns the firings of a block to `scan`, and those after the scan start to the
    /// next scan. Blocks that are not [near](NEAR_SCAN_START) the scan start have no such firings:
    /// otherwise the rotation rate would be impossible.
    #[inline(always)]
    fn assign_scans(
        &mut self,
        block: usize,
        azimuth: u16,
        rate: RotationRate,
        scan: u32,
    ) {
        let left = f64::from(TURN - angle_between(self.options.scan_start, azimuth));
        let nanos = &self.timing.nanos[block];
        let azimuth_sin_cos = self.timing.azimuth_nanos[block];
        let is_far = left > f64::from(NEAR_SCAN_START);
        let is_before = |nanos: f64| (nanos - azimuth_sin_cos) * rate.exact < left;
        if rate.exact <= 0.0 || is_far || is_before(nanos[CHANNELS - 1]) {
            self.block_returns.scan.same = Some(scan);
            return;
        }
        self.block_returns.scan.same = None;
        for (to, nanos) in self.block_returns.scan.each.iter_mut().zip(nanos) {
            *to = scan + u32::from(!is_before(*nanos));
        }
    }
}

/// Computes the positions of the returns of a bank. `azimuth_sin_cos` returns the sine
/// and cosine of the azimuth of the head for each channel.
#[inline(always)]
fn compute(
    bank: &BankCoefficients,
    raw: &PerChannel<u16>,
    azimuth_sin_cos: impl Fn(usize) -> (f64, f64),
    axes: Axes,
    block_returns: &mut BlockReturns,
) {
    let (ahead, across) = match axes {
        Axes::Ros => (&mut block_returns.x, &mut block_returns.y),
        Axes::Manual => (&mut block_returns.y, &mut block_returns.x),
    };
    // The axis to the right has the opposite sign of the axis to the left.
    let way = if axes == Axes::Ros { -1.0 } else { 1.0 };
    for at in 0..CHANNELS {
        let raw = f64::from(raw[at]);
        let (sin, cos) = azimuth_sin_cos(at);
        let u = raw * bank.a[at] + bank.p[at];
        let w = raw * bank.b[at] + bank.q[at];
        ahead[at] = (u * cos + w * sin) as f32;
        across[at] = (u * (sin * way) - w * (cos * way)) as f32;
        block_returns.z[at] = (raw * bank.c[at] + bank.r[at]) as f32;
    }
}
