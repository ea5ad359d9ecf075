//! The logs that are merged, as they were typed.

use std::{collections::BTreeMap, sync::Arc};

use logtool::{
    Error, Result,
    formats::LogFormat,
    input::{Input, open},
    losses::Findings,
};
use logtool_core::{Log, MovedLog, Shift};

use crate::{
    args::{GlobalArgs, MergeArgs, TimeChoice},
    commands::merge::told,
    lidar_options,
    terminal::say,
};

/// A log that is merged with others.
pub(super) struct Source {
    pub(super) input: Input,
    pub(super) log: Arc<dyn Log>,
    pub(super) findings: Findings,
    /// What its times are to be moved by, if somebody said so.
    pub(super) offset: Option<i64>,
    /// Whether that is what `logtool align` found.
    pub(super) is_aligned: bool,
    /// What puts its clock right, if that was too fast or too slow; done to `log`.
    pub(super) drift: Option<Shift>,
}

impl Source {
    /// Returns the format of the log.
    pub(super) fn format(&self) -> Option<LogFormat> {
        LogFormat::of(self.log.manifest())
    }
}

/// Opens the files that were typed, and takes the drifts out of their clocks that somebody
/// knows.
pub(super) fn open(args: &MergeArgs, global: &GlobalArgs) -> Result<Vec<Source>> {
    let (files, told) = (&args.files, told::told(&args.files, args)?);
    if files.len() < 2 {
        let complaint = Error::invalid("one log has nothing to be merged with");
        return Err(complaint.with_hint("name two or more"));
    }
    let lidar = lidar_options::options(&args.lidar, TimeChoice::Utc)?;
    let mut sources = Vec::new();
    for (file, told) in files.iter().zip(told) {
        let opened = open::open_to_copy(file, &global.session, &lidar)?;
        let mut findings = Findings::of(&opened.input, opened.log.manifest());
        findings.check(global.strict)?;
        let (input, mut log): (_, Arc<dyn Log>) = (opened.input, opened.log.into());
        let shift = told.without_drift(log.manifest().time);
        if let Some(shift) = shift {
            log = Arc::new(MovedLog::new(log, shift, &BTreeMap::new()));
        }
        if told.lacks_drift && !global.quiet {
            say!(
                "{}: how fast its clock runs off was not found well enough: it is moved by \
                 its offset only",
                input.name
            );
        }
        let (offset, is_aligned, drift) = (told.offset, told.is_aligned, shift);
        sources.push(Source { input, log, findings, offset, is_aligned, drift });
    }
    Ok(sources)
}
