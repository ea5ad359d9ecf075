//! Plans splits of logs, and reads each of them in another process:
//! `cargo run -p logtool --example splits -- battery_status flight.ulg`.

use std::{
    env,
    io::{Write as _, stdin},
    process::{Command, Stdio},
};

use logtool::{PlanRequest, Result, Session, Split};

fn main() -> Result<()> {
    let mut args = env::args().skip(1);
    let topic = args.next().unwrap_or_default();
    if topic == "--worker" {
        return work();
    }
    let request =
        PlanRequest::new(args).with_topics([topic]).with_target_bytes(1 << 20);
    for split in request.run(&Session::new())?.splits {
        // This may be another machine: a split is a few kilobytes of JSON.
        let mut worker = Command::new(env::current_exe()?);
        let mut worker = worker.arg("--worker").stdin(Stdio::piped()).spawn()?;
        if let Some(mut input) = worker.stdin.take() {
            input.write_all(&serde_json::to_vec(&split)?)?;
        }
        worker.wait()?;
    }
    Ok(())
}

fn work() -> Result<()> {
    let split: Split = serde_json::from_reader(stdin())?;
    let mut batches = logtool::read(&split)?;
    let mut rows = 0;
    for batch in &mut batches {
        rows += batch?.num_rows();
    }
    println!("{}: {rows} rows, {} damaged", split.topic(), batches.damage().len());
    Ok(())
}
