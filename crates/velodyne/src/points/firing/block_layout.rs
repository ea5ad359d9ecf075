//! Determines the laser bank and the return of each block of a packet.

use crate::{
    model::{Model, ReturnMode, Sensor},
    packet::{BLOCKS, Bank, CHANNELS, PacketHeaders},
    points::firing::sin_cos_table::TURN,
};

/// The return that a block contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockReturn {
    /// The block with the other return of the same firings, in dual return mode.
    pub(crate) partner: Option<usize>,
    /// Whether the block has the last returns, not the strongest.
    pub(crate) is_last: bool,
}

/// The arrangement of the blocks in the packets of a sensor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockLayout {
    /// The number of laser banks of the sensor.
    bank_count: u16,
    /// The number of blocks with firings. The blocks after them are empty.
    pub(crate) used_blocks: usize,
    /// The return in each block.
    pub(crate) block_returns: [BlockReturn; BLOCKS],
}

impl BlockLayout {
    pub(crate) fn new(sensor: Sensor) -> Self {
        let is_dual = sensor.returns == ReturnMode::Dual;
        let used_blocks = if is_dual && sensor.model.is_vls128() { 8 } else { BLOCKS };
        let block_returns =
            std::array::from_fn(|block| BlockReturn::new(sensor, block));
        let bank_count = sensor.model.lasers().div_ceil(CHANNELS) as u16;
        Self { bank_count, used_blocks, block_returns }
    }

    /// Returns the index of the laser bank of each block of `packet`, and the azimuth of
    /// each block. Returns `None` if the packet is not from this sensor.
    pub(crate) fn parse(
        &self,
        packet: &PacketHeaders,
    ) -> Option<([usize; BLOCKS], [u16; BLOCKS])> {
        let (mut flags, mut azimuths) = (packet.flags, packet.azimuths);
        // Empty blocks get the flag and the azimuth of the last used block.
        let last = self.used_blocks.checked_sub(1)?;
        let (last_flag, last_azimuth) = (*flags.get(last)?, *azimuths.get(last)?);
        flags.iter_mut().skip(self.used_blocks).for_each(|flag| *flag = last_flag);
        azimuths
            .iter_mut()
            .skip(self.used_blocks)
            .for_each(|azimuth| *azimuth = last_azimuth);
        // Process all blocks together, so that no step depends on another block.
        let banks = flags.map(Bank::index_of_flag);
        let is_any = |conditions: [bool; BLOCKS]| {
            conditions.into_iter().fold(false, |any, condition| any | condition)
        };
        if is_any(banks.map(|bank| bank >= self.bank_count))
            || is_any(azimuths.map(|azimuth| azimuth > TURN))
        {
            return None;
        }
        let azimuths =
            azimuths.map(|azimuth| if azimuth == TURN { 0 } else { azimuth });
        Some((banks.map(usize::from), azimuths))
    }
}

impl BlockReturn {
    fn new(sensor: Sensor, block: usize) -> Self {
        if sensor.returns != ReturnMode::Dual {
            let is_last = sensor.returns == ReturnMode::Last;
            return Self { partner: None, is_last };
        }
        // The HDL-64E sends two blocks with the strongest returns, then two with the last
        // ones. The other models send a block with the last returns, then one with the
        // strongest.
        let (distance, is_second) = match sensor.model {
            Model::Hdl64eS1 | Model::Hdl64eS2 | Model::Hdl64eS3 => (2, block % 4 >= 2),
            _ => (1, block % 2 == 1),
        };
        let partner = if is_second { block - distance } else { block + distance };
        let is_last = is_second == sensor.model.is_hdl64e();
        Self { partner: Some(partner), is_last }
    }
}
