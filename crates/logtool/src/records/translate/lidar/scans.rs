//! Translates points: one cloud for each scan.
//!
//! The first fields are those of ROS's own driver. Points have the order of the packets. The
//! stamp of a cloud is the time of its first point; the message has the time of its last point.
//! So both are on one clock, and a message is in the selected time range if its points are.
//! (ROS's driver sends it when the packet of that point has arrived, at most 1.3 ms later.)

use std::{ops::Range, sync::Arc};

use arrow_array::{
    Array as _, RecordBatch,
    cast::AsArray as _,
    types::{Float32Type, TimestampNanosecondType, UInt8Type, UInt32Type},
};
use logtool_core::{
    Columns, Decoder, Log, MessageBuffer, Run, TimeRange, Timestamp, Topic, TopicId,
    Translate, Translation, View,
};

use crate::{
    error::Result,
    records::translate::lidar::{
        kind::LidarMessageKind,
        message::{Cloud, LidarMessageType},
    },
};

/// The size of a point in bytes, and the offsets of its times.
const STEP: usize = 40;
const TIMES: std::ops::Range<usize> = 18..26;

/// The maximum number of points and the maximum duration of a message, for a head that does not
/// rotate.
const MAX_POINTS: usize = 1 << 21;
const MAX_NANOS: i64 = 4_000_000_000;

/// The maximum number of scans that are open at the same time: lasers that point to the left
/// pass the start azimuth before others.
const MAX_OPEN_SCANS: usize = 2;

/// Translates the points `id` of `log` in the range `time` to clouds in this frame, with
/// `offset_nanos` added to their times. Only scans with these `numbers` become clouds.
pub(super) fn scans(
    log: &Arc<dyn Log>,
    id: TopicId,
    (topic, frame): (&Topic, String),
    (time, numbers): (TimeRange, Range<u32>),
    offset_nanos: i64,
    kind: LidarMessageKind,
) -> Result<Translation> {
    let topic_info = kind.topic(topic, "", LidarMessageType::Cloud)?;
    let log = log.clone();
    let new_translator = Arc::new(move || {
        let columns = Columns { time, ..Columns::new(View::Flat) };
        let decoder = log.decoder(id, &columns)?;
        let (frame, restrict_to) = (frame.clone(), numbers.clone());
        let (open, unused_scans) = (Vec::new(), Vec::new());
        let translator: Box<dyn Translate> = Box::new(PendingScans {
            decoder,
            frame,
            offset_nanos,
            kind,
            restrict_to,
            open,
            unused_scans,
        });
        Ok(translator)
    });
    Ok(Translation { source_topic: id, topic: topic_info, new_translator })
}

/// The scans that are not complete.
struct PendingScans {
    decoder: Box<dyn Decoder>,
    frame: String,
    offset_nanos: i64,
    kind: LidarMessageKind,
    /// The numbers of the scans that are selected.
    restrict_to: Range<u32>,
    /// The incomplete scans, the oldest first.
    open: Vec<Scan>,
    /// Finished scans, whose buffers are reused.
    unused_scans: Vec<Scan>,
}

/// A scan.
#[derive(Default)]
struct Scan {
    number: u32,
    /// The time of the last record that contributed to it, for points without times.
    recorded: Timestamp,
    /// The points without their times.
    points: Vec<u8>,
    /// Their times.
    times: Vec<Option<i64>>,
}

impl Translate for PendingScans {
    fn restrict_to(&mut self, groups: Range<u32>) {
        self.restrict_to = groups;
    }

    fn translate(
        &mut self,
        run: Run<'_>,
        messages: &mut MessageBuffer,
    ) -> logtool_core::Result<()> {
        let mut damage = Vec::new();
        for (record, (run, time)) in
            run.single_record_runs().zip(run.times()).enumerate()
        {
            self.decoder.append(run, &mut damage);
            let batch = self.decoder.take()?;
            self.add(&batch, record, time, messages);
        }
        damage.into_iter().for_each(|damage| messages.discard(damage));
        Ok(())
    }

    fn finish(&mut self, messages: &mut MessageBuffer) -> logtool_core::Result<()> {
        while !self.open.is_empty() {
            self.close(0, 0, messages);
        }
        Ok(())
    }
}

impl PendingScans {
    /// Adds the points in `batch`, which is the record at index `record` with the time `time`.
    fn add(
        &mut self,
        batch: &RecordBatch,
        record: usize,
        time: Timestamp,
        messages: &mut MessageBuffer,
    ) {
        let Some(columns) = PointColumns::from_batch(batch) else { return };
        for row in 0..batch.num_rows() {
            let number = columns.scan.value(row);
            if !self.restrict_to.contains(&number) {
                continue;
            }
            let nanos = columns.time.is_valid(row).then(|| columns.time.value(row));
            let open_index = self.open.iter().position(|scan| scan.number == number);
            let position = match open_index {
                Some(index)
                    if self.open.get(index).is_some_and(|scan| scan.is_full(nanos)) =>
                {
                    self.close(index, record, messages);
                    None
                }
                open_index => open_index,
            };
            let index = position.unwrap_or_else(|| {
                if self.open.len() >= MAX_OPEN_SCANS {
                    self.close(0, record, messages);
                }
                let mut scan = self.unused_scans.pop().unwrap_or_default();
                scan.restart(number);
                self.open.push(scan);
                self.open.len() - 1
            });
            if let Some(scan) = self.open.get_mut(index) {
                scan.recorded = time;
                scan.times.push(nanos);
                columns.append(row, &mut scan.points);
            }
        }
    }

    /// Ends the scan at index `index`, at the record with the index `record`.
    fn close(&mut self, index: usize, record: usize, messages: &mut MessageBuffer) {
        let mut scan = self.open.remove(index);
        let last = scan.times.iter().flatten().max().copied();
        let last = last.map_or(scan.recorded, Timestamp::from_nanos);
        let nanos = scan.finish();
        let cloud = Cloud {
            number: scan.number,
            nanos: nanos.saturating_add(self.offset_nanos),
            frame: &self.frame,
            step: STEP as u32,
            points: &scan.points,
        };
        self.kind.encode_cloud(&cloud, messages.buffer());
        messages.end_message_at(record, last);
        self.unused_scans.push(scan);
    }
}

impl Scan {
    /// Resets the scan to the empty scan `number`.
    fn restart(&mut self, number: u32) {
        self.number = number;
        self.points.clear();
        self.times.clear();
    }

    /// Returns whether a point at the time `nanos` needs a new message.
    fn is_full(&self, nanos: Option<i64>) -> bool {
        let first = self.times.first().copied().flatten();
        let elapsed =
            nanos.zip(first).map(|(nanos, first)| nanos.saturating_sub(first));
        self.times.len() >= MAX_POINTS
            || elapsed.is_some_and(|elapsed| elapsed.saturating_abs() > MAX_NANOS)
    }

    /// Writes the times of the points into them, and returns the time of the first.
    fn finish(&mut self) -> i64 {
        let Self { points, times, .. } = self;
        let first = times.iter().flatten().min().copied().unwrap_or_default();
        for (point, time) in points.chunks_exact_mut(STEP).zip(&*times) {
            let elapsed = time.map(|time| time.saturating_sub(first));
            let seconds =
                elapsed.map_or(f32::NAN, |elapsed| (elapsed as f64 / 1e9) as f32);
            let nanos = elapsed.and_then(|elapsed| u32::try_from(elapsed).ok());
            let nanos = nanos.unwrap_or(u32::MAX).to_le_bytes();
            let times = seconds.to_le_bytes().into_iter().chain(nanos);
            let stored_time = point.get_mut(TIMES).unwrap_or_default();
            stored_time
                .iter_mut()
                .zip(times)
                .for_each(|(stored_time, byte)| *stored_time = byte);
        }
        first
    }
}

/// The columns of points.
struct PointColumns<'b> {
    time: &'b arrow_array::PrimitiveArray<TimestampNanosecondType>,
    scan: &'b arrow_array::PrimitiveArray<UInt32Type>,
    /// `x`, `y`, `z`.
    position: [&'b [f32]; 3],
    intensity: &'b [u8],
    ring: &'b [u8],
    /// `intensity_calibrated`, `azimuth`, `distance`.
    measurements: [&'b [f32]; 3],
    laser: &'b [u8],
    return_type: &'b [u8],
}

impl<'b> PointColumns<'b> {
    fn from_batch(batch: &'b RecordBatch) -> Option<Self> {
        let floats = |name| -> Option<&'b [f32]> {
            Some(
                batch.column_by_name(name)?.as_primitive_opt::<Float32Type>()?.values(),
            )
        };
        let bytes = |name| -> Option<&'b [u8]> {
            Some(batch.column_by_name(name)?.as_primitive_opt::<UInt8Type>()?.values())
        };
        Some(Self {
            time: batch.column_by_name("time")?.as_primitive_opt()?,
            scan: batch.column_by_name("scan")?.as_primitive_opt()?,
            position: [floats("x")?, floats("y")?, floats("z")?],
            intensity: bytes("intensity")?,
            ring: bytes("ring")?,
            measurements: [
                floats("intensity_calibrated")?,
                floats("azimuth")?,
                floats("distance")?,
            ],
            laser: bytes("laser")?,
            return_type: bytes("return_type")?,
        })
    }

    /// Appends the point in the row at index `row` to `out`, without its times.
    fn append(&self, row: usize, out: &mut Vec<u8>) {
        let float = |values: &[f32]| values.get(row).copied().unwrap_or(f32::NAN);
        let byte = |values: &[u8]| values.get(row).copied().unwrap_or_default();
        for values in self.position {
            out.extend_from_slice(&float(values).to_le_bytes());
        }
        out.extend_from_slice(&f32::from(byte(self.intensity)).to_le_bytes());
        out.extend_from_slice(&u16::from(byte(self.ring)).to_le_bytes());
        out.extend_from_slice(&[0; TIMES.end - TIMES.start]);
        for values in self.measurements {
            out.extend_from_slice(&float(values).to_le_bytes());
        }
        out.extend([byte(self.laser), byte(self.return_type)]);
    }
}
