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
            laser_bank::{
                BankCoefficients, PaddedPerChannel, PerChannel, bank_coefficients,
            },
            near_corrections::NearCorrections,
            point_buffer::{BOTH, BlockReturns, LAST, PointBuffer, STRONGEST},
        },
        firing::{
            block_layout::{BlockLayout, BlockReturn},
            sin_cos_table::{SinCosTable, TURN},
            timing::{Timing, angle_between},
        },
        options::{Axes, Formula, PointOptions},
        packet_time::{PacketTime, add_delay},
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
    /// The resolution of distances in metres.
    step: f64,
    layout: BlockLayout,
    timing: Timing,
    /// The nanoseconds from the time of the packet to each firing.
    time_offsets: [PaddedPerChannel<i64>; BLOCKS],
    banks: Vec<BankCoefficients>,
    intensity_corrections: Vec<Option<IntensityCorrection>>,
    near_corrections: Vec<Option<NearCorrections>>,
    azimuth_model: AzimuthModel,
    azimuth_steps: Option<AzimuthSteps>,
    sin_cos_table: SinCosTable,
    firing_azimuths: FiringAzimuths,
    /// The raw distances of the current block.
    raw: PerChannel<u16>,
    block_returns: BlockReturns,
    /// The first azimuth and the rotation rate of the previous packet, which
    /// velodyne_decoder uses for the VLS-128.
    previous_packet: Option<(u16, f64)>,
}

/// A call of [`PacketDecoder::add_packet`] that is compiled for the instruction set of
/// `simd`.
#[cfg(target_arch = "x86_64")]
struct DecodeCall<'u, 'b, P> {
    simd: P,
    decoder: &'u mut PacketDecoder,
    points: &'u mut PointBuffer,
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
        let Self { simd, decoder, points, scans, packet, headers, packet_time } = self;
        decoder.add_packet(simd, points, scans, packet, headers, packet_time)
    }
}

impl PacketDecoder {
    pub(super) fn new(
        sensor: Sensor,
        calibration: &Calibration,
        options: PointOptions,
    ) -> Self {
        let (model, formula) = (sensor.model, options.formula);
        let banks = bank_coefficients(model, calibration, formula);
        let step = calibration.distance_step_m.unwrap_or(model.distance_step_m());
        let first_lasers = (0..banks.len()).map(|bank| bank * CHANNELS);
        let mut decoder = Self {
            #[cfg(target_arch = "x86_64")]
            avx2: pulp::x86::V3::try_new(),
            sensor,
            options,
            step,
            layout: BlockLayout::new(sensor),
            timing: Timing::new(sensor),
            time_offsets: [[0; 2 * CHANNELS]; BLOCKS],
            intensity_corrections: first_lasers
                .map(|first| IntensityCorrection::new(calibration, first, formula))
                .collect(),
            near_corrections: banks
                .iter()
                .map(|bank| NearCorrections::new(bank, formula, step))
                .collect(),
            banks,
            azimuth_model: AzimuthModel::for_formula(sensor, formula),
            azimuth_steps: AzimuthSteps::new(sensor, formula),
            sin_cos_table: SinCosTable::new(),
            firing_azimuths: FiringAzimuths::new(),
            raw: [0; CHANNELS],
            block_returns: BlockReturns::new(),
            previous_packet: None,
        };
        decoder.update_time_offsets();
        decoder
    }

    /// Returns the sensor whose packets are decoded.
    pub(super) fn sensor(&self) -> Sensor {
        self.sensor
    }

    /// Appends the points of `packet`, whose headers are `headers`, to `points`. Returns
    /// false if it is not a packet of this sensor.
    ///
    /// The code is compiled twice, for any processor and for processors with AVX2, and
    /// selected at run time. Both compute identical results, because the compiler never
    /// fuses a multiplication and an addition.
    pub(super) fn add(
        &mut self,
        points: &mut PointBuffer,
        scans: &mut ScanNumbers,
        packet: Firings<'_>,
        headers: &PacketHeaders,
        packet_time: PacketTime,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = self.avx2 {
            return avx2.vectorize(DecodeCall {
                simd: avx2,
                decoder: self,
                points,
                scans,
                packet,
                headers,
                packet_time,
            });
        }
        self.add_packet(
            PortableDeinterleave,
            points,
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
        points: &mut PointBuffer,
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
            self.update_time_offsets();
        }
        let timestamps = PacketTimestamps {
            nanos: packet_time.record_nanos,
            micros: headers.tail.micros,
        };
        let azimuth_nanos = &self.timing.azimuth_nanos;
        let packet_scans = scans.next(
            self.sensor,
            &azimuths,
            azimuth_nanos,
            packet_time.offset,
            timestamps,
        );
        let mut scan = packet_scans.first;
        let rotation = self.rotation(&azimuths, packet_scans.rotation_rate);
        let measured_rate = if packet_scans.rotation_rate > 0.0 {
            packet_scans.rotation_rate
        } else {
            packet_scans.rate
        };
        let rate = self.rate(&azimuths, measured_rate, rotation.as_ref());
        if self.azimuth_model == AzimuthModel::Exact {
            self.firing_azimuths.set_rate(rate, &self.timing);
        }
        if let Some(azimuth_steps) = &mut self.azimuth_steps {
            azimuth_steps.follow(&azimuths);
        }
        let returns = packet.returns();
        // Look up all azimuths together, so that memory latency occurs only once.
        let block_sin_cos = azimuths.map(|azimuth| self.sin_cos_table.sin_cos(azimuth));
        for block in 0..self.layout.used_blocks {
            scan = scan.saturating_add(u32::from(packet_scans.begins[block]));
            let block_return = self.layout.block_returns[block];
            let partner_returns =
                block_return.partner.and_then(|partner| returns.get(partner)).copied();
            self.select_returns(simd, returns[block], partner_returns, block_return);
            if self.block_returns.return_mask == 0 {
                continue;
            }
            let azimuth = azimuths[block];
            if self.azimuth_model == AzimuthModel::PerBlock {
                self.block_returns.azimuth_deg.common =
                    Some(f32::from(azimuth) / 100.0);
            } else if let Some(azimuth_steps) = &self.azimuth_steps {
                self.firing_azimuths.set_stepped(
                    self.sin_cos_table,
                    azimuth_steps,
                    block,
                    &mut self.block_returns.azimuth_deg.per_channel,
                );
            } else {
                self.firing_azimuths.set_rotating(
                    self.azimuth_model,
                    self.sin_cos_table,
                    azimuth,
                    rate,
                    &self.timing,
                    block,
                    &mut self.block_returns.azimuth_deg.per_channel,
                );
            }
            if points.has_coordinates() {
                self.compute_positions(banks[block], block_sin_cos[block]);
            }
            self.compute_distances(banks[block]);
            if points.has_calibrated_intensity() {
                self.calibrate_intensities(banks[block]);
            }
            // Up to here, `scan` counts from 1.
            self.assign_scans(block, azimuth, rate, scan.saturating_sub(1));
            if let Some(bank) = self.banks.get(banks[block]) {
                let nanos = match &rotation {
                    Some(rotation) => {
                        add_delay(packet_time.nanos, rotation.delays[block])
                    }
                    None => packet_time.nanos,
                };
                let time_offsets = &self.time_offsets[block];
                points.add(bank, &self.block_returns, nanos, time_offsets);
            }
        }
        true
    }

    fn update_time_offsets(&mut self) {
        let first_firing = self.timing.first_firing;
        let rows = self.time_offsets.iter_mut().zip(&self.timing.firing_nanos);
        for (offsets, firing_nanos) in rows {
            for (offset, nanos) in offsets.iter_mut().zip(firing_nanos) {
                *offset = (first_firing + nanos).round() as i64;
            }
        }
    }

    /// Returns the rotation of the head in a packet whose azimuth jumps, e.g. over a blanked
    /// sector. The delays of its blocks are relative to the time of the packet.
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
            rotation.anchor_at_last_block();
        }
        Some(rotation)
    }

    /// Returns the rotation rate during a packet. `measured_rate` is the rate of the last
    /// packets or of the last rotation.
    fn rate(
        &mut self,
        azimuths: &[u16; BLOCKS],
        measured_rate: f64,
        rotation: Option<&PacketRotation>,
    ) -> RotationRate {
        let model = self.sensor.model;
        if !model.is_vls128() {
            return match rotation {
                Some(rotation) => RotationRate::from_nanos(rotation.rate),
                None => RotationRate::rate_in_packet(&self.timing, azimuths, model),
            };
        }
        if self.options.formula != Formula::VelodyneDecoder {
            return RotationRate::from_nanos(measured_rate);
        }
        // velodyne_decoder uses the rate since the previous packet, unless a packet seems to
        // be missing between them.
        let azimuth = azimuths[0];
        let (current_rate, previous_rate) = match self.previous_packet {
            Some((previous_azimuth, previous_rate)) => {
                let turned = f64::from(angle_between(previous_azimuth, azimuth));
                (turned / self.sensor.packet_nanos(), previous_rate)
            }
            None => (0.0, 0.0),
        };
        let seems_lost = previous_rate > 0.0 && current_rate > previous_rate * 1.8;
        let rate = if seems_lost { previous_rate } else { current_rate };
        self.previous_packet = Some((azimuth, rate));
        RotationRate::from_nanos(rate)
    }

    /// Separates the returns of a block and determines their types. If both returns of a
    /// firing are the same, only the one in the block with the strongest returns is used.
    #[inline(always)]
    fn select_returns(
        &mut self,
        simd: impl Deinterleave,
        returns: Returns<'_>,
        partner_returns: Option<Returns<'_>>,
        block_return: BlockReturn,
    ) {
        let block_returns = &mut self.block_returns;
        block_returns.return_mask =
            simd.deinterleave(returns, &mut self.raw, &mut block_returns.intensity);
        block_returns.return_type.common =
            Some(if block_return.is_last { LAST } else { STRONGEST });
        if let Some(partner_returns) = partner_returns {
            self.select_dual_returns(returns, partner_returns, block_return.is_last);
        }
    }

    /// Determines the types of the returns of a block in dual return mode, and drops those
    /// that equal the strongest return.
    fn select_dual_returns(
        &mut self,
        returns: Returns<'_>,
        partner_returns: Returns<'_>,
        is_last: bool,
    ) {
        let ignores_intensity = self.options.formula == Formula::VelodyneDecoder;
        let block_returns = &mut self.block_returns;
        block_returns.return_type.common = None;
        let pairs =
            returns.as_chunks::<3>().0.iter().zip(partner_returns.as_chunks::<3>().0);
        for ((channel, (this, partner)), return_type) in
            (0_u32..).zip(pairs).zip(&mut block_returns.return_type.per_channel)
        {
            let is_same = this[..2] == partner[..2]
                && (ignores_intensity || this[2] == partner[2]);
            *return_type = match (is_same, is_last) {
                (true, _) => BOTH,
                (false, true) => LAST,
                (false, false) => STRONGEST,
            };
            let is_dropped = u32::from(is_same && is_last);
            block_returns.return_mask &= !(is_dropped << (channel % 32));
        }
    }

    /// Computes the positions of the returns of a bank. `(sin, cos)` are those of the azimuth
    /// of the block.
    #[inline(always)]
    fn compute_positions(&mut self, bank: usize, (sin, cos): (f64, f64)) {
        let Some(coefficients) = self.banks.get(bank) else { return };
        let (raw, axes, block_returns) =
            (&self.raw, self.options.axes, &mut self.block_returns);
        let near = self.near_corrections.get(bank).and_then(Option::as_ref);
        if self.azimuth_model == AzimuthModel::PerBlock {
            positions(coefficients, raw, |_| (sin, cos), axes, block_returns);
            if let Some(near) = near {
                near.correct(raw, |_| (sin, cos), axes, block_returns);
            }
        } else {
            let FiringAzimuths { sin, cos, .. } = &self.firing_azimuths;
            positions(coefficients, raw, |i| (sin[i], cos[i]), axes, block_returns);
            if let Some(near) = near {
                near.correct(raw, |i| (sin[i], cos[i]), axes, block_returns);
            }
        }
    }

    #[inline(always)]
    fn compute_distances(&mut self, bank: usize) {
        let Some(coefficients) = self.banks.get(bank) else { return };
        let distances = &mut self.block_returns.distance;
        coefficients.distances(&self.raw, self.step as f32, distances);
    }

    #[inline(always)]
    fn calibrate_intensities(&mut self, bank: usize) {
        let BlockReturns { intensity, calibrated_intensity, .. } =
            &mut self.block_returns;
        match self.intensity_corrections.get(bank) {
            Some(Some(correction)) => {
                correction.correct(&self.raw, intensity, calibrated_intensity)
            }
            _ => {
                let pairs = calibrated_intensity.iter_mut().zip(intensity);
                let pairs = pairs.take(CHANNELS);
                pairs.for_each(|(calibrated, sent)| *calibrated = f32::from(*sent));
            }
        }
    }

    /// Assigns the firings of a block to `scan`, and those after the scan start to the
    /// next scan. Blocks that are not [near](NEAR_SCAN_START) the scan start have no such
    /// firings: otherwise the rotation rate would be impossible.
    #[inline(always)]
    fn assign_scans(
        &mut self,
        block: usize,
        azimuth: u16,
        rate: RotationRate,
        scan: u32,
    ) {
        let angle_to_start =
            f64::from(TURN - angle_between(self.options.scan_start, azimuth));
        let firing_nanos = &self.timing.firing_nanos[block];
        let azimuth_nanos = self.timing.azimuth_nanos[block];
        let is_far = angle_to_start > f64::from(NEAR_SCAN_START);
        let is_before =
            |nanos: f64| (nanos - azimuth_nanos) * rate.exact < angle_to_start;
        if rate.exact <= 0.0 || is_far || is_before(firing_nanos[CHANNELS - 1]) {
            self.block_returns.scan.common = Some(scan);
            return;
        }
        self.block_returns.scan.common = None;
        let firings = self.block_returns.scan.per_channel.iter_mut().zip(firing_nanos);
        for (firing_scan, nanos) in firings {
            *firing_scan = scan.saturating_add(u32::from(!is_before(*nanos)));
        }
    }
}

/// Computes the positions of the returns of a bank. `azimuth_sin_cos` returns the sine
/// and cosine of the azimuth of the head for each channel.
#[inline(always)]
fn positions(
    bank: &BankCoefficients,
    raw: &PerChannel<u16>,
    azimuth_sin_cos: impl Fn(usize) -> (f64, f64),
    axes: Axes,
    block_returns: &mut BlockReturns,
) {
    let (forward, sideways) = match axes {
        Axes::Ros => (&mut block_returns.x, &mut block_returns.y),
        Axes::Manual => (&mut block_returns.y, &mut block_returns.x),
    };
    // The axis to the left has the opposite sign of the axis to the right.
    let sideways_sign = if axes == Axes::Ros { -1.0 } else { 1.0 };
    for i in 0..CHANNELS {
        let raw = f64::from(raw[i]);
        let (sin, cos) = azimuth_sin_cos(i);
        let u = raw * bank.a[i] + bank.p[i];
        let w = raw * bank.b[i] + bank.q[i];
        forward[i] = (u * cos + w * sin) as f32;
        sideways[i] = (u * (sin * sideways_sign) - w * (cos * sideways_sign)) as f32;
        block_returns.z[i] = (raw * bank.c[i] + bank.r[i]) as f32;
    }
}
