//! New logs, message by message.

mod new_log;

use std::{
    collections::{BTreeMap, HashMap},
    io::BufWriter,
    path::PathBuf,
};

use logtool::{
    Error, ErrorKind, Result, Session,
    error::Context as _,
    formats::LogFormat,
    output::guarded_outputs::{self, GuardedOutputs},
};
use logtool_core::Timestamp;
use logtool_sinks::{ExistingFiles, StagedFile};
use logtool_ulog::{Level, ParameterValue};
use parking_lot::Mutex;
use pyo3::{prelude::*, types::PyType};

use crate::{
    arguments::options::choice,
    error::{invalid, to_python},
    runtime::call::Call,
    writer::new_log::{NewLog, NewMessage, NewTopic, TopicOfLog, micros},
};

/// The number of bytes of messages that are collected before they are written.
const PENDING_BYTES: usize = 1 << 20;

/// Writes a new log, message by message: a ULog, a bag, or an MCAP file, by the extension of the
/// path or by `format`.
///
/// The file appears when the writer is closed. In a `with` statement, an exception removes it.
/// `start_ns` is the time since boot at which a ULog starts, `profile` that of an MCAP file.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct Writer {
    path: PathBuf,
    /// The open log; `None` after it was closed or abandoned.
    state: Mutex<Option<OpenLog>>,
}

/// A log that is being written.
struct OpenLog {
    // It is dropped before `outputs`, which guards the file until then.
    log: NewLog,
    topics: HashMap<String, TopicOfLog>,
    pending: Vec<NewMessage>,
    pending_bytes: usize,
    outputs: GuardedOutputs,
}

impl OpenLog {
    /// Writes the messages that are waiting.
    fn flush(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        pending.iter().try_for_each(|message| self.log.write(message))
    }
}

impl Writer {
    /// Runs `work` with the open log. It must be called with the GIL.
    fn with_log<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut OpenLog) -> Result<T> + Send,
    ) -> PyResult<T> {
        let call = Call::new(Session::new(), Some(self.path.display().to_string()));
        call.run(py, || {
            let mut state = self.state.lock();
            let log = state.as_mut();
            work(log.ok_or_else(|| Error::invalid_request("the writer is closed"))?)
        })
    }

    /// Runs `work` with the writer of a ULog, after all pending messages are written.
    fn with_ulog<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(
            &mut logtool_ulog::write::Writer<BufWriter<StagedFile>>,
        ) -> logtool_core::Result<T>
        + Send,
    ) -> PyResult<T> {
        self.with_log(py, |open| {
            open.flush()?;
            match &mut open.log {
                NewLog::Ulog(writer) => Ok(work(writer)?),
                _ => Err(Error::new(
                    ErrorKind::Unsupported,
                    "this can only be added to a ULog",
                )),
            }
        })
    }
}

#[pymethods]
impl Writer {
    #[new]
    #[pyo3(signature = (
        path, format=None, *, compression=None, overwrite=false, start_ns=0, profile=None
    ))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        compression: Option<&str>,
        overwrite: bool,
        start_ns: u64,
        profile: Option<String>,
    ) -> PyResult<Self> {
        let format: Option<LogFormat> = choice("format", format)?;
        let compression = choice("compression", compression)?;
        let extension = path.extension().and_then(|end| end.to_str());
        let format = format.or_else(|| LogFormat::from_extension(extension?));
        let format =
            format.ok_or_else(|| invalid("the format of the new log is not known"))?;
        let existing =
            if overwrite { ExistingFiles::Replace } else { ExistingFiles::Refuse };
        let call = Call::new(Session::new(), Some(path.display().to_string()));
        let state = call.run(py, || {
            let outputs = guarded_outputs::for_log(&path, existing, call.session())?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let file =
                outputs.create(&name).with_context(|| path.display().to_string())?;
            let log = NewLog::new(
                format,
                file,
                compression,
                start_ns / 1_000,
                profile.unwrap_or_default(),
            )?;
            let (topics, pending) = (HashMap::new(), Vec::new());
            Ok(OpenLog { log, topics, pending, pending_bytes: 0, outputs })
        })?;
        Ok(Self { path, state: Mutex::new(Some(state)) })
    }

    /// Adds a topic.
    ///
    /// In a ULog, `name` is the name of its format, and `definition` its fields, such as
    /// `"uint64_t timestamp;float x;"`, or empty if the format is already defined. In a bag,
    /// `type_name` and `definition` are those of the ROS message. In an MCAP file, `encoding` is
    /// the encoding of the messages. It also determines the encoding of the schema, unless
    /// `schema_encoding` is given.
    #[pyo3(signature = (
        name, type_name="", definition=None, *, encoding=None,
        schema_encoding=None, instance=0, latched=false, caller=None, metadata=None
    ))]
    #[allow(clippy::too_many_arguments)] // keywords of Python
    fn add_topic(
        &self,
        py: Python<'_>,
        name: &str,
        type_name: &str,
        definition: Option<Definition>,
        encoding: Option<String>,
        schema_encoding: Option<String>,
        instance: u8,
        latched: bool,
        caller: Option<String>,
        metadata: Option<BTreeMap<String, String>>,
    ) -> PyResult<()> {
        let topic = NewTopic {
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            definition: definition.map(|text| text.0).unwrap_or_default(),
            encoding,
            schema_encoding,
            instance,
            is_latched: latched,
            caller,
            metadata: metadata.unwrap_or_default(),
        };
        let label =
            if instance == 0 { name.to_owned() } else { format!("{name}.{instance}") };
        self.with_log(py, |open| {
            open.flush()?;
            let topic = open.log.add_topic(topic)?;
            if open.topics.insert(label, topic).is_some() {
                return Err(Error::invalid_request(
                    "there is a topic of this name already",
                ));
            }
            Ok(())
        })
    }

    /// Adds a format to a ULog, which fields of other formats can have as their type.
    fn add_type(&self, py: Python<'_>, name: &str, fields: &str) -> PyResult<()> {
        self.with_ulog(py, |writer| writer.format(name, fields))
    }

    /// Adds an information message to a ULog: text, or an integer of 32 bits.
    fn add_info(
        &self,
        py: Python<'_>,
        name: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if let Ok(text) = value.extract::<String>() {
            return self.with_ulog(py, |writer| writer.info_text(name, &text));
        }
        let number: i64 = value.extract()?;
        if let Ok(number) = u32::try_from(number) {
            return self.with_ulog(py, |writer| writer.info_u32(name, number));
        }
        let number = i32::try_from(number).map_err(invalid)?;
        self.with_ulog(py, |writer| writer.info_i32(name, number))
    }

    /// Adds a parameter to a ULog: an integer of 32 bits, or a float.
    fn add_parameter(
        &self,
        py: Python<'_>,
        name: &str,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let value = match value.extract::<i32>() {
            Ok(number) => ParameterValue::from(number),
            Err(_) => ParameterValue::from(value.extract::<f32>()?),
        };
        self.with_ulog(py, |writer| writer.parameter(name, value))
    }

    /// Writes a text message to a ULog; `level` is that of syslog, from 0 to 7.
    fn log_message(
        &self,
        py: Python<'_>,
        level: u8,
        text: &str,
        time_ns: i64,
    ) -> PyResult<()> {
        let time = micros(Timestamp::from_nanos(time_ns));
        let time = time.map_err(|err| to_python(py, &err, None))?;
        self.with_ulog(py, |writer| writer.string(Level::new(level), time, text))
    }

    /// Adds metadata to an MCAP file.
    fn add_metadata(
        &self,
        py: Python<'_>,
        name: &str,
        entries: BTreeMap<String, String>,
    ) -> PyResult<()> {
        self.with_log(py, |open| {
            open.flush()?;
            match &mut open.log {
                NewLog::Mcap(writer) => Ok(writer.metadata(name, &entries)?),
                _ => Err(Error::new(
                    ErrorKind::Unsupported,
                    "metadata can only be added to an MCAP file",
                )),
            }
        })
    }

    /// Writes a message of the topic `topic`, at `time_ns` nanoseconds: since boot in a ULog,
    /// since 1970 in others.
    fn write(
        &self,
        py: Python<'_>,
        topic: &str,
        payload: Vec<u8>,
        time_ns: i64,
    ) -> PyResult<()> {
        let is_full = {
            let mut state = self.state.lock();
            let Some(open) = state.as_mut() else {
                let closed = Error::invalid_request("the writer is closed");
                return Err(to_python(py, &closed, None));
            };
            let Some(&topic) = open.topics.get(topic) else {
                let message = format!("the new log has no topic {topic:?}");
                return Err(to_python(py, &Error::not_found(message), None));
            };
            open.pending_bytes += payload.len() + size_of::<NewMessage>();
            let time = Timestamp::from_nanos(time_ns);
            open.pending.push(NewMessage { topic, time, payload });
            open.pending_bytes >= PENDING_BYTES
        };
        if is_full { self.with_log(py, OpenLog::flush) } else { Ok(()) }
    }

    /// Completes the log. The file appears now.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let call = Call::new(Session::new(), Some(self.path.display().to_string()));
        call.run(py, || {
            let Some(mut open) = self.state.lock().take() else { return Ok(()) };
            open.flush()?;
            open.log.finish()?;
            open.outputs.commit()?;
            Ok(())
        })
    }

    /// Removes the incomplete file.
    fn abandon(&self) {
        self.state.lock().take();
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (error_type, error, traceback))]
    fn __exit__(
        &self,
        py: Python<'_>,
        error_type: Option<&Bound<'_, PyType>>,
        error: Option<&Bound<'_, PyAny>>,
        traceback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let _ = (error, traceback);
        if error_type.is_none() {
            return self.close(py);
        }
        self.abandon();
        Ok(())
    }
}

/// The definition of a type: text, or bytes.
struct Definition(Vec<u8>);

impl<'py> FromPyObject<'_, 'py> for Definition {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.extract::<String>() {
            Ok(text) => Ok(Self(text.into_bytes())),
            Err(_) => Ok(Self(object.extract()?)),
        }
    }
}
