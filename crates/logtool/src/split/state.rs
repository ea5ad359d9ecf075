//! The content of a split: an excerpt of the manifest of its log, and the selected table.

use std::{
    io::{self, Read as _},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use logtool_core::{
    Columns, Log as FormatLog, Manifest, TimeBase, TimeRange, TopicId, View,
};
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result},
    formats::LogFormat,
    records::log::{Log, Table},
    source::{
        input::{Input, open},
        session::Session,
    },
    split::messages::SplitMessages,
    time::offset::ClockOffset,
};

/// The maximum size of a decompressed state: a split that declares more is not valid.
const MAX_BYTES: u64 = 64 << 20;

/// The compression level of Zstandard. Higher ones save less than 3 %.
const LEVEL: i32 = 9;

/// The selected table, and the excerpt of the manifest to read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SplitState {
    pub(super) topic: TopicId,
    pub(super) is_flat: bool,
    pub(super) columns: Option<Vec<usize>>,
    pub(super) time: TimeRange,
    pub(super) offset_nanos: i64,
    pub(super) is_utc: bool,
    #[serde(default)]
    pub(super) has_spark_types: bool,
    /// The translation to messages, if the table is of a translated log. `topic` and
    /// `time` are those of the log that is translated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) messages: Option<SplitMessages>,
    pub(super) manifest: Manifest,
}

impl SplitState {
    /// Returns the state as text: JSON, compressed with Zstandard, in Base64.
    pub(super) fn encode(&self) -> Result<String> {
        let json = serde_json::to_vec(self)?;
        Ok(STANDARD.encode(zstd::bulk::compress(&json, LEVEL)?))
    }

    /// Decodes what [`encode`](Self::encode) returned.
    ///
    /// # Errors
    /// `InvalidRequest` if it did not, or if the state is longer than 64 MiB.
    pub(super) fn decode(text: &str) -> Result<Self> {
        let invalid = |err: io::Error| {
            let error = Error::from_source(ErrorKind::InvalidRequest, err);
            error.context("the split is not valid")
        };
        let bytes =
            STANDARD.decode(text).map_err(|err| invalid(io::Error::other(err)))?;
        let decoder = zstd::Decoder::new(&bytes[..]).map_err(invalid)?;
        let mut json = Vec::new();
        decoder.take(MAX_BYTES + 1).read_to_end(&mut json).map_err(invalid)?;
        if json.len() as u64 > MAX_BYTES {
            return Err(invalid(io::Error::other("it is too long")));
        }
        serde_json::from_slice(&json).map_err(|err| invalid(err.into()))
    }

    /// Fails if the state does not suit a log of `bytes` bytes, or contradicts itself.
    pub(super) fn check(&self, bytes: u64) -> Result<()> {
        let Manifest { topics, parts, .. } = &self.manifest;
        let is_in_order =
            parts.is_sorted_by(|part, next| part.bytes.end <= next.bytes.start);
        let are_parts = parts
            .iter()
            .all(|part| part.bytes.start <= part.bytes.end && part.bytes.end <= bytes);
        let is_valid = self.manifest.bytes == bytes
            && is_in_order
            && are_parts
            && topics.get(self.topic.index()).is_some();
        if is_valid {
            return Ok(());
        }
        let message = "the split is not valid: it is not of this log";
        Err(Error::new(ErrorKind::InvalidRequest, message))
    }

    /// Opens the log in `input`, without reading its records.
    pub(super) fn open(
        &self,
        input: &Input,
        session: &Session,
    ) -> Result<Box<dyn FormatLog>> {
        let manifest = Arc::new(self.manifest.clone());
        let format = LogFormat::from_manifest(&manifest).ok_or_else(|| {
            let message = "the split has an unknown log format";
            Error::new(ErrorKind::InvalidRequest, message)
        })?;
        open::open_excerpt(format, Arc::clone(&input.source), manifest, session)
    }

    /// Returns the selected table of `log`, which is `input`.
    ///
    /// # Errors
    /// If the records cannot be translated to messages.
    pub(super) fn table(self, input: Input, log: Box<dyn FormatLog>) -> Result<Table> {
        let view = if self.is_flat { View::Flat } else { View::Nested };
        let columns = Columns { indices: self.columns, ..Columns::new(view) };
        let time_base =
            TimeBase { offset_nanos: self.offset_nanos, is_utc: self.is_utc };
        let table = match &self.messages {
            None => {
                let log = Log::new(input, log);
                Table::from_split(log, self.topic, columns, self.time, time_base)
            }
            Some(messages) => {
                let offset = ClockOffset::from_clock(&log.manifest().clock);
                let time = self.time.shifted_by(offset.nanos);
                let log = messages.open(log.into(), self.topic, self.time)?;
                let (log, topic) = (Log::new(input, log), messages.topic());
                Table::from_split(log, topic, columns, time, time_base)
                    .with_reported_damage(messages.reported_damage(self.topic))
            }
        };
        Ok(if self.has_spark_types { table.with_spark_types() } else { table })
    }
}
