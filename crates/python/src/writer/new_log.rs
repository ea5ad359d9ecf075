//! The writers of the formats.

use std::{collections::BTreeMap, io::BufWriter};

use logtool::{
    Error, Result,
    formats::{Compression, LogFormat},
};
use logtool_core::Timestamp;
use logtool_sinks::StagedFile;
use logtool_ulog::write::{Subscription, TopicHandle};

/// The writer of a format.
pub(super) enum NewLog {
    Ulog(Box<logtool_ulog::write::Writer<BufWriter<StagedFile>>>),
    Bag(Box<logtool_rosbag::Writer<StagedFile>>),
    Mcap(Box<logtool_mcap::Writer<StagedFile>>),
}

/// A topic of a format.
#[derive(Clone, Copy)]
pub(super) enum TopicOfLog {
    Ulog(TopicHandle),
    Bag(logtool_rosbag::ConnectionHandle),
    Mcap(logtool_mcap::ChannelHandle),
}

/// A message that is not written yet.
pub(super) struct NewMessage {
    pub(super) topic: TopicOfLog,
    pub(super) time: Timestamp,
    pub(super) payload: Vec<u8>,
}

/// The description of a new topic.
pub(super) struct NewTopic {
    pub(super) name: String,
    pub(super) type_name: String,
    pub(super) definition: Vec<u8>,
    pub(super) encoding: Option<String>,
    pub(super) schema_encoding: Option<String>,
    pub(super) instance: u8,
    pub(super) is_latched: bool,
    pub(super) caller: Option<String>,
    pub(super) metadata: BTreeMap<String, String>,
}

impl NewLog {
    pub(super) fn new(
        format: LogFormat,
        file: StagedFile,
        compression: Option<Compression>,
        start_micros: u64,
        profile: String,
    ) -> Result<Self> {
        let unsupported = || {
            let message =
                format!("{} logs do not have this compression", format.name());
            Error::invalid_request(message)
        };
        match format {
            LogFormat::Ulog => {
                if compression
                    .is_some_and(|compression| compression != Compression::None)
                {
                    return Err(unsupported());
                }
                let file = BufWriter::new(file);
                let writer = logtool_ulog::write::Writer::new(file, start_micros);
                Ok(Self::Ulog(Box::new(writer)))
            }
            LogFormat::Rosbag => {
                let compression = match compression {
                    None | Some(Compression::None) => logtool_rosbag::Compression::None,
                    Some(Compression::Bz2) => logtool_rosbag::Compression::Bz2,
                    Some(Compression::Lz4) => logtool_rosbag::Compression::Lz4,
                    Some(_) => return Err(unsupported()),
                };
                let options = logtool_rosbag::WriterOptions::default()
                    .with_compression(compression);
                Ok(Self::Bag(Box::new(logtool_rosbag::Writer::new(file, options)?)))
            }
            LogFormat::Mcap => {
                let compression = match compression {
                    None | Some(Compression::Zstd) => logtool_mcap::Compression::Zstd,
                    Some(Compression::None) => logtool_mcap::Compression::None,
                    Some(Compression::Lz4) => logtool_mcap::Compression::Lz4,
                    Some(_) => return Err(unsupported()),
                };
                let mut options = logtool_mcap::WriterOptions::default();
                (options.profile, options.compression) = (profile, compression);
                Ok(Self::Mcap(Box::new(logtool_mcap::Writer::new(file, options)?)))
            }
            _ => Err(Error::invalid_request(
                "a new log is a ULog, a bag, or an MCAP file",
            )),
        }
    }

    pub(super) fn add_topic(&mut self, topic: NewTopic) -> Result<TopicOfLog> {
        let text = || {
            String::from_utf8(topic.definition.clone()).map_err(|_| {
                Error::invalid_request("a definition of this format is text")
            })
        };
        match self {
            Self::Ulog(writer) => {
                let fields = text()?;
                if !fields.is_empty() {
                    writer.format(&topic.name, &fields)?;
                }
                let subscription =
                    Subscription::new(&topic.name).instance(topic.instance);
                Ok(TopicOfLog::Ulog(writer.subscribe(subscription)?))
            }
            Self::Bag(writer) => {
                let mut header = logtool_rosbag::ConnectionHeader::new(
                    &topic.name,
                    &topic.type_name,
                    &text()?,
                );
                if topic.is_latched {
                    header = header.with_latching();
                }
                if let Some(caller) = &topic.caller {
                    header = header.with_caller(caller);
                }
                Ok(TopicOfLog::Bag(writer.connect(&header)?))
            }
            Self::Mcap(writer) => {
                let missing =
                    || Error::invalid_request("a topic of MCAP needs an encoding");
                let encoding = topic.encoding.ok_or_else(missing)?;
                let schema_encoding = match (&topic.schema_encoding, encoding.as_str())
                {
                    (Some(encoding), _) => encoding.clone(),
                    (None, "ros1") => "ros1msg".to_owned(),
                    (None, "cdr") => "ros2msg".to_owned(),
                    (None, "json") => "jsonschema".to_owned(),
                    (None, other) => other.to_owned(),
                };
                let schema = writer.schema(
                    &topic.type_name,
                    &schema_encoding,
                    &topic.definition,
                )?;
                let channel =
                    writer.channel(&topic.name, schema, &encoding, topic.metadata)?;
                Ok(TopicOfLog::Mcap(channel))
            }
        }
    }

    pub(super) fn write(&mut self, message: &NewMessage) -> Result<()> {
        let NewMessage { topic, time, payload } = message;
        match (self, topic) {
            (Self::Ulog(writer), TopicOfLog::Ulog(topic)) => {
                writer.data(*topic, micros(*time)?, payload)?;
            }
            (Self::Bag(writer), TopicOfLog::Bag(topic)) => {
                writer.write(*topic, *time, payload)?;
            }
            (Self::Mcap(writer), TopicOfLog::Mcap(topic)) => {
                writer.write(*topic, 0, *time, *time, payload)?;
            }
            _ => return Err(Error::other("the topic is of another format")),
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Ulog(writer) => {
                let file = writer.finish()?.into_inner();
                file.map_err(std::io::IntoInnerError::into_error)?.finish()?;
            }
            Self::Bag(writer) => writer.finish()?.finish()?,
            Self::Mcap(writer) => writer.finish()?.finish()?,
        }
        Ok(())
    }
}

/// Returns `time` in microseconds.
pub(super) fn micros(time: Timestamp) -> Result<u64> {
    let nanos = u64::try_from(time.as_nanos());
    let nanos =
        nanos.map_err(|_| Error::invalid_request("a ULog has no times before 0"))?;
    Ok(nanos / 1_000)
}
