//! Detects the model of a lidar from the statistics of its packets, with reasons.

use crate::model::{
    evidence::{BankOrder, Evidence},
    kind::{Model, ReturnMode, Sensor},
    returns::describe_mode_changes,
};

/// The status types that only the HDL-64E S2 and S3 send (S3 manual, p. 32).
const STATUS_TYPES: &[u8] = b"HMSDNYGTV1234567W";

/// An HDL-64E is an S2 if at least this many packets contain no status type `W`, a
/// warning. An S3 sends one in each round of 64 packets.
const S2_MIN_PACKETS: u64 = 256;

/// An HDL-64E is an S3 if more than one packet in this number has dual returns.
const S3_PACKETS_PER_DUAL: u64 = 20;

/// The relative tolerances for the time between packets.
const PERIOD_TOLERANCE: f64 = 0.05;
const ONE_BANK_PERIOD_TOLERANCE: f64 = 0.03;

/// The detected lidar and the reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelDetection {
    /// The sensor, if its packets identify it.
    pub sensor: Option<Sensor>,
    /// Other models with the same packets.
    pub alternatives: Vec<Model>,
    /// The reasons for this sensor, one sentence each.
    pub reasons: Vec<String>,
    /// Observations that contradict it, one sentence each.
    pub conflicts: Vec<String>,
    /// A description of the return modes, if they change.
    pub returns_change: Option<String>,
}

impl ModelDetection {
    fn from_evidence(evidence: &Evidence) -> Self {
        let mut detection = Self::default();
        let Some((bank_order, count)) = evidence.bank_order() else {
            detection.add_reason(match evidence.incomplete_packets {
                0 => "there is no data packet of 1206 bytes",
                _ => "the last bytes of all packets are missing",
            });
            return detection;
        };
        let total: u64 = evidence.bank_orders.values().sum();
        if count < total {
            let different = total - count;
            let message = format!(
                "the order of the blocks differs in {different} of {total} packets"
            );
            detection.conflicts.push(message);
        }
        detection.sensor = match bank_order {
            BankOrder::OneInFour => Some(detection.hdl64e_s1(evidence)),
            BankOrder::Alternating => Some(detection.hdl64e_s2_or_s3(evidence)),
            BankOrder::First => detection.sensor_with_one_bank(evidence),
            BankOrder::FourBanks => {
                Some(detection.vls128(evidence, ReturnMode::Strongest))
            }
            BankOrder::FourBanksTwice => {
                Some(detection.vls128(evidence, ReturnMode::Dual))
            }
            BankOrder::Unknown => {
                detection.add_reason("no known lidar sends blocks in this order");
                None
            }
        };
        // An S2 has only one return mode. The few packets whose azimuths look like dual
        // return are disregarded.
        if detection.sensor.is_some_and(|sensor| sensor.model != Model::Hdl64eS2) {
            let packet_counts =
                evidence.modes.iter().filter_map(|(mode, mode_packets)| {
                    Some(((*mode)?, mode_packets.packets))
                });
            detection.returns_change = describe_mode_changes(&packet_counts.collect());
        }
        detection
    }

    fn add_reason(&mut self, reason: impl Into<String>) {
        self.reasons.push(reason.into());
    }

    fn hdl64e_s1(&mut self, evidence: &Evidence) -> Sensor {
        self.add_reason(
            "three upper blocks for each lower one: only the HDL-64E S1 sends that",
        );
        if evidence.has_tail(*b"gC") {
            self.add_reason("packets end in the text of a temperature, `DegC`");
        }
        Sensor { model: Model::Hdl64eS1, returns: ReturnMode::Strongest }
    }

    fn hdl64e_s2_or_s3(&mut self, evidence: &Evidence) -> Sensor {
        self.add_reason("upper and lower blocks alternate: HDL-64E S2 or S3");
        let total: u64 = evidence.tails.values().sum();
        let status_packets =
            evidence.count_status_type(|byte| STATUS_TYPES.contains(&byte));
        self.add_reason(format!(
            "{status_packets} of {total} packets end in a known status type"
        ));
        let warning_packets = evidence.count_status_type(|byte| byte == b'W');
        let dual_packets = evidence
            .modes
            .get(&Some(ReturnMode::Dual))
            .map_or(0, |mode_packets| mode_packets.packets);
        let is_mostly_dual = dual_packets * 2 > total;
        let returns =
            if is_mostly_dual { ReturnMode::Dual } else { ReturnMode::Strongest };
        let model = if dual_packets * S3_PACKETS_PER_DUAL > total {
            let packets = if is_mostly_dual { "" } else { " in some packets" };
            self.add_reason(format!(
                "four blocks have the same azimuth{packets}: dual return, which only the S3 has"
            ));
            Model::Hdl64eS3
        } else if warning_packets > 0 {
            self.add_reason("status type `W`: only the S3 sends warnings");
            Model::Hdl64eS3
        } else if total >= S2_MIN_PACKETS {
            self.add_reason(format!("no status type `W` in {total} packets: S2"));
            Model::Hdl64eS2
        } else {
            self.add_reason(
                "too few packets to distinguish an S2 from an S3 with single return; both are \
                 decoded alike",
            );
            self.alternatives.push(Model::Hdl64eS3);
            Model::Hdl64eS2
        };
        let sensor = Sensor { model, returns };
        self.compare_period(evidence, sensor, PERIOD_TOLERANCE);
        sensor
    }

    fn vls128(&mut self, evidence: &Evidence, default_returns: ReturnMode) -> Sensor {
        self.add_reason("four banks of lasers: only the VLS-128 has four");
        let returns = evidence.returns().unwrap_or(default_returns);
        let sensor = |model| Sensor { model, returns };
        let deviation =
            |model| evidence.deviation(returns, sensor(model).packet_nanos() / 1e3);
        let model = if deviation(Model::AlphaPrime) < deviation(Model::Vls128) {
            Model::AlphaPrime
        } else {
            Model::Vls128
        };
        self.compare_period(evidence, sensor(model), PERIOD_TOLERANCE);
        sensor(model)
    }

    fn sensor_with_one_bank(&mut self, evidence: &Evidence) -> Option<Sensor> {
        self.add_reason("one bank of lasers: HDL-32E, VLP-16 or VLP-32");
        let id = evidence.product_id()?;
        let returns = evidence.returns().unwrap_or(ReturnMode::Strongest);
        let model_by_id =
            Model::ALL.into_iter().find(|model| model.product_id() == Some(id));
        match model_by_id {
            Some(model) => self.add_reason(format!("product ID {id:#04x}: {model}")),
            None => self.add_reason(format!("the product ID {id:#04x} is unknown")),
        }
        let model_by_period = evidence.period(returns).and_then(|period| {
            let has_period = |model: &Model| {
                let sensor = Sensor { model: *model, returns };
                is_period_of(sensor, period, ONE_BANK_PERIOD_TOLERANCE)
            };
            // The other models with one bank have the period of one of these.
            let models = [Model::Hdl32e, Model::Vlp16, Model::Vlp32c];
            Some((models.into_iter().find(has_period)?, period))
        });
        let period_reason =
            |model, period| format!("a packet every {period:.1} us, like the {model}");
        let model = match (model_by_id, model_by_period) {
            (Some(Model::Hdl32e), Some((model, period))) if model != Model::Hdl32e => {
                self.add_reason(period_reason(model, period));
                let message = format!(
                    "the product ID is that of the HDL-32E, the time between packets that of the \
                     {model}; the time decides (a VLP-16 of 2014 has the product ID of the \
                     HDL-32E)"
                );
                self.conflicts.push(message);
                Some(model)
            }
            // The product ID decides: longer intervals may only mean that packets are
            // missing.
            (Some(model), _) => {
                let sensor = Sensor { model, returns };
                self.compare_period(evidence, sensor, ONE_BANK_PERIOD_TOLERANCE);
                Some(model)
            }
            (None, Some((model, period))) => {
                self.add_reason(period_reason(model, period));
                let message = format!(
                    "the product ID {id:#04x} is unknown: it may be another model, or \
                     a lidar of another manufacturer, which is not supported"
                );
                self.conflicts.push(message);
                Some(model)
            }
            (None, None) => None,
        };
        if model == Some(Model::Vlp32a) {
            let message =
                "VLP-32A and VLP-32B have the same product ID; VLP-32A is assumed";
            self.conflicts.push(message.to_owned());
            self.alternatives.push(Model::Vlp32b);
        }
        Some(Sensor { model: model?, returns })
    }

    /// Compares the time between packets with that of `sensor`, with `tolerance` as the
    /// relative tolerance, and adds the result to the reasons or conflicts.
    fn compare_period(&mut self, evidence: &Evidence, sensor: Sensor, tolerance: f64) {
        let Some(period) = evidence.period(sensor.returns) else { return };
        if is_period_of(sensor, period, tolerance) {
            self.add_reason(format!("a packet every {period:.1} us"));
        } else {
            let expected = sensor.packet_nanos() / 1e3;
            let message =
                format!("a packet every {period:.1} us, expected {expected:.1} us");
            self.conflicts.push(message);
        }
    }

    /// Returns whether the packets indicate a different sensor from `sensor`.
    pub fn contradicts(&self, sensor: Sensor) -> bool {
        self.sensor.is_some_and(|detected| {
            let is_possible_model = detected.model == sensor.model
                || self.alternatives.contains(&sensor.model);
            !is_possible_model || detected.returns != sensor.returns
        })
    }
}

/// Returns whether `period`, in microseconds, is the time between packets of `sensor`,
/// with this relative tolerance.
fn is_period_of(sensor: Sensor, period: f64, tolerance: f64) -> bool {
    let expected = sensor.packet_nanos() / 1e3;
    (period - expected).abs() < expected * tolerance
}

impl Evidence {
    /// Returns the lidar that the packets added so far indicate.
    pub fn detect(&self) -> ModelDetection {
        ModelDetection::from_evidence(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::evidence::ModePackets;
    use crate::packet::DATA_BYTES;

    /// Creates packets `period` microseconds apart, with `flags` in turn and the last two
    /// bytes `tail`. The azimuth changes after every `blocks` blocks.
    fn packets(flags: &[u16], blocks: usize, period: u32, tail: [u8; 2]) -> Evidence {
        let mut evidence = Evidence::default();
        for n in 0..400 {
            let mut bytes = vec![0; DATA_BYTES];
            for block in 0..12 {
                let offset = block * 100;
                let azimuth = (n * 12 + block) / blocks * 17 % 36_000;
                let flag = flags[block % flags.len()];
                bytes[offset..][..2].copy_from_slice(&flag.to_le_bytes());
                bytes[offset + 2..][..2]
                    .copy_from_slice(&(azimuth as u16).to_le_bytes());
            }
            bytes[1200..1204].copy_from_slice(&(n as u32 * period).to_le_bytes());
            bytes[1204..].copy_from_slice(&tail);
            evidence.add(&bytes);
        }
        evidence
    }

    #[track_caller]
    fn assert_detects(
        evidence: Evidence,
        model: Model,
        returns: ReturnMode,
        conflicts: usize,
    ) {
        let detection = evidence.detect();
        assert_eq!(detection.sensor, Some(Sensor { model, returns }), "{detection:?}");
        assert_eq!(detection.conflicts.len(), conflicts, "{detection:?}");
    }

    // The flags of consecutive blocks. The upper and lower lasers of an HDL-64E are U and L.
    const UL: &[u16] = &[0xeeff, 0xddff];
    const LUUU: &[u16] = &[0xddff, 0xeeff, 0xeeff, 0xeeff];
    const FOUR: &[u16] = &[0xeeff, 0xddff, 0xccff, 0xbbff];

    #[test]
    fn packets_as_in_the_manuals_identify_each_model() {
        use Model::*;
        use ReturnMode::*;
        assert_detects(packets(LUUU, 1, 0, *b"gC"), Hdl64eS1, Strongest, 0);
        assert_detects(packets(UL, 2, 288, *b"H\x0c"), Hdl64eS2, Strongest, 0);
        assert_detects(packets(UL, 2, 288, *b"W\x00"), Hdl64eS3, Strongest, 0);
        assert_detects(packets(UL, 4, 173, *b"1\x00"), Hdl64eS3, Dual, 0);
        assert_detects(packets(&UL[..1], 1, 553, [0x37, 0x21]), Hdl32e, Strongest, 0);
        assert_detects(packets(&UL[..1], 1, 1327, [0x38, 0x22]), Vlp16, Last, 0);
        assert_detects(packets(&UL[..1], 2, 664, [0x39, 0x24]), Vlp16HiRes, Dual, 0);
        assert_detects(packets(&UL[..1], 1, 664, [0x37, 0x28]), Vlp32c, Strongest, 0);
        assert_detects(packets(FOUR, 4, 160, [0x37, 0xa1]), Vls128, Strongest, 0);
        assert_detects(packets(FOUR, 4, 173, [0x37, 0xa1]), AlphaPrime, Strongest, 0);
    }

    #[test]
    fn vlp_16_with_the_product_id_of_hdl_32e_is_detected_by_its_period() {
        let evidence = packets(&UL[..1], 1, 1327, [0x37, 0x21]);
        assert_detects(evidence, Model::Vlp16, ReturnMode::Strongest, 1);
    }

    /// Creates packets `period` microseconds apart that end in `tail`, without the packets
    /// whose number `is_lost` matches.
    fn packets_with_losses(
        period: f64,
        tail: [u8; 2],
        is_lost: impl Fn(usize) -> bool,
    ) -> Evidence {
        let flags = if tail[1] == 0xa1 { FOUR } else { &UL[..1] };
        let mut evidence = Evidence::default();
        for n in (0..900).filter(|n| !is_lost(*n)) {
            let mut bytes = vec![0; DATA_BYTES];
            for (block, flag) in (0..12).zip(flags.iter().cycle()) {
                bytes[block * 100..][..2].copy_from_slice(&flag.to_le_bytes());
                let azimuth = (n * 12 + block) as u16;
                bytes[block * 100 + 2..][..2].copy_from_slice(&azimuth.to_le_bytes());
            }
            let micros = (n as f64 * period) as u32;
            bytes[1200..1204].copy_from_slice(&micros.to_le_bytes());
            bytes[1204..].copy_from_slice(&tail);
            evidence.add(&bytes);
        }
        evidence
    }

    #[test]
    fn lost_packets_do_not_change_the_model() {
        use {Model::*, ReturnMode::Strongest};
        // Every second packet of a VLP-32C: the interval is that of a VLP-16.
        assert_detects(
            packets_with_losses(663.55, [0x37, 0x28], |n| n % 2 == 1),
            Vlp32c,
            Strongest,
            1,
        );
        for (period, model) in [(160.0, Vls128), (173.4, AlphaPrime)] {
            let tail = [0x37, 0xa1];
            // Without nearly a third of the packets, and without every second one.
            assert_detects(
                packets_with_losses(period, tail, |n| n * 7 % 10 < 3),
                model,
                Strongest,
                0,
            );
            assert_detects(
                packets_with_losses(period, tail, |n| n % 2 == 1),
                model,
                Strongest,
                1,
            );
        }
    }

    #[test]
    fn changing_return_modes_are_reported_and_the_most_frequent_is_used() {
        let mut evidence = packets(&UL[..1], 1, 1327, [0x37, 0x22]);
        for (returns, mode_packets) in packets(&UL[..1], 2, 664, [0x39, 0x22]).modes {
            let packets = mode_packets.packets - 100;
            evidence.modes.insert(returns, ModePackets { packets, ..mode_packets });
        }
        let detection = evidence.detect();
        let change = detection.returns_change.unwrap();
        let counts = "strongest return in 400 packets, dual return in 300 packets";
        assert!(change.contains(counts), "{change}");
        assert_eq!(detection.sensor.unwrap().returns, ReturnMode::Strongest);
        assert!(detection.conflicts.is_empty(), "{:?}", detection.conflicts);
    }

    #[test]
    fn hdl_64e_status_equal_to_a_product_id_is_still_an_hdl_64e() {
        let evidence = packets(UL, 2, 288, [b'1', 0xa1]);
        assert_detects(evidence, Model::Hdl64eS2, ReturnMode::Strongest, 0);
    }

    #[test]
    fn unknown_block_order_identifies_no_lidar() {
        let detection = packets(&[0x1234], 1, 100, [0, 0]).detect();
        assert_eq!(detection.sensor, None);
    }
}
