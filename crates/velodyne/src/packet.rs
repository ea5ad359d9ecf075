//! Data packets of lidars, and the definitions of data and position packets.

mod data_packet;
pub(crate) mod definition;
mod incomplete;

pub(crate) use crate::packet::data_packet::BLOCK_BYTES;
pub use crate::packet::data_packet::BLOCKS;
pub use crate::packet::data_packet::Bank;
pub use crate::packet::data_packet::CHANNELS;
pub use crate::packet::data_packet::DATA_BYTES;
pub use crate::packet::data_packet::Firings;
pub use crate::packet::data_packet::PacketHeaders;
pub use crate::packet::data_packet::PacketTail;
pub use crate::packet::data_packet::Returns;
pub(crate) use crate::packet::incomplete::complete;
