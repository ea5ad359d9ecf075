//! A capture that is open.

use std::{fmt, sync::Arc};

use logtool_core::{
    Columns, Cursor, Decoder, Error, ErrorKind, Log, Manifest, OpenOptions, Part,
    Result, Selection, Source, TopicId, Walk,
};

use crate::capture::{cursor::CaptureCursor, notes::Notes, survey::survey, topics};

/// A capture that is open.
pub struct CaptureLog {
    source: Arc<dyn Source>,
    manifest: Arc<Manifest>,
    notes: Arc<Notes>,
    options: OpenOptions,
}

impl CaptureLog {
    /// Opens a capture, walking over all of it once.
    ///
    /// # Errors
    /// `Unrecognized` if it is none, `Limit` if it has more than 65,536 sections and
    /// interfaces, `Io` if it cannot be read.
    pub fn open(source: Arc<dyn Source>, options: OpenOptions) -> Result<Self> {
        let (manifest, notes) = survey(&source, options)?;
        Ok(Self::new(source, Arc::new(manifest), notes, options))
    }

    /// Opens a capture of which the manifest is known, reading nothing.
    ///
    /// # Errors
    /// `Malformed` if the manifest is none of a capture.
    pub fn resume(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Self> {
        let notes = Notes::from_manifest(&manifest)?;
        Ok(Self::new(source, manifest, notes, options))
    }

    fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        notes: Notes,
        options: OpenOptions,
    ) -> Self {
        Self { source, manifest, notes: Arc::new(notes), options }
    }
}

impl Log for CaptureLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let parts = &self.manifest.parts;
        let index = parts.binary_search_by_key(&part.bytes.start, |p| p.bytes.start);
        let start = index.ok().and_then(|index| self.notes.starts.get(index)).cloned();
        let start = start.ok_or_else(|| {
            Error::new(ErrorKind::NoSuch, "no part begins here").at(part.bytes.start)
        })?;
        let walk = Walk::new(self.source.clone(), part.bytes.clone(), self.options);
        let (notes, selection) = (self.notes.clone(), selection.clone());
        let cursor = CaptureCursor::new(walk, &self.source, notes, start, selection)?;
        Ok(Box::new(cursor))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        match self.notes.topics.get(topic.index()) {
            Some(sender) => topics::decoder(sender.is_position, columns),
            None => Err(self.manifest.get(topic).err().unwrap_or_else(|| {
                Error::new(ErrorKind::NoSuch, "a decoder of the topic")
            })),
        }
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }
}

impl fmt::Debug for CaptureLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureLog").finish_non_exhaustive()
    }
}
