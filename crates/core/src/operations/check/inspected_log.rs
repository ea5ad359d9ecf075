//! A log that is inspected while it is read.

use std::sync::Arc;

use crate::{
    error::Result,
    io::source::Source,
    log::{Columns, Cursor, Decoder, Inspection, Log},
    model::{
        manifest::{Manifest, Part, Selection},
        topic::TopicId,
    },
};

/// A log whose records are inspected while they are read, if there is an inspection.
pub(super) struct InspectedLog<'l> {
    pub(super) log: &'l dyn Log,
    pub(super) inspection: Option<&'l dyn Inspection>,
}

impl Log for InspectedLog<'_> {
    fn manifest(&self) -> &Manifest {
        self.log.manifest()
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        match self.inspection {
            Some(inspection) => inspection.read(part, selection),
            None => self.log.read(part, selection),
        }
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        self.log.decoder(topic, columns)
    }

    fn source(&self) -> &Arc<dyn Source> {
        self.log.source()
    }
}
