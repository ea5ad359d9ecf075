//! Who sends packets.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// Who sends packets of one sort, and where to: a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Sender {
    pub(crate) address: IpAddr,
    /// The port that the packets are sent to.
    pub(crate) port: u16,
    /// Whether they are position packets, and not data packets.
    pub(crate) is_position: bool,
}
