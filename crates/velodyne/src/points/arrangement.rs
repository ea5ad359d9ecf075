//! Which lasers and which return each block of a packet is of.

use crate::{
    model::{Model, ReturnMode, Sensor},
    packet::{BLOCKS, Bank, CHANNELS, Outline},
    points::sin_cos_table::TURN,
};

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The block that has the other return of the same firings.
    pub(super) partner: Option<usize>,
    /// Whether it has the last returns, not the strongest.
    pub(super) is_last: bool,
}

/// How the blocks of a sensor's packets are arranged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrangement {
    /// How many banks of lasers it has.
    banks: u16,
    /// How many blocks are in use; those after them are empty.
    pub(super) used: usize,
    /// What each block is.
    pub(super) places: [Place; BLOCKS],
}

impl Arrangement {
    pub(super) fn of(sensor: Sensor) -> Self {
        let is_dual = sensor.returns == ReturnMode::Dual;
        let used = if is_dual && sensor.model.is_vls128() { 8 } else { BLOCKS };
        let places = std::array::from_fn(|block| Place::of(sensor, block));
        let banks = sensor.model.lasers().div_ceil(CHANNELS) as u16;
        Self { banks, used, places }
    }

    /// The index of the bank of each block of `packet`, and its azimuth; nothing if it is
    /// no packet of this sensor.
    pub(super) fn look(
        &self,
        packet: &Outline,
    ) -> Option<([usize; BLOCKS], [u16; BLOCKS])> {
        let (mut flags, mut azimuths) = (packet.flags, packet.azimuths);
        let last = self.used.checked_sub(1)?;
        let (flag, azimuth) = (*flags.get(last)?, *azimuths.get(last)?);
        flags.iter_mut().skip(self.used).for_each(|empty| *empty = flag);
        azimuths.iter_mut().skip(self.used).for_each(|empty| *empty = azimuth);
        // All blocks at once: no step hangs on what another block is.
        let banks = flags.map(Bank::place_of_flag);
        let is_any =
            |is: [bool; BLOCKS]| is.into_iter().fold(false, |any, is| any | is);
        if is_any(banks.map(|bank| bank >= self.banks))
            || is_any(azimuths.map(|azimuth| azimuth > TURN))
        {
            return None;
        }
        let azimuths =
            azimuths.map(|azimuth| if azimuth == TURN { 0 } else { azimuth });
        Some((banks.map(usize::from), azimuths))
    }
}

impl Place {
    fn of(sensor: Sensor, block: usize) -> Self {
        if sensor.returns != ReturnMode::Dual {
            let is_last = sensor.returns == ReturnMode::Last;
            return Self { partner: None, is_last };
        }
        // The HDL-64E sends a pair of blocks of the strongest, then one of the last; the
        // others a block of the last, then one of the strongest.
        let (step, is_second) = match sensor.model {
            Model::Hdl64eS1 | Model::Hdl64eS2 | Model::Hdl64eS3 => (2, block % 4 >= 2),
            _ => (1, block % 2 == 1),
        };
        let partner = if is_second { block - step } else { block + step };
        let is_last = is_second == sensor.model.is_hdl64e();
        Self { partner: Some(partner), is_last }
    }
}
