//! Messages with the packets of a Velodyne lidar, such as `velodyne_msgs/VelodyneScan`.
//!
//! ```text
//! Header | VelodynePacket[] packets
//!
//! VelodynePacket   time stamp | uint8[1206] data
//! ```
//!
//! Other drivers have types of their own with such packets, for example
//! `velodyne_msgs/VelodyneScanUnified` of Apollo. So messages are recognised by their fields: a
//! list of elements that have an array of 1206 bytes.

use std::{ops::Range, sync::Arc};

use logtool_core::{Layout, LayoutField, LayoutKind};
use serde::{Deserialize, Serialize};

use crate::field_reader::{Encoding, FieldReader};

/// The length of the data of a packet in bytes.
pub(crate) const PACKET_LEN: usize = 1206;

/// The maximum number of elements of an array whose elements have a variable size.
const MAX_ELEMENTS: u32 = 64;

/// The maximum number of steps over the fields before the packets, or in a packet.
const MAX_STEPS: usize = 256;

/// Where the packets are in the messages of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScanLayout {
    /// The fields before the list of packets.
    before: Arc<[Step]>,
    /// The fields of a packet.
    packet: Arc<[Step]>,
    /// The number of fields before the frame id. The frame id is before the packets.
    before_frame_id: Option<usize>,
}

/// Reads the frame id of messages with packets: the name of the coordinate frame of the lidar that
/// sent them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameIdReader {
    encoding: Encoding,
    /// The fields before the frame id.
    before: Vec<Step>,
}

/// A field, or fields, of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Step {
    /// Numbers of this size, which occupy this number of bytes.
    Numbers {
        size: usize,
        bytes: usize,
    },
    /// A list of numbers of this size.
    NumberList {
        size: usize,
    },
    Text,
    /// The length before an array whose elements are not numbers, if the encoding has one.
    Length,
    /// The stamp of a packet.
    Stamp,
    /// The bytes of a packet.
    Packet,
}

/// A packet in a message.
pub(crate) struct ScanPacket {
    /// The time of reception in nanoseconds since 1970, if the packet has a stamp.
    pub(crate) stamp: Option<i64>,
    /// The range of its bytes in the payload.
    pub(crate) bytes: Range<usize>,
}

impl ScanLayout {
    /// Returns the layout of messages of this type, or `None` if they have no packets.
    pub(crate) fn new(message: &Layout) -> Option<Self> {
        let (mut before, mut before_frame_id) = (Vec::new(), None);
        for field in &message.fields {
            if let Some(packet) = packet_steps(field) {
                let (before, packet) = (before.into(), packet.into());
                return Some(Self { before, packet, before_frame_id });
            }
            if before_frame_id.is_none() {
                let steps = steps_before_frame_id(field);
                before_frame_id = steps.map(|steps| before.len() + steps);
            }
            add_steps(field, &mut before)?;
        }
        None
    }

    /// Returns a reader of the frame id, or `None` if the messages have none before the packets.
    pub(crate) fn frame_id_reader(&self, encoding: Encoding) -> Option<FrameIdReader> {
        let before = self.before.get(..self.before_frame_id?)?.to_vec();
        Some(FrameIdReader { encoding, before })
    }

    /// Returns the packets in `payload`, or `None` if it is not a message of this type.
    pub(crate) fn packets(
        &self,
        payload: &[u8],
        encoding: Encoding,
    ) -> Option<Vec<ScanPacket>> {
        let mut reader = FieldReader::new(payload, encoding)?;
        for step in &*self.before {
            step.read(&mut reader)?;
        }
        // Trailing bytes are not counted here: the decoder of the topic of the messages reports
        // them.
        let packets = (0..reader.count()?).map(|_| {
            let (mut stamp, mut bytes) = (None, None);
            for step in &*self.packet {
                match step {
                    Step::Stamp => stamp = Some(reader.stamp()?),
                    Step::Packet => bytes = Some(reader.skip_range(PACKET_LEN)?),
                    step => step.read(&mut reader)?,
                }
            }
            Some(ScanPacket { stamp, bytes: bytes? })
        });
        packets.collect()
    }
}

impl FrameIdReader {
    /// Returns the frame id in the message `payload`, or `None` if it is not a message of the type.
    pub fn frame_id<'b>(&self, payload: &'b [u8]) -> Option<&'b [u8]> {
        let mut reader = FieldReader::new(payload, self.encoding)?;
        for step in &self.before {
            step.read(&mut reader)?;
        }
        reader.text()
    }
}

impl Step {
    /// Skips the field in `reader`.
    fn read(self, reader: &mut FieldReader<'_>) -> Option<()> {
        match self {
            Self::Numbers { size, bytes } => reader.take(size, bytes).map(drop),
            Self::NumberList { size } => reader.numbers(size).map(drop),
            Self::Text => reader.text().map(drop),
            Self::Length => reader.skip_length(),
            Self::Stamp => reader.stamp().map(drop),
            Self::Packet => reader.skip_range(PACKET_LEN).map(drop),
        }
    }
}

/// Returns the fields of a packet, if `field` is a list of packets.
fn packet_steps(field: &LayoutField) -> Option<Vec<Step>> {
    let LayoutKind::List(element) = &field.kind else { return None };
    let (LayoutKind::Nested(packet), None) = (&**element, field.count) else {
        return None;
    };
    let mut steps = Vec::new();
    for field in &packet.fields {
        let is_time =
            matches!(field.kind, LayoutKind::Timestamp | LayoutKind::SignedTimestamp);
        let is_data = matches!(
            field.kind,
            LayoutKind::Primitive(number) if number.size() == 1
        ) && field.count == Some(PACKET_LEN as u32);
        if is_data && !steps.contains(&Step::Packet) {
            steps.push(Step::Packet);
        } else if is_time && field.count.is_none() && !steps.contains(&Step::Stamp) {
            steps.push(Step::Stamp);
        } else {
            add_steps(field, &mut steps)?;
        }
    }
    steps.contains(&Step::Packet).then_some(steps)
}

/// Returns the number of steps in `field` before the frame id, if `field` is the frame id, or the
/// header that contains it.
fn steps_before_frame_id(field: &LayoutField) -> Option<usize> {
    let is_frame_id = |field: &LayoutField| {
        let is_text = matches!(field.kind, LayoutKind::Text) && field.count.is_none();
        is_text && field.name == "frame_id"
    };
    if is_frame_id(field) {
        return Some(0);
    }
    let LayoutKind::Nested(header) = &field.kind else { return None };
    let position = header.fields.iter().position(is_frame_id)?;
    let mut steps = Vec::new();
    for field in &header.fields[..position] {
        add_steps(field, &mut steps)?;
    }
    field.count.is_none().then_some(steps.len())
}

/// Adds the steps of `field` to `steps`. Returns `None` if the field has a kind that is not
/// supported.
fn add_steps(field: &LayoutField, steps: &mut Vec<Step>) -> Option<()> {
    let numbers = |size: usize, count: usize| Some((size, size.checked_mul(count)?));
    let fixed_size = match &field.kind {
        LayoutKind::Primitive(number) => numbers(number.size() as usize, 1)?,
        LayoutKind::Timestamp | LayoutKind::SignedTimestamp | LayoutKind::Duration => {
            numbers(4, 2)?
        }
        _ => (0, 0),
    };
    let count = field.count.unwrap_or(1);
    if let (size @ 1.., bytes) = fixed_size {
        let is_array_of_times = size != bytes && field.count.is_some();
        if is_array_of_times {
            steps.push(Step::Length);
        }
        let bytes = bytes.checked_mul(usize::try_from(count).ok()?)?;
        steps.push(Step::Numbers { size, bytes });
        return Some(());
    }
    if count > MAX_ELEMENTS {
        return None;
    }
    if field.count.is_some() {
        steps.push(Step::Length);
    }
    for _ in 0..count {
        match &field.kind {
            LayoutKind::Text => steps.push(Step::Text),
            LayoutKind::Bytes => steps.push(Step::NumberList { size: 1 }),
            LayoutKind::List(element) => match &**element {
                LayoutKind::Primitive(number) => {
                    steps.push(Step::NumberList { size: number.size() as usize });
                }
                _ => return None,
            },
            // Layouts are nested at most 64 levels deep, so that this may be recursive.
            LayoutKind::Nested(layout) => {
                for field in &layout.fields {
                    add_steps(field, steps)?;
                }
            }
            _ => return None,
        }
        if steps.len() > MAX_STEPS {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests;
