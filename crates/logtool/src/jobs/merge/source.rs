//! The open logs of a request to merge.

use std::{collections::BTreeMap, sync::Arc};

use logtool_core::{ClockTransform, Log, ShiftedLog};

use crate::{
    error::{Error, Result},
    formats::LogFormat,
    jobs::merge::Merge,
    source::{
        input::{Input, open},
        losses::Findings,
        session::Session,
    },
};

/// An open log that is merged with others.
pub(super) struct MergeSource {
    pub(super) input: Input,
    pub(super) log: Arc<dyn Log>,
    pub(super) findings: Findings,
    /// The nanoseconds to add to its times, if the request states them.
    pub(super) offset: Option<i64>,
    /// Whether the offset is the result of an alignment.
    pub(super) is_aligned: bool,
    /// The correction of its drift. The times of `log` are already corrected.
    pub(super) drift: Option<ClockTransform>,
}

impl MergeSource {
    /// Returns the format of the log.
    pub(super) fn format(&self) -> Option<LogFormat> {
        LogFormat::from_manifest(self.log.manifest())
    }
}

/// Opens the inputs of `request`, and corrects the drifts of their clocks.
pub(super) fn open(request: &Merge, session: &Session) -> Result<Vec<MergeSource>> {
    if request.inputs.len() < 2 {
        let error = Error::invalid_request("a merge needs at least two logs");
        return Err(error.with_hint("name two or more"));
    }
    let mut sources = Vec::new();
    for merge_input in &request.inputs {
        let opened = open::open_to_copy(merge_input.path(), session, &request.lidar)?;
        let mut findings = opened.input.findings(opened.log.manifest());
        findings.check(request.strictness)?;
        let (input, mut log): (_, Arc<dyn Log>) = (opened.input, opened.log.into());
        let drift = merge_input.drift_correction(log.manifest().time);
        if let Some(correction) = drift {
            log = Arc::new(ShiftedLog::new(log, correction, &BTreeMap::new()));
        }
        if merge_input.lacks_drift() {
            let text = "the drift of its clock was not determined well enough: it is moved \
                        by its offset only";
            session.note(&input.name, text);
        }
        let (offset, is_aligned) = (merge_input.offset(), merge_input.is_aligned());
        sources.push(MergeSource { input, log, findings, offset, is_aligned, drift });
    }
    Ok(sources)
}
