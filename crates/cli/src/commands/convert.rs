//! `logtool convert`: tables, one for each topic; or images, files of points, tracks, or a
//! log of another format.

mod images;
pub(super) mod job;
mod left_over;
pub(super) mod log;
mod merged;
pub(super) mod one;
mod points;
mod px4;
mod sidecar;
mod sink;
pub(super) mod tables;
mod tracks;

pub(super) use self::images::{Picture, PictureType};

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

use crate::{
    args::{ConvertArgs, EncodingChoice, GlobalArgs, Layout, Target, TimeChoice},
    complaint::{self, Complaint},
    input::STDIN,
    labels, opened,
    outcome::Outcome,
};

pub(super) fn run(args: &ConvertArgs, global: &GlobalArgs) -> Result<Outcome> {
    check(args)?;
    let places = places(args)?;
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
    if args.ros2 && args.target() != Target::Mcap {
        return misuse("--ros2 is for --to mcap", "or name a file with -o x.mcap");
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
        let hint = "csv, jsonl and arrow can; others are written to and fro";
        return misuse("this format cannot be written to standard output", hint);
    }
    if args.is_stdout() && args.inputs.len() > 1 {
        return misuse(
            "several logs, and one standard output",
            "convert them one by one",
        );
    }
    let is_px4 = args.layout == Some(Layout::Px4);
    if is_px4 && args.clock.time != TimeChoice::Boot {
        return misuse(
            "--layout px4 needs --time boot",
            "its viewer counts from there",
        );
    }
    Ok(())
}

/// Each input, and the folder that its tables go to.
fn places(args: &ConvertArgs) -> Result<Vec<(&Path, PathBuf)>> {
    let mut places: Vec<(&Path, PathBuf)> = Vec::new();
    let mut taken = BTreeMap::new();
    for input in &args.inputs {
        let place = place(input, args)?;
        if let Some(other) = taken.insert(place.clone(), input) {
            let (other, input) = (other.display(), input.display());
            let place = place.display();
            let what =
                format!("the tables of {other} and {input} would both be in {place}");
            let hint = "convert them one by one, each with its own -o";
            return Err(Complaint::misuse(what).hint(hint).into());
        }
        places.push((input, place));
    }
    Ok(places)
}

fn place(input: &Path, args: &ConvertArgs) -> Result<PathBuf> {
    if args.target().is_log() {
        return log::place(input, args);
    }
    let is_stdin = input.as_os_str() == STDIN;
    let stem = || match is_stdin {
        true => Ok("stdin".to_owned()),
        false => opened::stem(input).with_context(|| input.display().to_string()),
    };
    if let Some(file) = args.one_file() {
        if args.inputs.len() > 1 {
            let what = format!("several logs in one file, {}", file.display());
            let hint = "name a folder with -o, and a format with --to";
            return Err(Complaint::misuse(what).hint(hint).into());
        }
        return Ok(file.to_owned());
    }
    match &args.out {
        Some(out) if args.inputs.len() == 1 => {
            let ends = [
                "csv", "jsonl", "json", "parquet", "arrow", "feather", "npz", "mat",
                "kml", "gpx", "geojson",
            ];
            let end = out.extension().and_then(|end| end.to_str()).unwrap_or_default();
            if ends.contains(&end) && !out.is_dir() {
                let what = format!("{} looks like a file", out.display());
                let hint = "OUT is the folder in which each topic becomes a file";
                return Err(Complaint::misuse(what).hint(hint).into());
            }
            if out.is_file() {
                let what = format!("{} is a file, and no folder", out.display());
                let hint = "name a folder with -o";
                return Err(Complaint::misuse(what).hint(hint).into());
            }
            Ok(out.clone())
        }
        Some(out) => Ok(out.join(stem()?)),
        None if is_stdin => {
            let what = "a log from standard input has no name to call the tables after";
            Err(Complaint::misuse(what).hint("name a folder with -o").into())
        }
        None => {
            let place = PathBuf::from(stem()?);
            if place.is_file() {
                let what = format!("{} is a file, and no folder", place.display());
                return Err(Complaint::misuse(what)
                    .hint("name a folder with -o")
                    .into());
            }
            Ok(place)
        }
    }
}
