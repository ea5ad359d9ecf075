//! Creates a ULog from the stream in a telemetry log.

use std::{collections::BTreeMap, io::Write as _, path::Path, time::Duration};

use logtool_mavlink::{
    StreamPacket, UlogStream,
    tlog::{TlogPart, TlogReader},
};
use logtool_sinks::ExistingFiles;

use crate::{
    error::{Context as _, Error, ErrorKind, Result},
    jobs::{
        output::guarded_outputs,
        record::{
            Recording,
            report::{RecordReport, RecordingEnd},
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

/// Creates a ULog from the first log in the telemetry log `input`.
pub(super) fn convert(
    request: &Recording,
    input: &Path,
    session: &Session,
) -> Result<RecordReport> {
    let input = Input::open(input, session)?;
    let name = || input.name.clone();
    let existing =
        if request.replaces { ExistingFiles::Replace } else { ExistingFiles::Refuse };
    let outputs = guarded_outputs::for_log(&request.output, existing, session)?;
    let file_name = request.output.file_name().unwrap_or_default().to_string_lossy();
    let mut file = outputs.create(&file_name)?;

    let mut report = RecordReport::new(request.output.clone(), RecordingEnd::EndOfFile);
    let mut streams = Streams::new(request.system);
    let mut reader = TlogReader::new(SourceReader::new(input.source.clone()));
    let mut ulog = Vec::new();
    let mut frames = 0_u64;
    while let Some(part) = reader.read_part().with_context(name)? {
        match part {
            TlogPart::Frame(time, frame) => {
                frames += 1;
                let system = frame.system;
                match frame.into_packet() {
                    Some(Some(packet)) => streams.push(system, packet, time, &mut ulog),
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
    streams.finish(&mut ulog);
    let Some((system, stream)) = streams.recorded_stream() else {
        return Err(streams.nothing_found(frames).context(name()));
    };
    report.system = system;
    report.stream = stream.statistics();
    report.duration = Duration::from_micros(streams.last.saturating_sub(streams.first));
    report.other_packets = streams.other_packets;
    request.check(&report).with_context(name)?;
    file.write_all(&ulog)?;
    file.finish()?;
    outputs.commit()?;
    Ok(report)
}

/// The streams of the vehicles in a telemetry log. The first one with a header is recorded.
struct Streams {
    requested: Option<u8>,
    streams: BTreeMap<u8, UlogStream>,
    recorded: Option<u8>,
    /// Whether the vehicle has started another log.
    is_over: bool,
    other_packets: u64,
    /// The times of the first and the last packet that were recorded.
    first: u64,
    last: u64,
}

impl Streams {
    fn new(requested: Option<u8>) -> Self {
        Self {
            requested,
            streams: BTreeMap::new(),
            recorded: None,
            is_over: false,
            other_packets: 0,
            first: 0,
            last: 0,
        }
    }

    fn push(
        &mut self,
        system: u8,
        packet: StreamPacket,
        time: u64,
        ulog: &mut Vec<u8>,
    ) {
        let is_other = self.requested.is_some_and(|requested| requested != system)
            || self.recorded.is_some_and(|recorded| recorded != system);
        if is_other || self.is_over {
            self.other_packets += 1;
            return;
        }
        let stream = self.streams.entry(system).or_default();
        if stream.push(packet, time, ulog).is_err() {
            self.is_over = true;
            self.other_packets += 1;
            return;
        }
        self.last = time;
        if self.recorded.is_none() && stream.has_header() {
            self.recorded = Some(system);
            self.first = time;
            let others = self.streams.iter().filter(|(other, _)| **other != system);
            self.other_packets +=
                others.map(|(_, stream)| stream.statistics().packets).sum::<u64>();
        }
    }

    /// Ends the stream that is recorded.
    fn finish(&mut self, ulog: &mut Vec<u8>) {
        let recorded = self.recorded.and_then(|system| self.streams.get_mut(&system));
        if let Some(stream) = recorded {
            stream.finish(self.last, ulog);
        }
    }

    /// Returns the vehicle and the stream that were recorded.
    fn recorded_stream(&self) -> Option<(u8, &UlogStream)> {
        let system = self.recorded?;
        Some((system, self.streams.get(&system)?))
    }

    /// Returns the error of a telemetry log without a log stream. It has this number of frames.
    fn nothing_found(&self, frames: u64) -> Error {
        let packets: u64 =
            self.streams.values().map(|stream| stream.statistics().packets).sum();
        if frames == 0 {
            Error::new(
                ErrorKind::Unrecognized,
                "not a telemetry log of MAVLink messages",
            )
        } else if packets > 0 {
            Error::not_found(
                "the log stream began before the telemetry log: its header is missing, without \
                 which it cannot be read",
            )
        } else {
            let count = count_of(frames, "MAVLink message");
            let error = Error::not_found(format!("no log stream in {count}"));
            error.with_hint(
                "a ground station records one if log streaming is on (in QGroundControl: \"Enable \
                 automatic logging\" under \"MAVLink 2.0 Logging\")",
            )
        }
    }
}
