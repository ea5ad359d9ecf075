//! `logtool convert`: tables, one for each topic; or images, files of points, tracks, or a
//! log of another format.

mod images;
pub(super) mod job;
mod left_over;
pub(super) mod log;
mod merged;
pub(super) mod one;
pub(super) mod payloads;
mod place;
mod points;
mod px4;
mod sidecar;
mod sink;
pub(super) mod tables;
mod tracks;

pub(super) use self::images::{Picture, PictureType};

use logtool::{Error, Result};

use crate::{
    args::{
        ConvertArgs, EncodingChoice, GlobalArgs, Layout, PerChoice, Target, TimeChoice,
    },
    error,
    outcome::Outcome,
};

pub(super) fn run(args: &ConvertArgs, global: &GlobalArgs) -> Result<Outcome> {
    check(args)?;
    let places = place::places(args)?;
    let labels = args.labels.read()?;
    let mut worst = Outcome::Done;
    for (input, place) in &places {
        let done = match args.target() {
            target if target.is_log() => log::run(input, place, args, global),
            _ => one::run(input, place, args, labels.clone(), global),
        };
        worst = worst.max(match done {
            Err(err) if places.len() > 1 => {
                error::print(&err);
                Outcome::Failed
            }
            done => done?,
        });
    }
    Ok(worst)
}

/// Refuses what cannot be meant together.
pub(super) fn check(args: &ConvertArgs) -> Result<()> {
    let target = args.target();
    let is_log = target.is_log();
    let is_of = |targets: &[Target]| targets.contains(&target);
    let has_columns = args.flat || !args.fields.is_empty() || args.merge.is_some();
    let has_names = args.labels.labels || args.labels.msg_dir.is_some();
    let is_cut = args.records.from.is_some() || args.end().is_some();
    let moves = args.clock.time.is_some_and(|time| time != TimeChoice::Utc);
    let has_look = args.picture.color.is_some() || args.picture.reach.is_some();
    let is_packed = args.points.encoding == Some(EncodingChoice::Compressed);
    let is_stream = is_of(&[Target::Csv, Target::Jsonl, Target::Arrow]);
    let is_px4 = args.layout == Some(Layout::Px4);
    let of_tables = "--flat, --field and --merge are for tables";
    // What is wrong, what that is called, and what to do.
    let rules = [
        (
            args.is_ambiguous(),
            "--to is given twice for the same",
            "once it may be a format, and once a time",
        ),
        (
            args.layout.is_some() && target != Target::Parquet,
            "--layout is for --to parquet",
            "for the others there is --flat",
        ),
        (
            target == Target::Images && has_columns,
            "--to images has no columns to choose",
            of_tables,
        ),
        (is_log && has_columns, "a log has no columns to choose", of_tables),
        (
            is_log && has_names,
            "the records of a log have no names of values",
            "--labels and --msg-dir are for tables",
        ),
        (
            is_log && moves && !is_cut,
            "a log has no other clock to choose",
            "--time is the clock of --from and --to here: records keep their times, or \
             are at UTC where they are translated",
        ),
        (
            args.ros2 && target != Target::Mcap,
            "--ros2 is for --to mcap",
            "or name a file with -o x.mcap",
        ),
        (
            args.foxglove && target != Target::Mcap,
            "--foxglove is for --to mcap",
            "or name a file with -o x.mcap",
        ),
        (
            args.compression.is_some() && !is_of(&[Target::Mcap, Target::Bag]),
            "--compression is for --to mcap and --to bag",
            "leave it out, or name a file with -o x.mcap",
        ),
        (
            target.is_track() && has_columns,
            "tracks have no columns to choose",
            of_tables,
        ),
        (
            target.is_points() && has_columns,
            "files of points have all their columns",
            of_tables,
        ),
        (
            args.points.encoding.is_some() && !is_of(&[Target::Pcd, Target::Ply]),
            "--encoding is for --to pcd and --to ply",
            "leave it out",
        ),
        (
            is_packed && target == Target::Ply,
            "PLY files cannot be compressed",
            "PCD files can",
        ),
        (
            has_look && target != Target::Png,
            "--color and --reach are for --to png",
            "leave them out",
        ),
        (
            args.points.per == Some(PerChoice::Scan) && args.one_file().is_some(),
            "scans are several files, and OUT is one",
            "name a folder with -o, and the format with --to",
        ),
        (
            is_px4 && args.one_file().is_some(),
            "--layout px4 makes several files, and OUT is one",
            "name a folder with -o, and --to parquet",
        ),
        (
            args.points.per.is_some() && !target.is_points(),
            "--per is for points",
            "as with --to pcd",
        ),
        (
            args.is_stdout() && !is_stream,
            "this format cannot be written to standard output",
            "csv, jsonl and arrow can; others need a file: name it with -o",
        ),
        (
            args.is_stdout() && args.inputs.len() > 1,
            "several logs, and one standard output",
            "convert them one by one",
        ),
        (
            is_px4 && args.clock.time() != TimeChoice::Boot,
            "--layout px4 needs --time boot",
            "its viewer counts from there",
        ),
    ];
    match rules.into_iter().find(|(is_wrong, ..)| *is_wrong) {
        Some((_, what, hint)) => Err(Error::invalid(what).with_hint(hint)),
        None => Ok(()),
    }
}
