//! A `.vel` log that is open.

use std::{fmt, sync::Arc};

use logtool_core::{
    Columns, Cursor, Decoder, Error, ErrorKind, Log, Manifest, OpenOptions, Part,
    Result, Selection, Source, TopicId, Walk,
};

use crate::vel::{
    cursor::VelCursor, index::IndexVerdict, notes::Notes, survey::survey,
    wire::SizeField,
};

/// A `.vel` log that is open: a [`Log`], and what only such logs say of themselves.
pub struct VelLog {
    source: Arc<dyn Source>,
    manifest: Arc<Manifest>,
    notes: Arc<Notes>,
    options: OpenOptions,
}

impl VelLog {
    /// Opens a log, going over the headers of its messages once.
    ///
    /// # Errors
    /// `Unrecognized` if it is no `.vel` log, `Malformed` if it ends before its index,
    /// `Io` if it cannot be read.
    pub fn open(source: Arc<dyn Source>, options: OpenOptions) -> Result<Self> {
        let (manifest, notes) = survey(&source, options)?;
        Ok(Self::new(source, Arc::new(manifest), notes, options))
    }

    /// Opens a log of which the manifest is known, reading nothing.
    ///
    /// # Errors
    /// `Malformed` if the manifest is none of a `.vel` log.
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

    /// The version that the file says it has.
    pub fn version(&self) -> (u16, u16) {
        self.notes.version
    }

    /// What the sizes of the messages count, as the messages themselves tell.
    pub fn size_field(&self) -> SizeField {
        self.notes.size_field
    }

    /// What the index of the file is worth.
    pub fn index(&self) -> IndexVerdict {
        self.notes.index
    }
}

impl Log for VelLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let walk = Walk::new(self.source.clone(), part.bytes.clone(), self.options);
        let (end, notes) = (self.manifest.bytes, self.notes.clone());
        Ok(Box::new(VelCursor::new(walk, end, notes, selection.clone())))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        match self.notes.topics.get(topic.index()) {
            Some(kind) => kind.decoder(columns),
            None => Err(self.manifest.get(topic).err().unwrap_or_else(|| {
                Error::new(ErrorKind::NoSuch, "a decoder of the topic")
            })),
        }
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }
}

impl fmt::Debug for VelLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VelLog").finish_non_exhaustive()
    }
}
