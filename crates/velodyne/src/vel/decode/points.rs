//! Decodes the packets of a message to points.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{Damage, Decoder, Record, Result, Run, TimeMargin, Timestamp};

use crate::{
    hour::HOUR,
    lidar::Lidar,
    model::Sensor,
    packet::Firings,
    points::PointDecoder,
    vel::wire::{self, PACKET_LEN, PREFIX_LEN},
};

/// Nanoseconds per second.
const SECOND: i64 = 1_000_000_000;

/// A packet time that differs more from the expected one, in nanoseconds, is not used.
const MOST_OFF: i64 = SECOND / 2;

/// Decodes messages of packets to rows of points.
pub(crate) struct VelPoints {
    sensor: Sensor,
    inner: PointDecoder,
}

impl VelPoints {
    /// Creates a decoder of the messages of `sensor` from a decoder of its packets.
    pub(crate) fn new(sensor: Sensor, inner: PointDecoder) -> Self {
        Self { sensor, inner }
    }
}

impl Decoder for VelPoints {
    fn schema(&self) -> &SchemaRef {
        self.inner.schema()
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records() {
            for packet in packets(self.sensor, record) {
                if !self.inner.add(packet) {
                    packet.undecodable_damage().add_to(damage);
                }
            }
        }
    }

    fn rows(&self) -> usize {
        self.inner.rows()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.inner.take()
    }

    fn discard_rows(&mut self) -> Result<()> {
        self.inner.discard_rows()
    }
}

/// Returns the maximum distance between the time of a message of up to `packets` packets
/// and the times of its points.
pub(crate) fn time_margin(lidar: &Lidar, packets: u64) -> TimeMargin {
    let TimeMargin { before, after } = lidar.time_margin();
    let earlier = (packets as f64 * lidar.sensor.packet_nanos()) as u64;
    let earlier = earlier.saturating_add(MOST_OFF.unsigned_abs());
    TimeMargin {
        before: before.saturating_add(earlier),
        after: after + MOST_OFF.unsigned_abs(),
    }
}

/// Returns the packets of a message as records.
///
/// A message is written when its last packet has arrived. The times of the packets before
/// it follow from the timestamps in the packets, or else from the packet rate of the
/// sensor.
pub(crate) fn packets<'r>(
    sensor: Sensor,
    message: Record<'r>,
) -> impl Iterator<Item = Record<'r>> {
    let data = message.payload.get(PREFIX_LEN..).unwrap_or_default();
    let packets = wire::packets(data);
    let stamp = |packet: &[u8; PACKET_LEN]| {
        Firings::new(packet)
            .map_or(0, |firings| i64::from(firings.tail().micros) * 1_000)
    };
    let last = packets.last().map(stamp);
    let start = message.offset + (PREFIX_LEN + 4) as u64;
    packets.iter().enumerate().map(move |(index, packet)| {
        let packets_after = (packets.len() - 1 - index) as f64;
        let expected = (packets_after * sensor.packet_nanos()) as i64;
        let description = last.map(|last| (last - stamp(packet)).rem_euclid(HOUR));
        let is_clock = |description: &i64| (description - expected).abs() < MOST_OFF;
        let description =
            description.filter(|_| sensor.model.has_timestamps()).filter(is_clock);
        let early = description.unwrap_or(expected);
        // A message without a time has packets without a time.
        let time = match message.time {
            Timestamp::MAX => Timestamp::MAX,
            time => Timestamp::from_nanos(time.as_nanos().saturating_sub(early)),
        };
        Record {
            time,
            payload: packet,
            offset: start + (index * PACKET_LEN) as u64,
            ..message
        }
    })
}

#[cfg(test)]
mod tests {
    use logtool_core::TopicId;

    use super::*;
    use crate::model::Model;
    use crate::model::ReturnMode;

    fn message(stamps: &[u32]) -> Vec<u8> {
        let mut payload = vec![0; PREFIX_LEN];
        payload.extend((stamps.len() as u32).to_le_bytes());
        for stamp in stamps {
            let mut packet = [0; PACKET_LEN];
            packet[1_200..1_204].copy_from_slice(&stamp.to_le_bytes());
            payload.extend(packet);
        }
        payload
    }

    fn early(model: Model, stamps: &[u32]) -> Vec<i64> {
        let payload = message(stamps);
        let sensor = Sensor { model, returns: ReturnMode::Strongest };
        let record = Record {
            topic: TopicId(0),
            stream: 0,
            time: Timestamp::from_nanos(10 * SECOND),
            payload: &payload,
            offset: 1_000,
        };
        let records: Vec<Record<'_>> = packets(sensor, record).collect();
        assert_eq!(records[0].offset, 1_021);
        assert!(records.iter().all(|packet| packet.payload.len() == PACKET_LEN));
        records.iter().map(|packet| 10 * SECOND - packet.time.as_nanos()).collect()
    }

    #[test]
    fn packet_times_follow_their_timestamps_across_the_hour() {
        let stamps = [3_599_999_900, 188, 476];
        assert_eq!(early(Model::Hdl64eS2, &stamps), [576_000, 288_000, 0]);
    }

    #[test]
    fn packet_times_without_a_clock_follow_the_packet_rate() {
        let text = [0x6544_204f, 0x3276_0c21, 0x6544_204f];
        assert_eq!(early(Model::Hdl64eS1, &text), [769_200, 384_600, 0]);
        // Values that no clock would state.
        assert_eq!(early(Model::Hdl64eS2, &[5, 1_999_999_999]), [288_000, 0]);
    }
}
