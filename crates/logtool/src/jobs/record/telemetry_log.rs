//! Creates a ULog from the stream in a telemetry log.

mod senders;

use std::{io::Write as _, path::Path, time::Duration};

use logtool_mavlink::tlog::{TlogPart, TlogReader};

use crate::{
    error::{Context as _, Error, ErrorKind, Result},
    jobs::{
        output::guarded_outputs,
        record::{
            Recording,
            report::{RecordReport, RecordingEnd},
            telemetry_log::senders::Senders,
        },
    },
    source::{
        input::{Input, source_reader::SourceReader},
        session::Session,
    },
    text::units::count_of,
};

/// The number of bytes that are collected before they are written.
const BLOCK_BYTES: usize = 1 << 20;

/// Creates a ULog from the selected log in the telemetry log `input`.
pub(super) fn convert(
    request: &Recording,
    input: &Path,
    session: &Session,
) -> Result<RecordReport> {
    let input = Input::open(input, session)?;
    let name = || input.name.clone();
    let outputs = guarded_outputs::for_log(&request.output, request.existing, session)?;
    let file_name = request.output.file_name().unwrap_or_default().to_string_lossy();
    let mut file = outputs.create(&file_name)?;

    let mut report = RecordReport::new(request.output.clone(), RecordingEnd::EndOfFile);
    let mut senders = Senders::new(request);
    let mut reader = TlogReader::new(SourceReader::new(input.source.clone()));
    let mut ulog = Vec::new();
    let mut frames = 0_u64;
    while let Some(part) = reader.read_part().with_context(name)? {
        match part {
            TlogPart::Frame(time, frame) => {
                frames += 1;
                let sender = (frame.system, frame.component);
                match frame.into_packet() {
                    Some(Some(packet)) => senders.push(sender, packet, time, &mut ulog),
                    Some(None) => report.malformed_packets += 1,
                    None => {}
                }
            }
            TlogPart::Unknown => frames += 1,
            TlogPart::Damage(bytes) => report.add_damage(bytes),
        }
        if ulog.len() >= BLOCK_BYTES {
            file.write_all(&ulog)?;
            ulog.clear();
        }
    }
    senders.finish(&mut ulog);
    let Some((first, last)) = senders.report(&mut report) else {
        return Err(nothing_found(request, &senders, frames).context(name()));
    };
    report.duration = Duration::from_micros(last.saturating_sub(first));
    request.check(&report).with_context(name)?;
    file.write_all(&ulog)?;
    file.finish()?;
    outputs.commit()?;
    Ok(report)
}

/// Returns the error of a telemetry log without the requested log. It has this number of frames.
fn nothing_found(request: &Recording, senders: &Senders, frames: u64) -> Error {
    if frames == 0 {
        return Error::new(
            ErrorKind::Unrecognized,
            "not a telemetry log of MAVLink messages",
        );
    }
    if let (Some(log), 1..) = (request.log, senders.logs()) {
        let count = count_of(senders.logs(), "log");
        return Error::not_found(format!("it has {count}, and no log {log}"));
    }
    if senders.packets_before_header() > 0 {
        return Error::not_found(
            "the log stream began before the telemetry log: its header is missing, without which \
             it cannot be read",
        );
    }
    let count = count_of(frames, "MAVLink message");
    let error = Error::not_found(format!("no log stream in {count}"));
    error.with_hint(
        "a ground station records one if log streaming is on (in QGroundControl: \"Enable \
         automatic logging\" under \"MAVLink 2.0 Logging\")",
    )
}
