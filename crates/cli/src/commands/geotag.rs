//! `logtool geotag`: writes positions into photos.

use logtool::{
    Result,
    geotag::{Geotag, GeotagReport},
    time::clock::Seconds,
    units::{Count, count_of},
};

use crate::{
    args::{GeotagArgs, GlobalArgs},
    exit_status::Outcome,
    notices,
    terminal::{color, say},
};

/// The maximum number of photos that are listed with the reason why they were left out.
const MAX_LINES: usize = 10;

pub(super) fn run(args: &GeotagArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut request = Geotag::new(&args.log, &args.out)
        .with_photos(&args.photos)
        .with_method(args.method)
        .with_strictness(global.strictness());
    if let Some(offset) = args.offset {
        request = request.with_offset(offset);
    }
    if args.partial {
        request = request.with_partial_output();
    }
    if args.force {
        request = request.with_replacement();
    }
    let report = request.run(&global.session)?;
    if !global.quiet {
        print(&report);
    }
    let is_whole = report.photos.iter().all(|photo| photo.failure.is_none());
    let outcome = notices::losses(report.losses, global.quiet);
    Ok(if is_whole { outcome } else { outcome.max(Outcome::DataLost) })
}

fn print(report: &GeotagReport) {
    say!(
        "{} → {}: {} of {} tagged, {} in {}",
        report.name,
        report.output.display(),
        Count(report.tagged),
        count_of(report.photos.len() as u64, "photo"),
        count_of(report.shots, "shot"),
        report.topic,
    );
    let how =
        if report.is_by_sequence { "paired one by one" } else { "matched by time" };
    match report.offset_ns {
        Some(offset) => say!("  {how}; the camera's clock {}", describe_offset(offset)),
        None => say!("  {how}"),
    }
    if !report.unused_shots.is_empty() {
        say!(
            "  {} without a photo",
            count_of(report.unused_shots.len() as u64, "shot")
        );
    }
    report.remarks.iter().for_each(|remark| say!("  {remark}"));
    let failed: Vec<_> = report
        .photos
        .iter()
        .filter_map(|photo| Some((&photo.photo, photo.failure.as_ref()?)))
        .collect();
    if failed.is_empty() {
        return;
    }
    let warning = color::for_stderr().yellow("warning:");
    say!("{warning} {} left out", count_of(failed.len() as u64, "photo"));
    for (photo, why) in failed.iter().take(MAX_LINES) {
        say!("  {photo}: {why}");
    }
    if failed.len() > MAX_LINES {
        say!(
            "  … and {} more, in photos.csv",
            Count((failed.len() - MAX_LINES) as u64)
        );
    }
}

/// Describes the offset that was added to the times of the camera.
fn describe_offset(offset: i64) -> String {
    let seconds = Seconds(offset.saturating_abs());
    match offset {
        0 => "is exact".to_owned(),
        1.. => format!("is {seconds} s behind"),
        _ => format!("is {seconds} s ahead"),
    }
}
