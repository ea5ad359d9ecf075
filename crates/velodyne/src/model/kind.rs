//! The models of lidar, and in what their packets differ.

use std::{fmt, str::FromStr};

use logtool_core::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

/// A model of lidar, as far as its packets differ.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(into = "&str", try_from = "String")]
pub enum Model {
    /// HDL-64E of the first series: no time in its packets, three upper blocks for
    /// each lower one.
    Hdl64eS1,
    /// HDL-64E S2 and S2.1: its calibration is in its packets.
    Hdl64eS2,
    /// HDL-64E S3: the same, and two returns if wanted.
    Hdl64eS3,
    /// HDL-32E.
    Hdl32e,
    /// VLP-16 (Puck, Puck Lite).
    Vlp16,
    /// VLP-16 Hi-Res (Puck Hi-Res).
    Vlp16HiRes,
    /// VLP-32A, of the same identity byte as the VLP-32B.
    Vlp32a,
    /// VLP-32B, with the angles of the VLP-32C.
    Vlp32b,
    /// VLP-32C (Ultra Puck).
    Vlp32c,
    /// VLS-128 with firmware before 5.2.3: eight lasers fire every 2.67 us.
    Vls128,
    /// VLS-128 (Alpha Prime) with firmware 5.2.3 or later: every 2.89 us.
    AlphaPrime,
}

/// Which of the echoes of a firing are sent.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ReturnMode {
    /// The strongest.
    Strongest,
    /// The last.
    Last,
    /// Both of these, in blocks of their own.
    Dual,
}

/// What it takes to read a stream of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sensor {
    /// Whose packets they are.
    pub model: Model,
    /// What is in them.
    pub returns: ReturnMode,
}

/// The moment of a packet that the time in it, or its arrival, stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The first firing.
    First,
    /// The end of the last firing cycle (HDL-64E S2 manual, appendix G: the offsets of
    /// the firings are subtracted from the time of the packet).
    End,
}

impl Model {
    /// All of them.
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

    /// Its name, as it is printed and as [`FromStr`] takes it.
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

    /// How many lasers it has.
    pub const fn lasers(self) -> usize {
        match self {
            Self::Hdl64eS1 | Self::Hdl64eS2 | Self::Hdl64eS3 => 64,
            Self::Vlp16 | Self::Vlp16HiRes => 16,
            Self::Hdl32e | Self::Vlp32a | Self::Vlp32b | Self::Vlp32c => 32,
            Self::Vls128 | Self::AlphaPrime => 128,
        }
    }

    /// Whether it is an HDL-64E.
    pub const fn is_hdl64e(self) -> bool {
        matches!(self, Self::Hdl64eS1 | Self::Hdl64eS2 | Self::Hdl64eS3)
    }

    /// Whether it is a VLS-128 of either firmware.
    pub const fn is_vls128(self) -> bool {
        matches!(self, Self::Vls128 | Self::AlphaPrime)
    }

    /// Whether its packets tell the time past the hour.
    pub const fn tells_time(self) -> bool {
        !matches!(self, Self::Hdl64eS1)
    }

    /// Metres in one step of its distances.
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

    /// Which moment of a packet its time stands for.
    pub const fn anchor(self) -> Anchor {
        if self.is_hdl64e() { Anchor::End } else { Anchor::First }
    }

    /// The identity byte that its packets end in, where they do.
    pub const fn identity(self) -> Option<u8> {
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
    /// Nanoseconds from one packet to the next.
    pub const fn packet_nanos(self) -> f64 {
        let half = matches!(self.returns, ReturnMode::Dual);
        let single = match self.model {
            // 12 blocks of 24.81 or 49.62 us: 2600 packets a second.
            Model::Hdl64eS1 => return 384_600.0,
            Model::Hdl64eS2 => return 288_000.0,
            Model::Hdl64eS3 => return if half { 172_800.0 } else { 288_000.0 },
            Model::Hdl32e => 552_960.0,
            Model::Vlp16 | Model::Vlp16HiRes => 1_327_104.0,
            Model::Vlp32a | Model::Vlp32b | Model::Vlp32c => 663_552.0,
            Model::Vls128 => return if half { 53_333.3 } else { 160_000.0 },
            Model::AlphaPrime => return if half { 57_800.0 } else { 173_400.0 },
        };
        if half { single / 2.0 } else { single }
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

/// Takes a name in any case, with or without blanks and hyphens: `hdl64es2`.
impl FromStr for Model {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let plain = |text: &str| -> String {
            let letters = text.chars().filter(|c| c.is_ascii_alphanumeric());
            letters.map(|c| c.to_ascii_lowercase()).collect()
        };
        let wanted = plain(text);
        let found = Self::ALL.into_iter().find(|model| plain(model.name()) == wanted);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            let what = format!("no lidar is called {text:?}; known are {names}");
            Error::new(ErrorKind::NoSuch, what)
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
    fn every_model_is_found_by_its_name_however_it_is_written() {
        for model in Model::ALL {
            assert_eq!(model.name().parse::<Model>().unwrap(), model);
            let plain = model.name().to_lowercase().replace([' ', '-'], "");
            assert_eq!(plain.parse::<Model>().unwrap(), model);
        }
        assert!("VLP-17".parse::<Model>().is_err());
    }
}
