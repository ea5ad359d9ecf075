//! Decoding packets of a lidar as raw bytes.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use logtool_core::{Columns, Damage, Decoder, RawDecoder, Result, Run, raw_schema};

use crate::sensor::packets::PACKET_LEN;

/// Returns the columns of packets: the time, and the bytes.
pub(crate) fn packet_schema() -> SchemaRef {
    raw_schema("ns")
}

/// A decoder of packets to their bytes. Payloads with another length are damage.
#[derive(Debug)]
pub(crate) struct PacketDecoder(RawDecoder);

impl PacketDecoder {
    pub(crate) fn new(columns: &Columns) -> Result<Self> {
        Ok(Self(RawDecoder::new("ns", columns)?))
    }
}

impl Decoder for PacketDecoder {
    fn schema(&self) -> &SchemaRef {
        self.0.schema()
    }

    fn append(&mut self, run: Run<'_>, damage: &mut Vec<Damage>) {
        for record_run in run.single_record_runs() {
            if record_run.payloads().all(|payload| payload.len() == PACKET_LEN) {
                self.0.append(record_run, damage);
            } else {
                record_run
                    .records()
                    .for_each(|record| record.undecodable_damage().add_to(damage));
            }
        }
    }

    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn take(&mut self) -> Result<RecordBatch> {
        self.0.take()
    }

    fn discard_rows(&mut self) -> Result<()> {
        self.0.discard_rows()
    }
}
