//! `logtool align`: how far the clocks of two logs are apart.

use std::{io::Write as _, path::Path};

use logtool::{
    Error, Result,
    align::{Align, AlignInput, AlignReport, Confidence},
    time::clock::Seconds,
    units::escape_unprintable,
};
use serde_json::json;

use crate::{
    args::{AlignArgs, GlobalArgs},
    command_line::shell_quote,
    exit_status::Outcome,
    notices, terminal,
};

pub(super) fn run(args: &AlignArgs, global: &GlobalArgs) -> Result<Outcome> {
    let [signal_a, signal_b] = args.signal.as_slice() else {
        return Err(Error::other("--signal takes two names"));
    };
    let (a, b) =
        (AlignInput::new(&args.a, signal_a), AlignInput::new(&args.b, signal_b));
    let request = Align::new(a, b).with_strictness(global.strictness());
    let report = request.run(&global.session)?;
    // The path of the second log, as file names can be those of both logs. What looks like an
    // option is named by its number.
    let path = args.b.display().to_string();
    let name = if path.starts_with('-') { "2" } else { &path };
    let option = format!("{name}={}", Seconds(report.estimate.offset_nanos));
    let text = if args.json {
        json(args, &report, &option)?
    } else if report.is_aligned() {
        text(&report, name, &option)
    } else {
        String::new()
    };
    let mut out = terminal::stdout();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    let AlignReport { first, second, estimate, .. } = &report;
    if !report.is_aligned() {
        let what = format!(
            "{} of {} and {} of {} do not fit: {}",
            first.signal,
            first.log,
            second.signal,
            second.log,
            estimate.doubts.join("; ")
        );
        let hint = format!(
            "the best offset was {} s, with {:.1} ppm ({}); signals with more motion, such \
             as the rates of a gyro, or longer logs may fit",
            Seconds(estimate.offset_nanos),
            estimate.drift_ppm,
            confidence_text(&estimate.confidence)
        );
        return Err(Error::other(what).with_hint(hint));
    }
    Ok(notices::losses(report.first.losses, global.quiet)
        .max(notices::losses(report.second.losses, global.quiet)))
}

fn text(report: &AlignReport, name: &str, option: &str) -> String {
    let (a, b, estimate) = (&report.first.log, &report.second.log, &report.estimate);
    let Confidence { overlap_seconds: overlap, .. } = estimate.confidence;
    let (ppm, error) = (estimate.drift_ppm, estimate.confidence.drift_error_ppm);
    let reference = Seconds(estimate.reference);
    let (drift, with) = if estimate.confidence.is_drift_known() {
        (
            format!(
                "{ppm:.2} ppm ± {error:.1}, to add for the time since the reference"
            ),
            format!(
                " --drift {}",
                shell_quote(format!("{name}={ppm:.2}@{reference}").as_ref())
            ),
        )
    } else {
        (
            format!(
                "not known: {ppm:.0} ppm ± {error:.0}, because both logs have too little \
                 motion, or too much noise"
            ),
            format!(
                "   (without a drift, up to {:.1} ms off at the ends)",
                (ppm.abs() + error) * 1e-6 * overlap / 2.0 * 1e3
            ),
        )
    };
    format!(
        "offset      {} s ± {:.3} ms, to add to times of {} to be on the clock of {}\n\
         reference   {reference} s on the clock of {}, at which the offset is exact\n\
         drift       {drift}\n\
         confidence  {}\n\
         merge with  --offset {}{with}\n",
        Seconds(estimate.offset_nanos),
        estimate.confidence.offset_error_seconds * 1e3,
        escape_unprintable(b),
        escape_unprintable(a),
        escape_unprintable(b),
        confidence_text(&estimate.confidence),
        escape_unprintable(&shell_quote(option.as_ref())),
    )
}

fn confidence_text(confidence: &Confidence) -> String {
    format!(
        "correlation {:.3}, peak {:.2} times the next, {} of {} windows agree within \
         {:.2} ms, over {:.1} s at {:.0} Hz",
        confidence.correlation,
        confidence.peak_ratio,
        confidence.agreeing_windows,
        confidence.windows,
        confidence.residual_seconds * 1e3,
        confidence.overlap_seconds,
        confidence.rate_hz,
    )
}

fn json(args: &AlignArgs, report: &AlignReport, option: &str) -> Result<String> {
    let estimate = &report.estimate;
    let Confidence { windows, agreeing_windows, .. } = estimate.confidence;
    let side = |path: &Path, signal: &str| json!({ "file": path.display().to_string(), "signal": signal });
    let json = json!({
        "a": side(&args.a, &report.first.signal),
        "b": side(&args.b, &report.second.signal),
        "aligned": report.is_aligned(),
        "doubts": estimate.doubts,
        "offset_s": serde_json::to_value(Seconds(estimate.offset_nanos))?,
        "offset_ns": estimate.offset_nanos,
        "reference_s": serde_json::to_value(Seconds(estimate.reference))?,
        "reference_ns": estimate.reference,
        "drift_ppm": estimate.drift_ppm,
        "drift_known": estimate.confidence.is_drift_known(),
        "option": option,
        "confidence": {
            "correlation": estimate.confidence.correlation,
            "peak_ratio": estimate.confidence.peak_ratio,
            "windows": windows,
            "agreeing": agreeing_windows,
            "residual_s": estimate.confidence.residual_seconds,
            "offset_error_s": estimate.confidence.offset_error_seconds,
            "drift_error_ppm": estimate.confidence.drift_error_ppm,
            "overlap_s": estimate.confidence.overlap_seconds,
            "rate_hz": estimate.confidence.rate_hz,
        },
    });
    Ok(format!("{json}\n"))
}
