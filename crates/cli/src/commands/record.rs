//! `logtool record`: records the log that a vehicle streams.

use std::path::Path;

use logtool::{
    Error, Result,
    input::STDIN,
    record::{Address, RecordReport, Recording, RecordingEnd},
    units::{Bytes, Count, Span, count_of},
};

use crate::{
    args::{GlobalArgs, MavlinkArgs, RecordingArgs, RecordingCommand},
    exit_status::Outcome,
    process::interrupt,
    terminal::{color, say},
};

pub(super) fn run(args: &RecordingArgs, global: &GlobalArgs) -> Result<Outcome> {
    match &args.command {
        RecordingCommand::Mavlink(args) => mavlink(args, global),
    }
}

fn mavlink(args: &MavlinkArgs, global: &GlobalArgs) -> Result<Outcome> {
    let mut recording = recording(&args.source, &args.out)?;
    if args.force {
        recording = recording.with_replacement();
    }
    if let Some(system) = args.system {
        recording = recording.with_system(system);
    }
    if let Some(log) = args.log {
        recording = recording.with_log(log);
    }
    if let Some(duration) = args.duration {
        recording = recording.with_duration(duration);
    }
    if let Some(timeout) = args.timeout {
        recording = recording.with_timeout(timeout);
    }
    if args.restart {
        recording = recording.with_restart();
    }
    let report = recording.with_strictness(global.strictness()).run(&global.session)?;
    if !global.quiet {
        print(&args.source, &report);
    }
    Ok(if report.has_losses() { Outcome::DataLost } else { Outcome::Done })
}

/// Returns the request to record `source`, an address or the path of a telemetry log.
fn recording(source: &str, out: &Path) -> Result<Recording> {
    match source.parse::<Address>() {
        Ok(address) => {
            // The signal is only for vehicles: a conversion ends at once, and leaves no file.
            let recording = Recording::from_vehicle(address, out);
            Ok(recording.with_stop(interrupt::stop_signal()))
        }
        Err(err) => {
            let path = Path::new(source);
            let is_log = path.extension().is_some_and(|extension| extension == "tlog");
            if !is_log && source != STDIN && !path.exists() {
                return Err(Error::invalid_request(format!("`{source}` is {err}")));
            }
            Ok(Recording::from_telemetry_log(path, out))
        }
    }
}

/// Prints the summary and the losses.
fn print(source: &str, report: &RecordReport) {
    let stream = &report.stream;
    say!(
        "{source} → {}: {}, {} of {}",
        report.path.display(),
        count_of(stream.messages, "message"),
        Bytes(stream.bytes),
        Span(u64::try_from(report.duration.as_nanos()).unwrap_or(u64::MAX)),
    );
    print_losses(report);
    if stream.repeated_packets > 0 {
        let repeated = count_of(stream.repeated_packets, "packet");
        say!("{source}: {repeated} came again with the same bytes");
    }
    let warning = color::for_stderr().yellow("warning:");
    if report.damaged_ranges > 0 {
        say!(
            "{warning} {source}: damaged: {} in {}",
            count_of(report.damaged_bytes, "byte"),
            count_of(report.damaged_ranges, "place"),
        );
        for bytes in &report.damage {
            say!("  bytes {}..{}: no MAVLink message", bytes.start, bytes.end);
        }
        let listed = report.damage.len() as u64;
        if listed < report.damaged_ranges {
            say!("  and {}", count_of(report.damaged_ranges - listed, "more place"));
        }
    }
    print_other_packets(source, report);
    match &report.end {
        RecordingEnd::Requested(false) => {
            say!(
                "{warning} the vehicle has not confirmed that it stopped its log stream"
            );
        }
        RecordingEnd::Silence(time) => {
            say!("{warning} the recording ended: no data for {} s", time.as_secs_f32());
        }
        RecordingEnd::Restart => {
            say!("{warning} the recording ended: the vehicle started another log");
        }
        RecordingEnd::Disconnected(why) => {
            say!("{warning} the recording ended: {why}");
        }
        _ => {}
    }
}

/// Prints the losses, if there are any.
fn print_losses(report: &RecordReport) {
    let stream = &report.stream;
    let counts = [
        (stream.lost_packets, "packet", ""),
        (stream.out_of_sequence_packets, "packet", " out of sequence"),
        (report.malformed_packets, "malformed packet", ""),
        (report.damaged_packets, "packet", " with wrong checksums"),
        (stream.contradictions, "contradicting packet", ""),
    ];
    let counts = counts.into_iter().filter(|(count, ..)| *count > 0);
    let mut losses: Vec<String> =
        counts.map(|(count, noun, which)| count_of(count, noun) + which).collect();
    if stream.skipped_bytes > 0 {
        losses.push(format!("{} of incomplete messages", Bytes(stream.skipped_bytes)));
    }
    if losses.is_empty() {
        return;
    }
    let dropouts = match stream.dropouts {
        0 => String::new(),
        count => format!(
            ", recorded as {} of {} ms in all",
            count_of(count, "dropout"),
            Count(stream.dropout_millis),
        ),
    };
    say!("{} {}{dropouts}", color::for_stderr().yellow("lost:"), losses.join(", "));
}

/// Prints how many packets are not in the file because they are of other logs.
fn print_other_packets(source: &str, report: &RecordReport) {
    let warning = color::for_stderr().yellow("warning:");
    if report.packets_before_header > 0 {
        say!(
            "{warning} {source}: {} before the header of a log, and unreadable without it",
            count_of(report.packets_before_header, "packet"),
        );
    }
    if report.other_packets > 0 {
        say!(
            "{warning} {source}: {} of other vehicles or of other logs, not in the file",
            count_of(report.other_packets, "packet"),
        );
    }
    if report.excluded_packets > 0 {
        say!(
            "{source}: left out: {} of other vehicles or of other logs",
            count_of(report.excluded_packets, "packet"),
        );
    }
    if report.other_senders > 0 {
        let senders = count_of(report.other_senders, "other sender");
        say!("{source}: {senders} ignored: only the first vehicle is recorded");
    }
    let (log, logs) = report.log;
    if logs > 1 {
        say!("{source}: this is log {log} of {logs}; --log chooses another one");
    }
}
