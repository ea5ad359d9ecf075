//! Records the stream of a vehicle over a connection.

use std::{
    io,
    time::{Duration, Instant},
};

use logtool_core::describe_io_error;
use logtool_mavlink::{
    CommandResult, ReceivedFrame, UlogStream, Vehicle, VehicleEvent,
    link::{Address, Link},
};

use crate::{
    error::{Context as _, Error, ErrorKind, Result},
    jobs::record::{
        Recording,
        recorded_file::RecordedFile,
        report::{RecordReport, RecordingEnd},
    },
    source::session::{NoticeLevel, Session},
};

/// The maximum time until the vehicle confirms that it has stopped its stream.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The time to wait for packets that were in transit when the vehicle confirmed its stop.
const LAST_PACKETS: Duration = Duration::from_millis(300);

/// Records the stream of the vehicle at `address`.
pub(super) fn record(
    request: &Recording,
    address: &Address,
    session: &Session,
) -> Result<RecordReport> {
    let file = RecordedFile::new(&request.output, request.existing)?;
    let link = Link::open(address, request.timeout)
        .map_err(|err| connection_error(address, err))?;
    let name = address.to_string();
    let mut recorder = Recorder::new(request, file, link, session, &name);
    recorder.note("waiting for a vehicle");
    let end = loop {
        match recorder.step() {
            Ok(None) => {}
            Ok(Some(end)) => break end,
            Err(err) => {
                // The first error counts.
                let _ = recorder.stop_stream();
                let has_data = recorder.file.is_created();
                let err = err.context(&name);
                if !has_data {
                    return Err(err);
                }
                let output = request.output.display();
                return Err(
                    err.with_hint(format!("the recording until then is in {output}"))
                );
            }
        }
    };
    recorder.finish(end).with_context(|| name.clone())
}

/// Returns the error of a connection that cannot be opened.
fn connection_error(address: &Address, err: io::Error) -> Error {
    let kind = err.kind();
    let error = Error::from(err).context(address.to_string());
    match (address, kind) {
        (Address::UdpListen(..), io::ErrorKind::AddrInUse) => error.with_hint(
            "another program receives there; let it, or the vehicle, send to another port too",
        ),
        (Address::UdpListen(host, port), io::ErrorKind::AddrNotAvailable) => {
            error.with_hint(format!(
                "udp: receives at an address of this machine; udpout:{host}:{port} sends to \
                 another one"
            ))
        }
        _ => error,
    }
}

/// A recording that is being made.
struct Recorder<'r> {
    request: &'r Recording,
    session: &'r Session,
    name: &'r str,
    link: Link,
    vehicle: Vehicle,
    stream: UlogStream,
    file: RecordedFile,
    report: RecordReport,
    start: Instant,
    /// The time at which a heartbeat, an answer or data of the vehicle last arrived.
    last_sign: Instant,
    first_data: Option<Instant>,
    /// Whether the vehicle has accepted the start of the stream.
    is_started: bool,
    /// The answer if the vehicle did not start its stream.
    refusal: Option<CommandResult>,
    frames: Vec<ReceivedFrame>,
    ulog: Vec<u8>,
}

impl<'r> Recorder<'r> {
    fn new(
        request: &'r Recording,
        file: RecordedFile,
        link: Link,
        session: &'r Session,
        name: &'r str,
    ) -> Self {
        let now = Instant::now();
        Self {
            request,
            session,
            name,
            link,
            vehicle: Vehicle::new(request.system),
            stream: UlogStream::default(),
            file,
            report: RecordReport::new(
                request.output.clone(),
                RecordingEnd::Requested(false),
            ),
            start: now,
            last_sign: now,
            first_data: None,
            is_started: false,
            refusal: None,
            frames: Vec::new(),
            ulog: Vec::new(),
        }
    }

    /// Sends due frames, waits for others, and writes the messages that they complete. Returns why
    /// the recording ends, if it does.
    fn step(&mut self) -> Result<Option<RecordingEnd>> {
        match self.exchange() {
            Ok(None) => {}
            Ok(end) => return Ok(end),
            Err(err) if self.stream.has_header() => {
                let reason = match err.kind() {
                    io::ErrorKind::UnexpectedEof => {
                        "the connection was closed".to_owned()
                    }
                    _ => describe_io_error(&err),
                };
                return Ok(Some(RecordingEnd::Disconnected(reason)));
            }
            Err(err) => return Err(err.into()),
        }
        self.file.append(&mut self.ulog)?;
        let is_over = self
            .first_data
            .zip(self.request.duration)
            .is_some_and(|(first, duration)| first.elapsed() >= duration);
        if is_over || self.request.stop.is_set() {
            return Ok(Some(RecordingEnd::Requested(false)));
        }
        // A vehicle that is busy now may be ready later.
        let is_refused = self
            .refusal
            .is_some_and(|result| result != CommandResult::TemporarilyRejected);
        if self.last_sign.elapsed() < self.request.timeout && !is_refused {
            return Ok(None);
        }
        if self.stream.has_header() {
            return Ok(Some(RecordingEnd::Silence(self.request.timeout)));
        }
        Err(self.nothing_came())
    }

    /// Sends due frames, waits for others, and handles them. Returns why the stream ends, if it does.
    fn exchange(&mut self) -> io::Result<Option<RecordingEnd>> {
        let (frames, now) = self.exchange_frames()?;
        for frame in frames {
            if let Some(event) = self.vehicle.receive(frame, now)
                && let Some(end) = self.handle(event, now)
            {
                return Ok(Some(end));
            }
        }
        self.stream.advance(now, &mut self.ulog);
        Ok(None)
    }

    /// Sends due frames and waits for others. Returns the received frames, and when they came.
    fn exchange_frames(&mut self) -> io::Result<(Vec<ReceivedFrame>, u64)> {
        self.vehicle.advance(self.now());
        for frame in self.vehicle.take_outgoing() {
            self.link.send(&frame)?;
        }
        self.link.receive(&mut self.frames)?;
        Ok((std::mem::take(&mut self.frames), self.now()))
    }

    /// Reports the progress of the recording to the user.
    fn note(&self, text: &str) {
        self.session.progress.notice(NoticeLevel::Note, self.name, text);
    }

    fn handle(&mut self, event: VehicleEvent, now: u64) -> Option<RecordingEnd> {
        match event {
            VehicleEvent::Found { system, address } => {
                self.last_sign = Instant::now();
                self.report.system = system;
                if let Some(address) = address {
                    self.link.set_vehicle(address);
                }
                if self.request.stops_earlier_stream {
                    self.vehicle.stop_earlier_stream();
                }
                self.note(&format!("found vehicle {system}"));
            }
            VehicleEvent::Start(CommandResult::Accepted) => {
                self.last_sign = Instant::now();
                self.is_started = true;
                self.refusal = None;
                self.note("the vehicle starts its log stream");
            }
            VehicleEvent::Start(CommandResult::InProgress) => {}
            VehicleEvent::Start(result) => {
                self.refusal = Some(result);
                if self.request.stops_earlier_stream {
                    // The command was lost, or takes some time.
                    self.vehicle.stop_earlier_stream();
                }
            }
            VehicleEvent::Packet(packet) => {
                // A stream without a header cannot be decoded.
                let had_header = self.stream.has_header();
                if self.stream.push(packet, now, &mut self.ulog).is_err() {
                    self.report.other_packets += 1;
                    return Some(RecordingEnd::Restart);
                }
                if self.stream.is_over() {
                    return Some(RecordingEnd::Restart);
                }
                if self.stream.has_header() {
                    self.last_sign = Instant::now();
                    if !had_header {
                        self.vehicle.confirm_start();
                        self.refusal = None;
                        self.first_data = Some(self.last_sign);
                        let output = self.request.output.display();
                        self.note(&format!("recording to {output}"));
                    }
                }
            }
            VehicleEvent::MalformedPacket => self.report.malformed_packets += 1,
            VehicleEvent::EarlyPacket => self.report.packets_before_header += 1,
            VehicleEvent::OtherPacket if self.request.system.is_some() => {
                self.report.excluded_packets += 1;
            }
            VehicleEvent::OtherPacket => self.report.other_packets += 1,
            VehicleEvent::Stopped => {}
        }
        None
    }

    /// Stops the stream, and finishes the file.
    fn finish(mut self, end: RecordingEnd) -> Result<RecordReport> {
        let is_stopped = match end {
            RecordingEnd::Disconnected(_) | RecordingEnd::Restart => false,
            _ => self.stop_stream().unwrap_or(false),
        };
        let now = self.now();
        self.stream.finish(now, &mut self.ulog);
        self.file.append(&mut self.ulog)?;
        if !self.stream.has_header() {
            return Err(Error::other(
                "stopped before the vehicle sent its log; nothing was recorded",
            ));
        }
        self.file.finish()?;
        self.report.stream = self.stream.statistics();
        self.report.packets_before_header += self.report.stream.packets_before_header;
        self.report.damaged_packets = self.link.damaged_packets();
        self.report.other_senders = self.vehicle.other_senders();
        self.report.is_restarted = self.request.stops_earlier_stream;
        self.report.duration =
            self.first_data.map_or(Duration::ZERO, |first| self.last_sign - first);
        self.report.end = match end {
            RecordingEnd::Requested(_) => RecordingEnd::Requested(is_stopped),
            other => other,
        };
        Ok(self.report)
    }

    /// Sends the command that stops the stream until the vehicle answers, and records the packets
    /// until then. Returns whether it has answered.
    fn stop_stream(&mut self) -> io::Result<bool> {
        if !self.stream.has_header() && !self.is_started {
            // Another program may have started a stream, which is left alone.
            return Ok(false);
        }
        self.vehicle.stop(self.now());
        let begin = Instant::now();
        let mut stopped = None;
        while stopped.map_or(begin.elapsed() < STOP_TIMEOUT, |stop_time: Instant| {
            stop_time.elapsed() < LAST_PACKETS
        }) {
            let (frames, now) = self.exchange_frames()?;
            for frame in frames {
                match self.vehicle.receive(frame, now) {
                    Some(VehicleEvent::Stopped) => stopped = Some(Instant::now()),
                    Some(event) => {
                        self.handle(event, now);
                    }
                    None => {}
                }
            }
        }
        Ok(stopped.is_some())
    }

    /// Returns the error of a recording for which there was no header of a log in time.
    fn nothing_came(&self) -> Error {
        let seconds = self.request.timeout.as_secs_f32();
        let not_found = |message: String| Error::new(ErrorKind::NotFound, message);
        if !self.vehicle.is_found() {
            let which = match self.request.system {
                Some(system) => format!("vehicle {system}"),
                None => "a vehicle".to_owned(),
            };
            return not_found(format!("no heartbeat of {which} in {seconds} s"))
                .with_hint("the vehicle must send MAVLink to this address");
        }
        if self.stream.statistics().packets_before_header > 0 {
            let message = "the vehicle streams a log that was started before: its header is missing";
            return not_found(message.to_owned())
                .with_hint("--restart stops the other stream first");
        }
        match self.refusal {
            // Bit 1 of SDLOG_BACKEND is MAVLink, and bit 0 the SD card (PX4, logger/module.yaml).
            Some(CommandResult::TemporarilyRejected) => not_found(
                "the vehicle refuses to start a log stream now".to_owned(),
            )
            .with_hint(
                "--restart stops a stream that runs already; otherwise PX4's logger needs MAVLink \
                 as a backend (SDLOG_BACKEND 2 or 3)",
            ),
            Some(CommandResult::Denied) => not_found(
                "the vehicle denies the start of a log stream".to_owned(),
            )
            .with_hint("PX4 needs a link with a data rate of at least 5000 bytes per second"),
            Some(result) => {
                not_found(format!("the vehicle does not start a log stream: {result}"))
            }
            None => not_found(format!("the vehicle sent no log in {seconds} s"))
                .with_hint("PX4's logger must run"),
        }
    }

    /// Returns the time since the start, in microseconds.
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
