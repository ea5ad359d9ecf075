//! The findings of one log, as text and as JSON.

use std::io::{self, Write};

use logtool::{
    input::open::Opened,
    time::clock::{Seconds, ShownClock},
    units::{Count, counted, plain},
};
use logtool_core::{Code, Finding, Findings, Severity, TimeRange};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{args::TimeChoice, paint::Paint};

/// A log that was packed, and could not be unpacked whole.
pub(super) static UNPACKING: Code = Code {
    name: "file.unpacking",
    severity: Severity::Error,
    meaning: "the file is packed (gzip, xz, zstd), and could not be unpacked to its end",
};

/// The findings of one log.
pub(in crate::commands) struct Report<'o> {
    opened: &'o Opened,
    /// The worst first.
    findings: Vec<Finding>,
    clock: Option<ShownClock>,
}

impl<'o> Report<'o> {
    pub(in crate::commands) fn new(opened: &'o Opened, findings: &Findings) -> Self {
        let loss = opened.input.loss.iter();
        let loss = loss.map(|loss| Finding::new(&UNPACKING, loss.text.clone()));
        let mut findings: Vec<Finding> = loss.chain(findings.iter().cloned()).collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.code.severity));
        let clock = ShownClock::new(opened.log.manifest(), TimeChoice::Boot).ok();
        Self { opened, findings, clock }
    }

    /// How bad it is.
    pub(super) fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.code.severity).max()
    }

    /// Writes a line for each finding that is as bad as `least`, and one for all.
    pub(super) fn text(
        &self,
        out: &mut dyn Write,
        least: Severity,
        paint: Paint,
    ) -> io::Result<()> {
        let name = plain(&self.opened.input.name);
        writeln!(out, "{}: {}", paint.bold(&name), self.summary())?;
        self.lines(out, least, paint)
    }

    fn summary(&self) -> String {
        let count = |severity| {
            let alike = self.findings.iter().filter(|f| f.code.severity == severity);
            alike.count() as u64
        };
        let counts = [
            (count(Severity::Error), "error"),
            (count(Severity::Warning), "warning"),
            (count(Severity::Note), "note"),
        ];
        let some = counts.iter().filter(|(count, _)| *count > 0);
        let some: Vec<String> =
            some.map(|(count, name)| counted(*count, name)).collect();
        if some.is_empty() { "nothing found".to_owned() } else { some.join(", ") }
    }

    /// ` (3 times, the first at byte 4117, 12.500 s)`.
    fn place(&self, finding: &Finding) -> String {
        let mut parts = Vec::new();
        let is_one = finding.count == 1;
        if !is_one {
            parts.push(format!("{} times", Count(finding.count)));
        }
        if let Some(bytes) = &finding.bytes {
            let first = if is_one { "" } else { "the first " };
            parts.push(format!("{first}at byte {}", bytes.start));
        }
        if let (Some(time), Some(clock)) = (finding.time, self.clock) {
            parts.push(format!("from {}", clock.text(time.start)));
        }
        if parts.is_empty() {
            String::new()
        } else {
            format!(" ({})", parts.join(", "))
        }
    }

    fn label(&self, finding: &Finding) -> Option<String> {
        let topic = self.opened.log.manifest().get(finding.topic?).ok()?;
        Some(topic.label().into_owned())
    }

    /// Writes one JSON object, of the findings that are as bad as `least`.
    pub(super) fn json(&self, out: &mut dyn Write, least: Severity) -> io::Result<()> {
        let count = |severity| {
            self.findings.iter().filter(|f| f.code.severity == severity).count()
        };
        let report = JsonReport {
            file: &self.opened.input.name,
            format: &self.opened.log.manifest().format,
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
            findings: self.json_findings(least),
        };
        serde_json::to_writer(&mut *out, &report).map_err(io::Error::from)?;
        writeln!(out)
    }

    /// Writes a line for each finding that is as bad as `least`.
    pub(in crate::commands) fn lines(
        &self,
        out: &mut dyn Write,
        least: Severity,
        paint: Paint,
    ) -> io::Result<()> {
        for finding in self.findings.iter().filter(|f| f.code.severity >= least) {
            let severity = format!("{:7}", finding.code.severity);
            let severity = match finding.code.severity {
                Severity::Error => paint.red(&severity),
                Severity::Warning => paint.yellow(&severity),
                Severity::Note => paint.dim(&severity),
            };
            let topic = self.label(finding).map(|label| format!("{label}: "));
            writeln!(
                out,
                "  {severity} {:24} {}{}{}",
                finding.code.name,
                plain(&topic.unwrap_or_default()),
                plain(&finding.text),
                self.place(finding)
            )?;
        }
        Ok(())
    }

    /// Returns the findings that are as bad as `least`, for JSON.
    pub(in crate::commands) fn json_findings(
        &self,
        least: Severity,
    ) -> Vec<JsonFinding<'_>> {
        let findings = self.findings.iter().filter(|f| f.code.severity >= least);
        findings.map(|finding| self.finding(finding)).collect()
    }

    fn finding<'f>(&self, finding: &'f Finding) -> JsonFinding<'f> {
        let exactly = |nanos| RawValue::from_string(Seconds(nanos).to_string()).ok();
        let last = |time: TimeRange| time.end.as_nanos().saturating_sub(1);
        JsonFinding {
            code: finding.code.name,
            level: finding.code.severity.name(),
            topic: self.label(finding),
            text: &finding.text,
            count: finding.count,
            start: finding.bytes.as_ref().map(|bytes| bytes.start),
            end: finding.bytes.as_ref().map(|bytes| bytes.end),
            from_s: finding.time.and_then(|time| exactly(time.start.as_nanos())),
            to_s: finding.time.and_then(|time| exactly(last(time))),
        }
    }
}

#[derive(Serialize)]
struct JsonReport<'r> {
    file: &'r str,
    format: &'r str,
    errors: usize,
    warnings: usize,
    notes: usize,
    findings: Vec<JsonFinding<'r>>,
}

#[derive(Serialize)]
pub(in crate::commands) struct JsonFinding<'r> {
    code: &'r str,
    level: &'r str,
    topic: Option<String>,
    text: &'r str,
    count: u64,
    /// The bytes of the first.
    start: Option<u64>,
    end: Option<u64>,
    /// From the first to the last.
    from_s: Option<Box<RawValue>>,
    to_s: Option<Box<RawValue>>,
}
