//! Repairs a log and prints the losses:
//! `cargo run -p logtool --example repair -- drive.bag.active drive.bag`.

use logtool::{Session, repair::Repair};
use logtool_core::Severity;

fn main() -> logtool::Result<()> {
    let mut args = std::env::args().skip(1);
    let (Some(input), Some(output)) = (args.next(), args.next()) else {
        eprintln!("usage: repair DAMAGED NEW");
        return Ok(());
    };
    let mut report = Repair::new(input, output.as_str()).run(&Session::new())?;
    println!("{} records, {} bytes", report.output.records, report.output.bytes);
    for finding in report.losses.sorted_findings() {
        println!("lost: {}", finding.text);
    }
    for finding in report.check.at_least(Severity::Warning) {
        println!("still wrong: {} ({})", finding.text, finding.code.name);
    }
    Ok(())
}
