//! `logtool flight`: analyses the flight in a ULog.

use std::io::Write as _;

use logtool::{Result, flight::FlightRequest};

use crate::{
    args::{FlightArgs, GlobalArgs},
    exit_status::Outcome,
    notices,
    terminal::{self, color, wrap},
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
        serde_json::to_writer(&mut out, &flight)?;
        writeln!(out)?;
    } else {
        let text = flight.to_text(color::for_stdout());
        out.write_all(wrap::for_stdout(&text).as_bytes())?;
    }
    out.flush()?;
    Ok(notices::losses(flight.losses, global.quiet))
}
