//! Messages of a time that cannot be told: in columns it is null, which is damage.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{Damage, DamageKind, Decoder, Result, Run, TimeRange, Timestamp};

/// What is to be told of such a message.
const WHY: &str = "its log time is after 2262-04-11 23:47:16.854775806 UTC";

/// Whether one may be among records of these times.
pub(crate) fn may_be_in(time: &TimeRange) -> bool {
    time.end == Timestamp::MAX
}

/// Decodes as another does, and tells of such messages.
pub(crate) struct Untold(pub(crate) Box<dyn Decoder>);

impl Decoder for Untold {
    fn schema(&self) -> &SchemaRef {
        self.0.schema()
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record in run.records().filter(|record| record.time == Timestamp::MAX) {
            let misfit = record.undecodable().with_kind(DamageKind::Misfit);
            misfit.with_reason(WHY).add_to(damage);
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
