//! Finds all errors and anomalies in a log.

use std::{cmp::Reverse, ops::Range, path::Path};

use logtool_core::{Finding, FindingCode, Severity, TimeRange, check::CODES};
use logtool_velodyne::lidar::LidarOptions;

use crate::{
    error::{Context as _, Result},
    formats::LogFormat,
    source::{
        input::open::{self, OpenLog},
        progress_counter::ProgressCounter,
        session::Session,
    },
    time::clock::{ShownClock, TimeChoice},
};

/// The code of a log that could not be decompressed to its end.
static DECOMPRESSION: FindingCode = FindingCode::error(
    "file.decompression",
    "the compressed file (gzip, bzip2, xz, zstd, LZ4) could not be decompressed to its end",
);

/// The result of a check of a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CheckReport {
    /// The name of the log.
    pub name: String,
    /// The name of its format.
    pub format: String,
    /// The findings, the most severe first.
    pub findings: Vec<CheckFinding>,
    /// The clock that writes the times of the findings as text.
    pub clock: ShownClock,
}

/// An error or an anomaly in a log. All findings with the same code and topic are combined.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckFinding {
    /// The kind and the severity of the finding.
    pub code: &'static FindingCode,
    /// The label of the topic, if it is about one.
    pub topic: Option<String>,
    /// A description of the finding, or of the first of several.
    pub text: String,
    /// The number of occurrences.
    pub count: u64,
    /// The bytes of the file where it was found first, where known.
    pub bytes: Option<Range<u64>>,
    /// The times from the first to the last, on the clock of the log, where known.
    pub time: Option<TimeRange>,
}

/// Reads all of the log at `path`, decodes every record, and returns all errors,
/// warnings and notes.
///
/// # Errors
/// If the input cannot be read or is not a log. Damage is not an error: it is in the report.
///
/// # Example
/// ```no_run
/// use logtool::{Session, check::check};
///
/// for finding in check("drive.bag", &Session::new())?.findings {
///     println!("{} {}: {}", finding.code.severity, finding.code.name, finding.text);
/// }
/// # Ok::<(), logtool::Error>(())
/// ```
pub fn check(path: impl AsRef<Path>, session: &Session) -> Result<CheckReport> {
    check_on_clock(path, TimeChoice::Boot, session)
}

/// Like [`check`], with the clock on which the text of the report shows times.
///
/// # Errors
/// As [`check`], and if UTC was chosen and the log has no UTC reference.
pub fn check_on_clock(
    path: impl AsRef<Path>,
    clock: TimeChoice,
    session: &Session,
) -> Result<CheckReport> {
    let lidar = LidarOptions::default();
    let opened = open::inspect_with(path.as_ref(), session, Some(&lidar))?;
    let (name, bytes) = (&opened.input.name, opened.log.manifest().bytes);
    let progress = ProgressCounter::for_bytes(session, name, bytes);
    let clock = ShownClock::new(opened.log.manifest(), clock);
    let clock = clock.with_context(|| name.clone())?;
    let findings = logtool_core::check(&*opened.log, &|bytes| progress.add(bytes));
    let findings = findings.with_context(|| name.clone())?;
    Ok(CheckReport::new(&opened, &findings, clock))
}

/// Returns all codes that findings may have, sorted by name.
pub fn codes() -> Vec<&'static FindingCode> {
    let of_formats = LogFormat::ALL.iter().flat_map(|format| format.format().codes());
    let mut codes: Vec<&FindingCode> =
        CODES.iter().chain(of_formats).copied().chain([&DECOMPRESSION]).collect();
    codes.sort_by_key(|code| code.name);
    // Several formats hold packets of lidars, and share their codes.
    codes.dedup_by_key(|code| code.name);
    codes
}

impl CheckReport {
    fn new(
        opened: &OpenLog,
        findings: &logtool_core::Findings,
        clock: ShownClock,
    ) -> Self {
        let manifest = opened.log.manifest();
        let loss = opened.input.loss.iter();
        let loss = loss.map(|loss| Finding::new(&DECOMPRESSION, loss.text.clone()));
        let finding = |finding: Finding| {
            let topic = finding.topic.and_then(|id| manifest.topic(id).ok());
            CheckFinding {
                code: finding.code,
                topic: topic.map(|topic| topic.label().into_owned()),
                text: finding.text,
                count: finding.count,
                bytes: finding.bytes,
                time: finding.time,
            }
        };
        let mut findings: Vec<CheckFinding> =
            loss.chain(findings.iter().cloned()).map(finding).collect();
        findings.sort_by_key(|finding| Reverse(finding.code.severity));
        Self {
            name: opened.input.name.clone(),
            format: manifest.format.clone(),
            findings,
            clock,
        }
    }

    /// Returns the severity of the worst finding, if there are findings.
    pub fn max_severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.code.severity).max()
    }

    /// Returns how many findings have `severity`.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.findings.iter();
        findings.filter(|finding| finding.code.severity == severity).count()
    }

    /// Returns the findings that are at least as severe as `min_severity`, the most severe first.
    pub fn at_least(
        &self,
        min_severity: Severity,
    ) -> impl Iterator<Item = &CheckFinding> {
        self.findings
            .iter()
            .filter(move |finding| finding.code.severity >= min_severity)
    }
}
