//! Decodes packets to points, for all formats.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use logtool_core::{
    Columns, Damage, Decoder, Error, ErrorKind, Record, Result, Run, TimeRange,
    Timestamp,
};

use crate::{
    calibration::Calibration,
    model::Sensor,
    packet::{BLOCKS, CHANNELS, Firings},
    points::{
        block::point_buffer::{PARTIAL_SCANS, PointBuffer},
        options::{PointOptions, TimeSource},
        packet_time::{MAX_PACKET_TIME_NANOS, MIN_PACKET_TIME_NANOS, PacketTime},
        return_modes::ModeDecoders,
        scans::{
            index::{ScanIndex, ScanNumbers},
            tracker::ScanTracker,
        },
    },
};

/// The maximum number of points in a batch: Arrow recommends at most 2^31 - 1 rows. The
/// points of one more packet fit.
const MAX_ROWS: usize = i32::MAX as usize - BLOCKS * CHANNELS;

/// Decodes records that are data packets of 1206 bytes to rows of
/// [points](crate::points::schema).
///
/// Returns without a distance and points outside of the [selected times](Columns::time)
/// are dropped. Records that are not packets of the sensor are reported as damage. A packet
/// that states another return mode than that of the sensor is decoded in the mode that it
/// states, unless [`fixed_returns`](PointOptions::fixed_returns) is set.
#[derive(Clone, Debug)]
pub struct PointDecoder {
    sensor: Sensor,
    time: TimeSource,
    decoders: ModeDecoders,
    scans: ScanNumbers,
    points: PointBuffer,
    /// The schema of the points, with the list of partial scans if it is known.
    schema: SchemaRef,
    /// The selected times of points.
    selected_times: TimeRange,
}

impl PointDecoder {
    /// Creates a decoder for packets of `sensor`. It counts scans from the first packet
    /// on.
    ///
    /// # Errors
    /// `NoSuch` if `columns` has columns that points do not have. `Unsupported` if
    /// `calibration` does not [match the model](Calibration::check_model).
    pub fn new(
        sensor: Sensor,
        calibration: &Calibration,
        options: PointOptions,
        columns: &Columns,
    ) -> Result<Self> {
        calibration.check_model(sensor.model)?;
        let points = PointBuffer::new(columns.indices.as_deref())?;
        Ok(Self {
            sensor,
            time: options.time,
            decoders: ModeDecoders::new(sensor, calibration, options),
            scans: ScanNumbers::Tracked(Box::new(ScanTracker::new(sensor, options))),
            schema: points.schema().clone(),
            points,
            selected_times: columns.time,
        })
    }

    /// Sets the source of the scan numbers. If it is an index, the metadata
    /// [`PARTIAL_SCANS`] of the column `scan` lists the partial scans.
    #[must_use]
    pub fn with_scans(mut self, scans: ScanNumbers) -> Self {
        if let ScanNumbers::Indexed(index) = &scans {
            self.schema = with_partial_scans(&self.schema, index, self.selected_times);
        }
        self.scans = scans;
        self
    }

    /// Appends the points of a packet. Returns false if it is not a packet of this
    /// sensor.
    pub fn add(&mut self, record: Record<'_>) -> bool {
        let Some(packet) = Firings::new(record.payload) else { return false };
        let record_nanos = record.time.as_nanos();
        let headers = packet.headers();
        let micros = headers.tail.micros;
        let nanos = self.time.nanos(self.sensor.model, record_nanos, micros);
        let nanos = nanos.clamp(MIN_PACKET_TIME_NANOS, MAX_PACKET_TIME_NANOS);
        let packet_time = PacketTime { offset: record.offset, record_nanos, nanos };
        let start_row = self.points.rows();
        let decoder = self.decoders.decoder_for(&headers);
        let (points, scans) = (&mut self.points, &mut self.scans);
        let is_packet = decoder.add(points, scans, packet, &headers, packet_time);
        if record.time == Timestamp::MAX {
            // A packet without a time has points without times.
            self.points.discard_times(start_row);
        }
        if self.selected_times != TimeRange::ALL {
            self.points.retain_times(start_row, self.selected_times);
        }
        is_packet
    }
}

impl Decoder for PointDecoder {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        self.points.reserve();
        for record in run.records() {
            if self.points.rows() > MAX_ROWS || !self.add(record) {
                record.undecodable_damage().add_to(damage);
            }
        }
    }

    fn rows(&self) -> usize {
        self.points.rows()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.points.take()?.with_schema(self.schema.clone()).map_err(|err| {
            Error::new(ErrorKind::Malformed, "inconsistent columns").with_source(err)
        })
    }

    fn discard_rows(&mut self) -> Result<()> {
        if !self.points.discard_if_only_times() {
            self.take()?;
        }
        Ok(())
    }
}

/// Returns `schema` with the list of partial scans, among those with points in `range`,
/// in the metadata of the column `scan`.
fn with_partial_scans(
    schema: &Schema,
    scans: &ScanIndex,
    range: TimeRange,
) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| {
        let mut field = Field::clone(field);
        if field.name() == "scan" {
            let partial_scans = scans.partial_scans(range);
            field.metadata_mut().insert(PARTIAL_SCANS.to_owned(), partial_scans);
        }
        field
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array as _, cast::AsArray as _, types::TimestampNanosecondType};
    use logtool_core::{TopicId, View};

    use super::*;
    use crate::model::Model;
    use crate::model::ReturnMode;
    use crate::packet::DATA_BYTES;

    /// Returns a packet of twelve blocks of 32 returns, all with a distance.
    fn packet() -> [u8; DATA_BYTES] {
        let mut packet = [1; DATA_BYTES];
        packet.chunks_exact_mut(100).for_each(|b| b[..2].copy_from_slice(&[255, 238]));
        packet
    }

    fn decoder(indices: Option<Vec<usize>>) -> PointDecoder {
        let sensor = Sensor { model: Model::Vlp16, returns: ReturnMode::Strongest };
        let calibration = Calibration::for_model(sensor.model);
        let columns = Columns { indices, ..Columns::new(View::Nested) };
        let options = PointOptions::default();
        PointDecoder::new(sensor, &calibration, options, &columns).unwrap()
    }

    #[test]
    fn points_of_a_packet_without_time_have_null_times() {
        let packet = packet();
        let mut decoder = decoder(None);
        for time in [Timestamp::from_nanos(1_000_000_000), Timestamp::MAX] {
            let record = Record {
                topic: TopicId(0),
                stream: 0,
                time,
                payload: &packet,
                offset: 0,
            };
            assert!(decoder.add(record));
        }
        let points = decoder.take().unwrap();
        assert_eq!((points.num_rows(), points["time"].null_count()), (768, 384));
        assert!((0..384).all(|row| points["time"].is_valid(row)));
    }

    #[test]
    fn discarded_points_are_not_returned() {
        let packet = packet();
        for indices in [None, Some(Vec::new())] {
            let mut decoder = decoder(indices);
            for nanos in [1_000_000_000, 3_000_000_000] {
                decoder.discard_rows().unwrap();
                assert_eq!(decoder.rows(), 0);
                assert!(decoder.add(Record {
                    topic: TopicId(0),
                    stream: 0,
                    time: Timestamp::from_nanos(nanos),
                    payload: &packet,
                    offset: 0,
                }));
            }
            let points = decoder.take().unwrap();
            assert_eq!(points.num_rows(), 384);
            let times = points["time"].as_primitive::<TimestampNanosecondType>();
            assert!(times.values().iter().all(|time| *time > 2_900_000_000));
        }
    }
}
