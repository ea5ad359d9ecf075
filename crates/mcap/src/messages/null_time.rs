//! Messages whose log time cannot be represented. Their time is null in columns, and is
//! reported as damage.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{
    Block, Damage, DamageKind, Decoder, Log, Manifest, Record, Result, Run, Selection,
    TimeRange, Timestamp,
};

/// The reason in the damage of such a message.
const REASON: &str = "its log time is after 2262-04-11 23:47:16.854775806 UTC";

/// Returns true if the time range of a part includes such a time.
pub(crate) fn is_in_range(time: &TimeRange) -> bool {
    time.end == Timestamp::MAX
}

/// Returns the damage of `record`, whose time cannot be represented.
fn null_time_damage(record: &Record<'_>) -> Damage {
    let mismatch = record.undecodable_damage().with_kind(DamageKind::TypeMismatch);
    mismatch.with_reason(REASON)
}

/// Returns the manifest of `log` with the times of the messages whose time can be represented,
/// and with damage for the others. Reads the parts that may have such messages.
pub(crate) fn with_representable_times(log: &dyn Log) -> Result<Manifest> {
    let mut manifest = log.manifest().clone();
    let (mut known, mut damage) = (Vec::new(), Vec::new());
    let (mut block, everything) = (Block::default(), Selection::default());
    for part in &log.manifest().parts {
        if !is_in_range(&part.time) || part.time == TimeRange::ALL {
            known.push(part.time);
            continue;
        }
        let mut cursor = log.read(part, &everything)?;
        while cursor.fill(&mut block)? {
            for record in block.iter() {
                match record.time {
                    Timestamp::MAX => null_time_damage(&record).add_to(&mut damage),
                    time => known.push(TimeRange::from_timestamp(time)),
                }
            }
            known = known.into_iter().reduce(|a, b| a.cover(&b)).into_iter().collect();
        }
        log.source().release(part.bytes.clone());
    }
    if damage.is_empty() {
        return Ok(manifest);
    }
    let is_known = |time: &TimeRange| *time != TimeRange::ALL && time.start < time.end;
    let known = known.into_iter().filter(is_known);
    manifest.time = known.reduce(|range, next| range.cover(&next));
    for topic in &mut manifest.topics {
        topic.time = topic.time.filter(|time| !is_in_range(time));
    }
    manifest.damage.extend(damage);
    Ok(manifest)
}

/// A decoder that also reports messages whose time cannot be represented.
pub(crate) struct NullTimeDecoder(pub(crate) Box<dyn Decoder>);

impl Decoder for NullTimeDecoder {
    fn schema(&self) -> &SchemaRef {
        self.0.schema()
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records().filter(|record| record.time == Timestamp::MAX) {
            null_time_damage(&record).add_to(damage);
        }
        self.0.append(run, damage);
    }

    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.0.take()
    }

    fn discard_rows(&mut self) -> Result<()> {
        self.0.discard_rows()
    }
}
