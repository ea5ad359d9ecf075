//! The errors and warnings that remain in a log after its repair.

use std::path::Path;

use logtool::{
    Result,
    error::Context as _,
    input::open::Opened,
    units::{counted, plain},
};
use logtool_core::{Findings, Severity};

use crate::{
    args::GlobalArgs,
    commands::check::{
        examine,
        report::{JsonFinding, Report},
    },
    paint,
    terminal::say,
};

/// The new log, and what `logtool check` finds in it.
pub(super) struct Remaining {
    opened: Opened,
    findings: Findings,
}

impl Remaining {
    /// Checks the new log at `out`.
    pub(super) fn new(out: &Path, global: &GlobalArgs) -> Result<Self> {
        let examined = examine(out, global);
        let (opened, findings) = examined.context("the new log cannot be checked")?;
        Ok(Self { opened, findings })
    }

    /// Prints the errors and warnings, without the notes.
    pub(super) fn print(&self) -> Result<()> {
        let report = Report::new(&self.opened, &self.findings);
        let count = report.json_findings(Severity::Warning).len() as u64;
        if count == 0 {
            return Ok(());
        }
        let (name, paint) = (plain(&self.opened.input.name), paint::for_stderr());
        let count = counted(count, "finding");
        say!("{} {name}: {count} remain after the repair", paint.yellow("warning:"));
        Ok(report.lines(&mut std::io::stderr(), Severity::Warning, paint)?)
    }

    /// Calls `print` with the findings, as `logtool check --json` has them.
    pub(super) fn with_json<T>(
        &self,
        print: impl FnOnce(Vec<JsonFinding<'_>>) -> T,
    ) -> T {
        print(
            Report::new(&self.opened, &self.findings).json_findings(Severity::Warning),
        )
    }
}
