//! Packets of a log stream: the contents of LOGGING_DATA and LOGGING_DATA_ACKED.

/// The maximum number of data bytes in a packet.
pub const MAX_DATA_BYTES: usize = 249;

/// The value of `first_message_offset` if no message starts in a packet.
const NO_MESSAGE_STARTS: u8 = 255;

/// A packet of a log stream.
///
/// Source: the MAVLink common message set, messages 266 and 267.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamPacket {
    /// The sequence number, which wraps around after 65535.
    pub(crate) sequence: u16,
    /// The offset in `data` of the first message that starts in this packet.
    pub(crate) first_message: Option<usize>,
    /// At most [`MAX_DATA_BYTES`] bytes of the log.
    pub(crate) data: Vec<u8>,
}

impl StreamPacket {
    /// Creates a packet. `first_message` is the offset in `data` of the first message that starts
    /// in the packet. Returns `None` if the data is too long, or if the offset is not within the
    /// data.
    pub fn new(
        sequence: u16,
        first_message: Option<u8>,
        data: Vec<u8>,
    ) -> Option<Self> {
        let first_message = match first_message.map(usize::from) {
            Some(offset) if offset < data.len() => Some(offset),
            // In a packet without data, the offset has no meaning.
            Some(_) if !data.is_empty() => return None,
            _ => None,
        };
        (data.len() <= MAX_DATA_BYTES).then_some(Self { sequence, first_message, data })
    }

    /// Creates a packet from the fields of a MAVLink message. Returns `None` if the fields
    /// contradict each other.
    pub(crate) fn from_fields(
        sequence: u16,
        length: u8,
        first_message_offset: u8,
        data: &[u8],
    ) -> Option<Self> {
        let first_message =
            (first_message_offset != NO_MESSAGE_STARTS).then_some(first_message_offset);
        Self::new(sequence, first_message, data.get(..length.into())?.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_offsets_outside_of_the_data_are_malformed() {
        let data = [7; MAX_DATA_BYTES];
        assert_eq!(StreamPacket::from_fields(1, 250, 0, &data), None);
        assert_eq!(StreamPacket::from_fields(1, 255, 255, &data), None);
        assert_eq!(StreamPacket::from_fields(1, 10, 10, &data), None);
        assert_eq!(StreamPacket::from_fields(1, 10, 254, &data), None);
        assert_eq!(StreamPacket::new(1, None, vec![0; 250]), None);
    }

    #[test]
    fn offset_of_255_states_that_no_message_starts() {
        let packet = StreamPacket::from_fields(1, 249, 255, &[7; 249]).unwrap();
        assert_eq!((packet.first_message, packet.data.len()), (None, 249));
        let packet = StreamPacket::from_fields(1, 3, 2, &[7; 249]).unwrap();
        assert_eq!((packet.first_message, packet.data), (Some(2), vec![7; 3]));
        let packet = StreamPacket::from_fields(1, 0, 0, &[7; 249]).unwrap();
        assert_eq!((packet.first_message, packet.data.len()), (None, 0));
    }
}
