//! `logtool flight`: analyses the flight in a ULog.

use std::io::{self, Write as _};

use logtool::{Error, Result, flight::FlightRequest};

use crate::{
    args::{FlightArgs, GlobalArgs},
    exit_status::Outcome,
    notices,
    terminal::{self, color},
};

pub(super) fn run(args: &FlightArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut request = FlightRequest::new(&args.file)
        .with_clock(args.clock)
        .with_strictness(global.strictness());
    if args.signals {
        request = request.with_signals();
    }
    let flight = request.run(&global.session)?;
    let mut out = terminal::stdout();
    if args.json {
        let written = serde_json::to_writer(&mut out, &flight);
        written.map_err(|err| match err.io_error_kind() {
            Some(kind) => io::Error::from(kind).into(),
            None => Error::from(err),
        })?;
        writeln!(out)?;
    } else {
        out.write_all(flight.to_text(color::for_stdout()).as_bytes())?;
    }
    out.flush()?;
    Ok(notices::losses(flight.losses, global.quiet))
}
