//! `logtool info`: describes logs.

use std::{io::Write as _, path::Path};

use logtool::{
    Error, ErrorKind, Result,
    error::Context as _,
    info::{InfoRequest, TextOptions},
};
use logtool_rosbag::EncryptionInfo;

use crate::{
    args::{GlobalArgs, InfoArgs, TimeChoice},
    error,
    exit_status::Outcome,
    lidar_options, notices,
    terminal::{self, color, wrap},
};

pub(super) fn run(args: &InfoArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut worst = Outcome::Done;
    for (index, file) in args.files.iter().enumerate() {
        let done = describe(file, index == 0, args, global);
        if let (true, Err(err)) = (args.json, &done) {
            error::print_json(file, err)?;
        }
        worst = worst.max(match done {
            Err(err) if args.files.len() > 1 && !error::is_broken_pipe(&err) => {
                error::print_one_of_several(&err)
            }
            done => done?,
        });
    }
    Ok(worst)
}

fn describe(
    file: &Path,
    is_first: bool,
    args: &InfoArgs,
    global: &GlobalArgs,
) -> Result<Outcome> {
    let mut request = InfoRequest::new(file)
        .with_lidar(lidar_options::options(&args.lidar, TimeChoice::Boot)?)
        .with_strictness(global.strictness());
    if args.freq {
        request = request.with_frequencies();
    }
    if args.health {
        request = request.with_health();
    }
    if args.digest {
        request = request.with_digest();
    }
    let info = request.run(&global.session)?;
    let mut out = terminal::stdout();
    if let Some(key) = &args.show {
        let information = info.information(key).with_context(|| info.file.clone())?;
        if information.is_binary() && terminal::stdout_is_seen() {
            let what = format!("{}: {key} is binary", info.file);
            return Err(Error::other(what).with_hint("redirect the output to a file"));
        }
        out.write_all(&information.to_bytes())?;
        out.flush()?;
        return Ok(notices::outcome(info.losses()));
    }
    if args.json {
        let written = if terminal::stdout_is_seen() {
            serde_json::to_writer_pretty(&mut out, &info)
        } else {
            serde_json::to_writer(&mut out, &info)
        };
        written?;
        writeln!(out)?;
    } else {
        if !is_first {
            writeln!(out)?;
        }
        let mut options = TextOptions::new()
            .with_style(color::for_stdout())
            .with_clock(args.clock.choice());
        if terminal::stdout_is_seen() {
            options = options.with_short_topics();
        }
        out.write_all(wrap::for_stdout(&info.to_text(&options)).as_bytes())?;
    }
    out.flush()?;
    let encryption = EncryptionInfo::from_manifest(info.log().manifest());
    let needs_key = |encryption: EncryptionInfo| {
        encryption.is_locked && !encryption.encrypted_key.is_empty()
    };
    if !args.json && !global.quiet && encryption.is_some_and(needs_key) {
        notices::hint_of_kind(ErrorKind::NeedsKey);
    }
    Ok(notices::outcome(info.losses()))
}
