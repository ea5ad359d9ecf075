//! The format CSV, and its open logs.

use std::sync::Arc;

use logtool_core::{
    Columns, Cursor, Decoder, Findings, Format, Log, Manifest, MatchConfidence,
    OpenOptions, Part, Result, Selection, Source, TopicId,
};

use crate::{
    csv::{
        cursor::RowCursor,
        decoder::RowDecoder,
        first_pass::{self, CsvState, NAME},
    },
    time_column::TimeColumnChoice,
};

/// The format with default settings, for lists of formats.
pub const FORMAT: Csv = Csv { topic: None, time: None };

/// CSV files.
#[derive(Clone, Debug, Default)]
pub struct Csv {
    topic: Option<String>,
    time: Option<TimeColumnChoice>,
}

impl Csv {
    /// Sets the name of the topic. The default is `table`.
    #[must_use]
    pub fn with_topic(self, name: impl Into<String>) -> Self {
        Self { topic: Some(name.into()), ..self }
    }

    /// Sets the time column. By default, it is found by its name.
    #[must_use]
    pub fn with_time_column(self, choice: TimeColumnChoice) -> Self {
        Self { time: Some(choice), ..self }
    }
}

impl Format for Csv {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Only the name of the file indicates the format, because any text can be CSV.
    fn probe(&self, name: &str, head: &[u8]) -> MatchConfidence {
        let has_extension = name
            .rsplit_once('.')
            .is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("csv"));
        if has_extension && !head.is_empty() {
            MatchConfidence::Perhaps
        } else {
            MatchConfidence::No
        }
    }

    fn requires_full_scan(&self) -> bool {
        true
    }

    fn open(
        &self,
        source: Arc<dyn Source>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        let topic = self.topic.as_deref().unwrap_or("table");
        let time = self.time.as_ref();
        let manifest = first_pass::manifest(&source, topic, time, options)?;
        self.open_with_manifest(source, Arc::new(manifest), options)
    }

    fn open_with_manifest(
        &self,
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Box<dyn Log>> {
        let state = manifest.decode_state(NAME)?;
        Ok(Box::new(CsvLog { source, manifest, state, options }))
    }
}

/// An open CSV file.
struct CsvLog {
    source: Arc<dyn Source>,
    manifest: Arc<Manifest>,
    state: CsvState,
    options: OpenOptions,
}

impl Log for CsvLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        Ok(Box::new(RowCursor::new(
            (self.source.clone(), part.bytes.clone()),
            self.state.line_at(part.bytes.start),
            self.state.layout(),
            selection.clone(),
            self.options,
        )))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        self.manifest.topic(topic)?;
        Ok(Box::new(RowDecoder::new(&self.state, columns)?))
    }

    /// The remarks describe how the table is read, so they are not findings.
    fn check(&self, _: &mut Findings) -> Result<()> {
        Ok(())
    }
}
