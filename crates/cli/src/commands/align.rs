//! `logtool align`: how far the clocks of two logs are apart.

use std::io::Write as _;

use logtool::{
    Error, Result,
    error::Context as _,
    input::open,
    losses::Findings,
    signals::{self, All},
    time::clock::Seconds,
    units::{counted, plain},
};
use logtool_align::{Confidence, Estimate, align, without_strays};
use serde_json::json;

use crate::{
    args::{AlignArgs, GlobalArgs},
    given::quoted,
    notices,
    outcome::Outcome,
    progress,
    terminal::{self, say},
};

/// A signal of a log.
struct Side {
    /// The name of the log.
    name: String,
    /// The log as it was typed.
    typed: String,
    all: All,
    findings: Findings,
}

pub(super) fn run(args: &AlignArgs, global: &GlobalArgs) -> Result<Outcome> {
    let [of_a, of_b] = args.signal.as_slice() else {
        return Err(Error::failed("--signal takes two names"));
    };
    let (a, b) = (side(&args.a, of_a, global)?, side(&args.b, of_b, global)?);
    let estimate = align(&a.all.samples, &b.all.samples).map_err(|(index, why)| {
        let side = if index == 0 { &a } else { &b };
        Error::failed(format!("{}: {}: {why}", side.name, side.all.wanted.name))
    })?;
    // The files as they were typed: their names can be those of both.
    let option = format!("{}={}", meant(&b), Seconds(estimate.offset_nanos));
    let text = match args.json {
        true => json(&a, &b, &estimate, &option)?,
        false if estimate.doubts.is_empty() => text(&a, &b, &estimate, &option),
        false => String::new(),
    };
    let mut out = terminal::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    if !estimate.doubts.is_empty() {
        let what = format!(
            "{} of {} and {} of {} do not fit: {}",
            a.all.wanted.name,
            a.name,
            b.all.wanted.name,
            b.name,
            estimate.doubts.join("; ")
        );
        let hint = format!(
            "the best was {} s, {:.1} ppm ({}); signals with more motion in them, as the \
             rates of a gyro, or more of it, may fit",
            Seconds(estimate.offset_nanos),
            estimate.drift_ppm,
            figures(&estimate.confidence)
        );
        return Err(Error::failed(what).with_hint(hint));
    }
    Ok(notices::losses(a.findings, global.quiet)
        .max(notices::losses(b.findings, global.quiet)))
}

fn side(path: &std::path::Path, signal: &str, global: &GlobalArgs) -> Result<Side> {
    let opened = open::open(path, &global.session)?;
    let manifest = opened.log.manifest();
    let name = opened.input.name.clone();
    let mut findings = Findings::of(&opened.input, manifest);
    findings.check(global.strict)?;
    let bar = progress::bar(&name, manifest.bytes, global);
    let all = signals::one(&*opened.log, signal, &|bytes| bar.inc(bytes));
    bar.finish_and_clear();
    let mut all = all.with_context(|| name.clone())?;
    let strays = without_strays(&mut all.samples) as u64;
    if strays > 0 && !global.quiet {
        let what = counted(strays, "value");
        say!("{name}: {what} left out, more than an hour away from the others");
    }
    let topics = [all.wanted.topic].into_iter().collect();
    findings.add(manifest, &topics, &all.damage);
    findings.check(global.strict)?;
    Ok(Side { name, typed: path.display().to_string(), all, findings })
}

/// The log of `side`, as an option of `logtool merge` names it: as it was typed, or, where
/// that looks like an option itself, by its number.
fn meant(side: &Side) -> &str {
    if side.typed.starts_with('-') { "2" } else { &side.typed }
}

fn text(a: &Side, b: &Side, found: &Estimate, option: &str) -> String {
    let Confidence { overlap_seconds: overlap, .. } = found.confidence;
    let (ppm, error) = (found.drift_ppm, found.confidence.drift_error_ppm);
    let reference = Seconds(found.reference);
    let (drift, with) = match found.confidence.knows_drift() {
        true => (
            format!(
                "{ppm:.2} ppm ± {error:.1}, to add for the time since the reference"
            ),
            format!(
                " --drift {}",
                quoted(format!("{}={ppm:.2}@{reference}", meant(b)).as_ref())
            ),
        ),
        false => (
            format!(
                "not known: {ppm:.0} ppm ± {error:.0}, as both saw too little motion, or \
                 too much noise"
            ),
            format!(
                "   (by up to {:.1} ms off at the ends)",
                (ppm.abs() + error) * 1e-6 * overlap / 2.0 * 1e3
            ),
        ),
    };
    format!(
        "offset      {} s ± {:.3} ms, to add to times of {} to be on the clock of {}\n\
         reference   {reference} s on the clock of {}, where that is so\n\
         drift       {drift}\n\
         confidence  {}\n\
         merge with  --offset {}{with}\n",
        Seconds(found.offset_nanos),
        found.confidence.offset_error_seconds * 1e3,
        plain(&b.name),
        plain(&a.name),
        plain(&b.name),
        figures(&found.confidence),
        plain(&quoted(option.as_ref())),
    )
}

fn figures(confidence: &Confidence) -> String {
    format!(
        "correlation {:.3}, peak {:.2} times the next, {} of {} windows agree within \
         {:.2} ms, over {:.1} s at {:.0} Hz",
        confidence.correlation,
        confidence.peak_ratio,
        confidence.agreeing,
        confidence.windows,
        confidence.residual_seconds * 1e3,
        confidence.overlap_seconds,
        confidence.rate_hz,
    )
}

fn json(a: &Side, b: &Side, found: &Estimate, option: &str) -> Result<String> {
    let Confidence { windows, agreeing, .. } = found.confidence;
    let side =
        |side: &Side| json!({ "file": side.typed, "signal": side.all.wanted.name });
    let json = json!({
        "a": side(a),
        "b": side(b),
        "aligned": found.doubts.is_empty(),
        "doubts": found.doubts,
        "offset_s": serde_json::to_value(Seconds(found.offset_nanos))?,
        "offset_ns": found.offset_nanos,
        "reference_s": serde_json::to_value(Seconds(found.reference))?,
        "reference_ns": found.reference,
        "drift_ppm": found.drift_ppm,
        "drift_known": found.confidence.knows_drift(),
        "option": option,
        "confidence": {
            "correlation": found.confidence.correlation,
            "peak_ratio": found.confidence.peak_ratio,
            "windows": windows,
            "agreeing": agreeing,
            "residual_s": found.confidence.residual_seconds,
            "offset_error_s": found.confidence.offset_error_seconds,
            "drift_error_ppm": found.confidence.drift_error_ppm,
            "overlap_s": found.confidence.overlap_seconds,
            "rate_hz": found.confidence.rate_hz,
        },
    });
    Ok(format!("{json}\n"))
}
