//! `logtool read`: reads splits that `logtool plan` printed.

use std::{
    io::{self, BufRead, BufReader, Read as _},
    path::Path,
};

use logtool::{
    Error, ErrorKind, Result, Split,
    convert::OutputFormat,
    error::Context as _,
    input::{STDIN_NAME, side_file},
    split::ReadRequest,
    units::count_of,
};

use crate::{
    args::{GlobalArgs, ReadArgs},
    exit_status::Outcome,
    notices,
    terminal::say,
};

/// The maximum length of a line with a split, in bytes.
const MAX_LINE_BYTES: u64 = 64 << 20;

pub(super) fn run(args: &ReadArgs, global: &GlobalArgs) -> Result<Outcome> {
    let is_stdout = args.out.as_os_str() == "-";
    let by_name = OutputFormat::from_file_name(&args.out);
    if let (None, None, Some(extension)) = (args.format, by_name, args.out.extension())
    {
        let extension = extension.display();
        let what = format!("no output format has the extension .{extension}");
        let hint =
            "let the name end in .arrow, .parquet, .jsonl or .csv, or use --format";
        return Err(Error::invalid_request(what).with_hint(hint));
    }
    let format = args.format.or(by_name).unwrap_or(OutputFormat::Arrow);
    let mut request = ReadRequest::new(splits(&args.split)?)
        .with_format(format)
        .with_strictness(global.strictness());
    if !is_stdout {
        request = request.with_output(&args.out);
    }
    if args.force {
        request = request.with_replacement();
    }
    let report = request.run(&global.session)?;
    if !is_stdout && !global.quiet {
        say!("{}: {}", args.out.display(), count_of(report.rows, "row"));
    }
    let losses = report.losses.into_iter();
    let outcomes = losses.map(|losses| notices::losses(losses, global.quiet));
    Ok(outcomes.max().unwrap_or(Outcome::Done))
}

/// Returns the splits in the lines of the file at `path`.
fn splits(path: &Path) -> Result<Vec<Split>> {
    if path.as_os_str() == "-" {
        return parse_lines(&mut io::stdin().lock()).context(STDIN_NAME);
    }
    let file = side_file::open(path, "the splits")?;
    parse_lines(&mut BufReader::new(file)).with_context(|| path.display().to_string())
}

/// Parses the splits in `lines`.
fn parse_lines(lines: &mut impl BufRead) -> Result<Vec<Split>> {
    let mut splits = Vec::new();
    for number in 1_u64.. {
        let mut line = Vec::new();
        let len = lines.take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if len == 0 {
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let split = serde_json::from_slice(&line).map_err(|err| {
            let error = Error::from_source(ErrorKind::InvalidRequest, err);
            error.context(format!("line {number} is not a split"))
        })?;
        splits.push(split);
    }
    Ok(splits)
}
