//! `logtool convert`: tables, one for each topic; or images, files of points, tracks, or a
//! log of another format.

mod images;
pub(super) mod job;
mod left_over;
pub(super) mod log;
mod merged;
pub(super) mod one;
mod place;
mod points;
mod px4;
mod sidecar;
mod sink;
pub(super) mod tables;
mod tracks;

pub(super) use self::images::{Picture, PictureType};

use anyhow::Result;

use crate::{
    args::{ConvertArgs, EncodingChoice, GlobalArgs, Layout, Target, TimeChoice},
    complaint::{self, Complaint},
    labels,
    outcome::Outcome,
};

pub(super) fn run(args: &ConvertArgs, global: &GlobalArgs) -> Result<Outcome> {
    check(args)?;
    let places = place::places(args)?;
    let labels = labels::read(&args.labels)?;
    let mut worst = Outcome::Done;
    for (input, place) in &places {
        let done = match args.target() {
            target if target.is_log() => log::run(input, place, args, global),
            _ => one::run(input, place, args, labels.clone(), global),
        };
        worst = worst.max(match done {
            Err(err) if places.len() > 1 => {
                complaint::print(&err);
                Outcome::Failed
            }
            done => done?,
        });
    }
    Ok(worst)
}

/// Refuses what cannot be meant together.
pub(super) fn check(args: &ConvertArgs) -> Result<()> {
    let misuse = |what: &str, hint: &str| {
        let complaint = Complaint::misuse(what.to_owned());
        Err(complaint.hint(hint.to_owned()).into())
    };
    if args.is_ambiguous() {
        let hint = "once it may be a format, and once a time";
        return misuse("--to is given twice for the same", hint);
    }
    if args.layout.is_some() && args.target() != Target::Parquet {
        return misuse(
            "--layout is for --to parquet",
            "for the others there is --flat",
        );
    }
    let has_columns = args.flat || !args.fields.is_empty() || args.merge.is_some();
    if args.target() == Target::Images && has_columns {
        let hint = "--flat, --field and --merge are for tables";
        return misuse("--to images has no columns to choose", hint);
    }
    if args.target().is_log() && has_columns {
        let hint = "--flat, --field and --merge are for tables";
        return misuse("a log has no columns to choose", hint);
    }
    if args.target().is_log() && (args.labels.labels || args.labels.msg_dir.is_some()) {
        let hint = "--labels and --msg-dir are for tables";
        return misuse("the records of a log have no names of values", hint);
    }
    let is_cut = args.records.from.is_some() || args.end().is_some();
    let moves = args.clock.time.is_some_and(|time| time != TimeChoice::Utc);
    if args.target().is_log() && moves && !is_cut {
        let hint = "--time is the clock of --from and --to here: records keep their \
                    times, or are at UTC where they are translated";
        return misuse("a log has no other clock to choose", hint);
    }
    if args.ros2 && args.target() != Target::Mcap {
        return misuse("--ros2 is for --to mcap", "or name a file with -o x.mcap");
    }
    if args.foxglove && args.target() != Target::Mcap {
        return misuse("--foxglove is for --to mcap", "or name a file with -o x.mcap");
    }
    let has_chunks = matches!(args.target(), Target::Mcap | Target::Bag);
    if args.compression.is_some() && !has_chunks {
        let hint = "leave it out, or name a file with -o x.mcap";
        return misuse("--compression is for --to mcap and --to bag", hint);
    }
    if args.target().is_track() && has_columns {
        let hint = "--flat, --field and --merge are for tables";
        return misuse("tracks have no columns to choose", hint);
    }
    if args.target().is_points() && has_columns {
        let hint = "--flat, --field and --merge are for tables";
        return misuse("files of points have all their columns", hint);
    }
    let has_encoding = matches!(args.target(), Target::Pcd | Target::Ply);
    if args.points.encoding.is_some() && !has_encoding {
        return misuse("--encoding is for --to pcd and --to ply", "leave it out");
    }
    if args.points.encoding == Some(EncodingChoice::Compressed)
        && args.target() == Target::Ply
    {
        return misuse("PLY files cannot be compressed", "PCD files can");
    }
    let has_look = args.picture.color.is_some() || args.picture.reach.is_some();
    if has_look && args.target() != Target::Png {
        return misuse("--color and --reach are for --to png", "leave them out");
    }
    if args.points.per.is_some() && !args.target().is_points() {
        return misuse("--per is for points", "as with --to pcd");
    }
    let is_stream =
        matches!(args.target(), Target::Csv | Target::Jsonl | Target::Arrow);
    if args.is_stdout() && !is_stream {
        let hint = "csv, jsonl and arrow can; others need a file: name it with -o";
        return misuse("this format cannot be written to standard output", hint);
    }
    if args.is_stdout() && args.inputs.len() > 1 {
        return misuse(
            "several logs, and one standard output",
            "convert them one by one",
        );
    }
    let is_px4 = args.layout == Some(Layout::Px4);
    if is_px4 && args.clock.time() != TimeChoice::Boot {
        return misuse(
            "--layout px4 needs --time boot",
            "its viewer counts from there",
        );
    }
    Ok(())
}
