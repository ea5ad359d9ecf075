//! Lidar models and the differences between their packets.

use std::{fmt, str::FromStr};

use logtool_core::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

/// A lidar model. Models that send the same packets share a variant, e.g. the Puck and the
/// Puck Lite.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(into = "&str", try_from = "String")]
pub enum Model {
    /// The first series of the HDL-64E: no time in its packets, and three upper blocks
    /// for each lower one.
    Hdl64eS1,
    /// HDL-64E S2 and S2.1: sends its calibration in its packets.
    Hdl64eS2,
    /// HDL-64E S3: like the S2, with an optional dual return mode.
    Hdl64eS3,
    /// HDL-32E.
    Hdl32e,
    /// VLP-16 (Puck, Puck Lite).
    Vlp16,
    /// VLP-16 Hi-Res (Puck Hi-Res).
    Vlp16HiRes,
    /// VLP-32A. It has the same product ID as the VLP-32B.
    Vlp32a,
    /// VLP-32B, with the angles of the VLP-32C.
    Vlp32b,
    /// VLP-32C (Ultra Puck).
    Vlp32c,
    /// VLS-128 with firmware before 5.2.3: eight lasers fire every 2.67 us.
    Vls128,
    /// VLS-128 (Alpha Prime) with firmware 5.2.3 or later: eight lasers fire every 2.89 us.
    AlphaPrime,
}

/// The echoes of a firing that a lidar sends.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ReturnMode {
    /// The strongest return.
    Strongest,
    /// The last return.
    Last,
    /// The strongest and the last return, in separate blocks.
    Dual,
}

/// A lidar model and its return mode, which together determine how packets are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sensor {
    /// The model.
    pub model: Model,
    /// The return mode.
    pub returns: ReturnMode,
}

/// The instant of a packet that its timestamp refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampReference {
    /// The first firing.
    FirstFiring,
    /// The end of the last firing cycle (HDL-64E S2 manual, appendix G: the offsets of
    /// the firings are subtracted from the time of the packet).
    End,
}

impl Model {
    /// All models.
    pub const ALL: [Self; 11] = [
        Self::Hdl64eS1,
        Self::Hdl64eS2,
        Self::Hdl64eS3,
        Self::Hdl32e,
        Self::Vlp16,
        Self::Vlp16HiRes,
        Self::Vlp32a,
        Self::Vlp32b,
        Self::Vlp32c,
        Self::Vls128,
        Self::AlphaPrime,
    ];

    /// Returns the name, as printed and as accepted by [`FromStr`].
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hdl64eS1 => "HDL-64E S1",
            Self::Hdl64eS2 => "HDL-64E S2",
            Self::Hdl64eS3 => "HDL-64E S3",
            Self::Hdl32e => "HDL-32E",
            Self::Vlp16 => "VLP-16",
            Self::Vlp16HiRes => "VLP-16 Hi-Res",
            Self::Vlp32a => "VLP-32A",
            Self::Vlp32b => "VLP-32B",
            Self::Vlp32c => "VLP-32C",
            Self::Vls128 => "VLS-128",
            Self::AlphaPrime => "Alpha Prime",
        }
    }

    /// Returns the number of lasers.
    pub const fn lasers(self) -> usize {
        match self {
            Self::Hdl64eS1 | Self::Hdl64eS2 | Self::Hdl64eS3 => 64,
            Self::Vlp16 | Self::Vlp16HiRes => 16,
            Self::Hdl32e | Self::Vlp32a | Self::Vlp32b | Self::Vlp32c => 32,
            Self::Vls128 | Self::AlphaPrime => 128,
        }
    }

    /// Returns whether it is an HDL-64E.
    pub const fn is_hdl64e(self) -> bool {
        matches!(self, Self::Hdl64eS1 | Self::Hdl64eS2 | Self::Hdl64eS3)
    }

    /// Returns whether it is a VLS-128, with either firmware.
    pub const fn is_vls128(self) -> bool {
        matches!(self, Self::Vls128 | Self::AlphaPrime)
    }

    /// Returns whether its packets have a timestamp, which counts from the start of the
    /// hour.
    pub const fn has_timestamps(self) -> bool {
        !matches!(self, Self::Hdl64eS1)
    }

    /// Returns the resolution of its distances in metres.
    pub const fn distance_step_m(self) -> f64 {
        match self {
            Self::Vlp32a
            | Self::Vlp32b
            | Self::Vlp32c
            | Self::Vls128
            | Self::AlphaPrime => 0.004,
            _ => 0.002,
        }
    }

    /// Returns the instant of a packet that its timestamp refers to.
    pub const fn timestamp_reference(self) -> TimestampReference {
        if self.is_hdl64e() {
            TimestampReference::End
        } else {
            TimestampReference::FirstFiring
        }
    }

    /// Returns the product ID, the last byte of its packets. An HDL-64E has none.
    pub const fn product_id(self) -> Option<u8> {
        match self {
            Self::Hdl64eS1 | Self::Hdl64eS2 | Self::Hdl64eS3 => None,
            Self::Hdl32e => Some(0x21),
            Self::Vlp16 => Some(0x22),
            Self::Vlp32a | Self::Vlp32b => Some(0x23),
            Self::Vlp16HiRes => Some(0x24),
            Self::Vlp32c => Some(0x28),
            Self::Vls128 | Self::AlphaPrime => Some(0xa1),
        }
    }
}

impl Sensor {
    /// Returns the nanoseconds between consecutive packets.
    pub const fn packet_nanos(self) -> f64 {
        let is_dual = matches!(self.returns, ReturnMode::Dual);
        let single = match self.model {
            // 12 blocks of 24.81 or 49.62 us: 2600 packets a second.
            Model::Hdl64eS1 => return 384_600.0,
            Model::Hdl64eS2 => return 288_000.0,
            Model::Hdl64eS3 => return if is_dual { 172_800.0 } else { 288_000.0 },
            Model::Hdl32e => 552_960.0,
            Model::Vlp16 | Model::Vlp16HiRes => 1_327_104.0,
            Model::Vlp32a | Model::Vlp32b | Model::Vlp32c => 663_552.0,
            Model::Vls128 => return if is_dual { 53_333.3 } else { 160_000.0 },
            Model::AlphaPrime => return if is_dual { 57_800.0 } else { 173_400.0 },
        };
        if is_dual { single / 2.0 } else { single }
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for ReturnMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Strongest => "strongest return",
            Self::Last => "last return",
            Self::Dual => "dual return",
        })
    }
}

impl fmt::Display for Sensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.model, self.returns)
    }
}

/// Parses a name in any case, with or without spaces and hyphens, e.g. `hdl64es2`.
impl FromStr for Model {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let normalize = |name: &str| -> String {
            let letters = name.chars().filter(|c| c.is_ascii_alphanumeric());
            letters.map(|c| c.to_ascii_lowercase()).collect()
        };
        let name = normalize(text);
        let model = Self::ALL.into_iter().find(|model| normalize(model.name()) == name);
        model.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            let message =
                format!("unknown lidar model {text:?}; known models: {names}");
            Error::new(ErrorKind::NoSuch, message)
        })
    }
}

impl From<Model> for &'static str {
    fn from(model: Model) -> Self {
        model.name()
    }
}

impl TryFrom<String> for Model {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_names_parse_in_any_case_and_without_separators() {
        for model in Model::ALL {
            assert_eq!(model.name().parse::<Model>().unwrap(), model);
            let plain = model.name().to_lowercase().replace([' ', '-'], "");
            assert_eq!(plain.parse::<Model>().unwrap(), model);
        }
        assert!("VLP-17".parse::<Model>().is_err());
    }
}
