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
    vel::wire::{self, COUNT_LEN, PACKET_LEN, PREFIX_LEN},
};

/// Nanoseconds per second.
const SECOND: i64 = 1_000_000_000;

/// The maximum difference in nanoseconds between the age of a packet by its timestamp and
/// the age by the packet rate. If it is larger, the timestamp is not used.
const MAX_AGE_DIFFERENCE: i64 = SECOND / 2;

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
    let duration = (packets as f64 * lidar.sensor.packet_nanos()) as u64;
    let max_difference = MAX_AGE_DIFFERENCE.unsigned_abs();
    TimeMargin {
        before: before.saturating_add(duration).saturating_add(max_difference),
        after: after.saturating_add(max_difference),
    }
}

/// Returns the packets of a message as records.
///
/// A message is written when its last packet has arrived. The ages of the packets before it
/// follow from the timestamps in the packets, or else from the packet rate of the sensor.
pub(crate) fn packets<'r>(
    sensor: Sensor,
    message: Record<'r>,
) -> impl Iterator<Item = Record<'r>> {
    let data = message.payload.get(PREFIX_LEN..).unwrap_or_default();
    let packets = wire::packets(data);
    let nanos_past_hour = |packet: &[u8; PACKET_LEN]| {
        Firings::new(packet)
            .map_or(0, |firings| i64::from(firings.tail().micros) * 1_000)
    };
    let last_nanos = packets.last().map(nanos_past_hour);
    let start = message.offset + (PREFIX_LEN + COUNT_LEN) as u64;
    packets.iter().enumerate().map(move |(index, packet)| {
        let packets_after = (packets.len() - 1 - index) as f64;
        let expected_age = (packets_after * sensor.packet_nanos()) as i64;
        let stated_age =
            last_nanos.map(|last| (last - nanos_past_hour(packet)).rem_euclid(HOUR));
        let is_plausible = |age: &i64| (age - expected_age).abs() < MAX_AGE_DIFFERENCE;
        let age = stated_age
            .filter(|_| sensor.model.has_timestamps())
            .filter(is_plausible)
            .unwrap_or(expected_age);
        // A message without a time has packets without a time.
        let time = match message.time {
            Timestamp::MAX => Timestamp::MAX,
            time => Timestamp::from_nanos(time.as_nanos().saturating_sub(age)),
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

    /// Returns the payload of a message of packets with these timestamps.
    fn payload(timestamps: &[u32]) -> Vec<u8> {
        let mut payload = vec![0; PREFIX_LEN];
        payload.extend((timestamps.len() as u32).to_le_bytes());
        for timestamp in timestamps {
            let mut packet = [0; PACKET_LEN];
            packet[1_200..1_204].copy_from_slice(&timestamp.to_le_bytes());
            payload.extend(packet);
        }
        payload
    }

    /// Returns the age of each packet when its message was written, in nanoseconds.
    fn ages(model: Model, timestamps: &[u32]) -> Vec<i64> {
        let payload = payload(timestamps);
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
        let timestamps = [3_599_999_900, 188, 476];
        assert_eq!(ages(Model::Hdl64eS2, &timestamps), [576_000, 288_000, 0]);
    }

    #[test]
    fn packet_times_without_a_clock_follow_the_packet_rate() {
        let not_timestamps = [0x6544_204f, 0x3276_0c21, 0x6544_204f];
        assert_eq!(ages(Model::Hdl64eS1, &not_timestamps), [769_200, 384_600, 0]);
        // Timestamps that are too far apart.
        assert_eq!(ages(Model::Hdl64eS2, &[5, 1_999_999_999]), [288_000, 0]);
    }
}
