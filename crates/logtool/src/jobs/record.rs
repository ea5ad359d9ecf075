//! Records the log stream of a vehicle.

mod live;
mod recorded_file;
mod report;
mod telemetry_log;

use std::{
    num::NonZeroU64,
    path::{Path, PathBuf},
    time::Duration,
};

pub use logtool_mavlink::{StreamStatistics, link::Address};
use logtool_sinks::ExistingFiles;

pub use self::report::{RecordReport, RecordingEnd};
use crate::{
    error::{Context as _, Error, ErrorKind, Result},
    jobs::output::{log_writer, overwrite_guard},
    source::{
        input::{STDIN, url},
        losses::Strictness,
        session::{Session, Stop},
    },
};

/// A request to record the ULog that a vehicle streams over MAVLink, or to read it from a
/// telemetry log (`.tlog`).
///
/// The recording of a vehicle grows under its final name. It is a valid ULog at each moment, so
/// that it is kept if the program is killed, and other programs can follow it. The ULog of a
/// telemetry log appears when it is complete.
///
/// ```no_run
/// use std::time::Duration;
/// use logtool::{Session, record::Recording};
///
/// let address = "udp:14550".parse()?;
/// let recording = Recording::from_vehicle(address, "flight.ulg");
/// let report = recording.with_duration(Duration::from_secs(60)).run(&Session::new())?;
/// println!("{} messages, {} dropouts", report.stream.messages, report.stream.dropouts);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Recording {
    source: Source,
    output: PathBuf,
    existing: ExistingFiles,
    system: Option<u8>,
    log: Option<NonZeroU64>,
    duration: Option<Duration>,
    timeout: Duration,
    stops_earlier_stream: bool,
    strictness: Strictness,
    stop: Stop,
}

#[derive(Clone, Debug)]
enum Source {
    Vehicle(Address),
    TelemetryLog(PathBuf),
}

impl Recording {
    /// The time to wait for a vehicle and for its data, by default.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

    /// Creates a request to record the stream of the vehicle at `address` to the file `output`.
    pub fn from_vehicle(address: Address, output: impl Into<PathBuf>) -> Self {
        Self::new(Source::Vehicle(address), output.into())
    }

    /// Creates a request to write the ULog that was streamed while the telemetry log `input` was
    /// recorded to the file `output`.
    pub fn from_telemetry_log(
        input: impl Into<PathBuf>,
        output: impl Into<PathBuf>,
    ) -> Self {
        Self::new(Source::TelemetryLog(input.into()), output.into())
    }

    fn new(source: Source, output: PathBuf) -> Self {
        Self {
            source,
            output,
            existing: ExistingFiles::Refuse,
            system: None,
            log: None,
            duration: None,
            timeout: Self::DEFAULT_TIMEOUT,
            stops_earlier_stream: false,
            strictness: Strictness::Tolerant,
            stop: Stop::new(),
        }
    }

    /// Replaces a file that exists at the path of the output.
    pub fn with_replacement(mut self) -> Self {
        self.existing = ExistingFiles::Replace;
        self
    }

    /// Records the vehicle with this system id. By default, it is the first vehicle that sends a
    /// message.
    pub fn with_system(mut self, system: u8) -> Self {
        self.system = Some(system);
        self
    }

    /// Reads this log of a telemetry log, in the order of their first packets. By default, it is
    /// the first one.
    pub fn with_log(mut self, log: NonZeroU64) -> Self {
        self.log = Some(log);
        self
    }

    /// Ends the recording after this time from the first data on. By default, only the signal ends
    /// it.
    pub fn with_duration(mut self, duration: Duration) -> Self {
        self.duration = Some(duration);
        self
    }

    /// Waits for this time for the vehicle and for its data. If a stream is silent for this time,
    /// the recording ends.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Stops a stream that the vehicle already sends before a new one is started. The header of the
    /// old stream was already sent, so that stream cannot be recorded.
    pub fn with_restart(mut self) -> Self {
        self.stops_earlier_stream = true;
        self
    }

    /// Decides whether a loss is an error. The recording of a vehicle is kept all the same, and the
    /// ULog of a telemetry log does not appear.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Ends the recording when `stop` is set: the stream is stopped, and the file is finished.
    pub fn with_stop(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    /// Records until the signal is set, or until the end of the stream.
    ///
    /// # Errors
    /// `AlreadyExists` if the output exists and may not be replaced, `Damaged` if a loss is an
    /// error, `NotFound` if there is no vehicle or no such log, `InvalidRequest` for a further log
    /// of a vehicle, and those of the connection and of the file. If data was recorded, it
    /// stays, and the end of a connection is not an error.
    pub fn run(&self, session: &Session) -> Result<RecordReport> {
        let output = self.output.as_path();
        if output == Path::new(STDIN) || url::from_path(output).is_some() {
            let hint = "record to a file, and copy it when it is complete";
            return Err(
                Error::invalid_request("a recording is a local file").with_hint(hint)
            );
        }
        log_writer::check_ulog_name(output, "a recording")?;
        match &self.source {
            Source::Vehicle(_) if self.log.is_some() => {
                let message = "only a telemetry log has several logs to choose from";
                Err(Error::invalid_request(message))
            }
            Source::Vehicle(address) => {
                let report = live::record(self, address, session)?;
                self.check(&report).with_context(|| address.to_string())?;
                Ok(report)
            }
            Source::TelemetryLog(input) => {
                overwrite_guard::refuse(output, [input.as_path()])?;
                telemetry_log::convert(self, input, session)
            }
        }
    }

    /// Returns an error if something was lost and that is an error.
    fn check(&self, report: &RecordReport) -> Result<()> {
        if self.strictness.is_strict() && report.has_losses() {
            let message = "a part of the log was lost";
            return Err(Error::new(ErrorKind::Damaged, message));
        }
        Ok(())
    }
}
