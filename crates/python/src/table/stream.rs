//! The batches of a table as a stream that other libraries pull.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use logtool::Batches;
use logtool_core::TopicSet;
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::{
    damage::{self, Damage},
    error::to_python,
    runtime::{
        call::check_signals,
        process::{Owner, other_process},
    },
};

/// The result of the last read of a table.
#[derive(Default)]
pub(crate) struct ReadState {
    /// The damage that the last read found.
    pub(crate) damage: Vec<Damage>,
    /// The error that ended the last read. Libraries that pull the batches raise their own error
    /// in its place.
    pub(crate) error: Option<PyErr>,
}

/// Batches that are pulled one by one.
pub(crate) trait PullBatches: Send {
    /// Returns the columns.
    fn schema(&self) -> &SchemaRef;

    /// Returns the next batch.
    fn next_batch(&mut self) -> Option<logtool::Result<RecordBatch>>;

    /// Returns the damage that was found so far.
    fn damage(&self) -> Vec<logtool_core::Damage>;
}

impl PullBatches for Batches {
    fn schema(&self) -> &SchemaRef {
        self.schema()
    }

    fn next_batch(&mut self) -> Option<logtool::Result<RecordBatch>> {
        self.next()
    }

    fn damage(&self) -> Vec<logtool_core::Damage> {
        self.damage().to_vec()
    }
}

/// The batches of a table. Any thread may pull them, with the GIL or without it.
///
/// No function of this crate may call a library that pulls them: PyO3 assumes that a thread has
/// the GIL as long as it is inside such a function, and those libraries release it.
pub(crate) struct TableReader {
    log: logtool::Log,
    topics: TopicSet,
    batches: Box<dyn PullBatches>,
    state: Arc<Mutex<ReadState>>,
    owner: Owner,
    is_done: bool,
}

impl TableReader {
    /// Creates the reader of `batches`, which are of `topics` of `log`.
    pub(crate) fn new(
        log: &logtool::Log,
        topics: TopicSet,
        batches: impl PullBatches + 'static,
        state: Arc<Mutex<ReadState>>,
    ) -> Self {
        *state.lock() = ReadState::default();
        let (log, batches) = (log.clone(), Box::new(batches));
        Self { log, topics, batches, state, owner: Owner::new(), is_done: false }
    }

    /// Returns the path of the log.
    pub(crate) fn path(&self) -> String {
        self.log.name().to_owned()
    }

    /// Returns the columns.
    pub(crate) fn schema(&self) -> &SchemaRef {
        self.batches.schema()
    }

    /// Returns the next batch. It must be called without the GIL.
    pub(crate) fn next_batch(&mut self) -> PyResult<Option<RecordBatch>> {
        if self.is_done {
            return Ok(None);
        }
        let next = self.pull();
        if matches!(next, Ok(Some(_))) {
            return next;
        }
        self.is_done = true;
        let damage = self.damage();
        let warned = match (&next, damage.is_empty()) {
            (Ok(_), false) => {
                Python::attach(|py| damage::warn(py, self.log.name(), &damage))
            }
            _ => Ok(()),
        };
        self.state.lock().damage = damage;
        warned.and(next)
    }

    /// Returns the damage of the topic that opening the log and reading the table found.
    fn damage(&self) -> Vec<Damage> {
        let manifest = self.log.manifest();
        let mut findings = self.log.losses();
        findings.add(manifest, &self.topics, &self.batches.damage());
        let found = findings.sorted_findings().iter().map(|finding| &finding.damage);
        let is_of_topic = |damage: &&logtool_core::Damage| {
            damage.topic.is_none_or(|topic| self.topics.contains(topic))
        };
        found.filter(is_of_topic).map(|damage| Damage::new(damage, manifest)).collect()
    }

    fn pull(&mut self) -> PyResult<Option<RecordBatch>> {
        let name = self.log.name();
        let error = |err| Python::attach(|py| to_python(py, &err, Some(name)));
        if !self.owner.is_this_process() {
            return Err(error(other_process()));
        }
        let next = self.batches.next_batch();
        check_signals()?;
        match next {
            Some(Ok(batch)) => Ok(Some(batch)),
            Some(Err(err)) => Err(error(err)),
            None => Ok(None),
        }
    }
}

impl Iterator for TableReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // The caller may have the GIL, which the threads that read a file object need.
        let next = Python::attach(|py| py.detach(|| self.next_batch()));
        let err = match next {
            Ok(batch) => return batch.map(Ok),
            Err(err) => err,
        };
        let text = Python::attach(|py| {
            if err.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) {
                // Raised again when the caller is back in Python.
                let _ =
                    py.import("_thread").and_then(|t| t.call_method0("interrupt_main"));
            }
            let text = err.to_string();
            self.state.lock().error = Some(err);
            text
        });
        Some(Err(ArrowError::ExternalError(text.into())))
    }
}

impl RecordBatchReader for TableReader {
    fn schema(&self) -> SchemaRef {
        self.batches.schema().clone()
    }
}
