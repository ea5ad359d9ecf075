//! Messages whose log time cannot be represented. Their time is null in columns, and is
//! reported as damage.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{Damage, DamageKind, Decoder, Result, Run, TimeRange, Timestamp};

/// The reason in the damage of such a message.
const REASON: &str = "its log time is after 2262-04-11 23:47:16.854775806 UTC";

/// Returns true if the time range of a part includes such a time.
pub(crate) fn is_in_range(time: &TimeRange) -> bool {
    time.end == Timestamp::MAX
}

/// A decoder that also reports messages whose time cannot be represented.
pub(crate) struct NullTimeDecoder(pub(crate) Box<dyn Decoder>);

impl Decoder for NullTimeDecoder {
    fn schema(&self) -> &SchemaRef {
        self.0.schema()
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records().filter(|record| record.time == Timestamp::MAX) {
            let mismatch =
                record.undecodable_damage().with_kind(DamageKind::TypeMismatch);
            mismatch.with_reason(REASON).add_to(damage);
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
