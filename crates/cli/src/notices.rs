//! Warnings about the logs that a command reads, printed on standard error.

use logtool::{
    ErrorKind, Remedy,
    lidar::{self, LidarWarnings},
    losses::Findings,
};
use logtool_core::{Manifest, TopicSet};

use crate::{
    exit_status::Outcome,
    remedies,
    terminal::{color, say},
};

/// Prints the losses, unless `is_quiet`, and returns the exit status of the command.
pub(crate) fn losses(mut findings: Findings, is_quiet: bool) -> Outcome {
    if !is_quiet && !findings.is_empty() {
        let paint = color::for_stderr();
        let warning = paint.yellow("warning:");
        let what = if findings.is_damaged() { "damaged: " } else { "" };
        say!("{warning} {}: {what}{}", findings.name(), findings.summary());
        findings.lines().iter().for_each(|line| say!("  {line}"));
        if findings.is_over_limit() {
            say!("{} --record-limit reads longer records", paint.bold("hint:"));
        }
    }
    outcome(&findings)
}

/// Returns how a command ends that read a log with these losses.
pub(crate) fn outcome(findings: &Findings) -> Outcome {
    if findings.has_damage() { Outcome::DataLost } else { Outcome::Done }
}

/// Prints warnings about the log `name`.
pub(crate) fn warnings(name: &str, warnings: &[String]) {
    let warning = color::for_stderr().yellow("warning:");
    warnings.iter().for_each(|text| say!("{warning} {name}: {text}"));
}

/// Prints warnings about the models and the calibrations that are used for the points among
/// `topics` of the log `name`.
pub(crate) fn lidars(name: &str, manifest: &Manifest, topics: &TopicSet) {
    lidar_warnings(name, &lidar::warnings(manifest, topics));
}

/// Prints warnings about the lidars of the log `name`.
pub(crate) fn lidar_warnings(name: &str, found: &LidarWarnings) {
    warnings(name, &found.warnings);
    found.remedies.iter().for_each(remedy);
}

/// Prints what may help against errors of this kind.
pub(crate) fn hint_of_kind(kind: ErrorKind) {
    if let Some(hint) = remedies::for_kind(kind) {
        say!("{} {hint}", color::for_stderr().bold("hint:"));
    }
}

/// Prints a setting that may help against the preceding warning.
pub(crate) fn remedy(remedy: &Remedy) {
    if let Some(hint) = remedies::text(remedy) {
        say!("{} {hint}", color::for_stderr().bold("hint:"));
    }
}
