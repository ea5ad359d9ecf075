//! An open `.vel` log.

use std::{fmt, sync::Arc};

use logtool_core::{
    Columns, Cursor, Decoder, Error, ErrorKind, Findings, Group, Log, Manifest,
    OpenOptions, Part, Record, Result, Selection, Source, TimeRange, TopicId, Walk,
};

use crate::{
    lidar::{Lidar, LidarOptions, Packets, ScanCache},
    model::Sensor,
    oddity,
    points::ScanIndex,
    vel::{
        codes,
        cursor::VelCursor,
        index::IndexVerdict,
        notes::{FORMAT_NAME, Notes},
        points::{self, VelPoints},
        survey::survey,
        wire::SizeField,
    },
};

/// An open `.vel` log: a [`Log`] with information that only this format has.
pub struct VelLog {
    source: Arc<dyn Source>,
    manifest: Arc<Manifest>,
    notes: Arc<Notes>,
    options: OpenOptions,
    scans: ScanCache,
}

impl VelLog {
    /// Opens a log. This reads the headers of all messages.
    ///
    /// # Errors
    /// `Unrecognized` if it is not a `.vel` log, `Malformed` if it ends before its index,
    /// `Io` if it cannot be read.
    pub fn open(source: Arc<dyn Source>, options: OpenOptions) -> Result<Self> {
        Self::open_with(source, options, &LidarOptions::default())
    }

    /// Like [`open`](Self::open), but with options for the lidar and its points.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(
        source: Arc<dyn Source>,
        options: OpenOptions,
        lidar: &LidarOptions,
    ) -> Result<Self> {
        let (manifest, notes) = survey(&source, options, lidar)?;
        let log = Self::new(source, Arc::new(manifest), notes, options);
        log.with_later_field(lidar.keeps_cut)
    }

    /// Searches the whole log for a sector that its lidar blanks.
    fn with_later_field(mut self, keeps_cut: bool) -> Result<Self> {
        let (Some(topic), Some(lidar)) = (self.notes.points, &self.notes.lidar) else {
            return Ok(self);
        };
        let packets = packets(lidar.sensor);
        let Some(field) = lidar.later_field(&self, topic, packets)? else {
            return Ok(self);
        };
        let manifest = Arc::make_mut(&mut self.manifest);
        let notes = Arc::make_mut(&mut self.notes);
        if let Some(lidar) = &mut notes.lidar {
            lidar.set_blanked(field, keeps_cut);
            lidar.update(manifest, topic);
        }
        manifest.notes = Manifest::note(notes)?;
        Ok(self)
    }

    /// Opens a log with its manifest, without reading.
    ///
    /// # Errors
    /// `Malformed` if the manifest is not from a `.vel` log.
    pub fn resume(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Self> {
        let notes: Notes = manifest.noted(FORMAT_NAME)?;
        Ok(Self::new(source, manifest, notes, options))
    }

    fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        notes: Notes,
        options: OpenOptions,
    ) -> Self {
        let (notes, scans) = (Arc::new(notes), ScanCache::default());
        Self { source, manifest, notes, options, scans }
    }

    /// Returns the version that the file declares: major and minor.
    pub fn version(&self) -> (u16, u16) {
        self.notes.version
    }

    /// Returns which bytes the sizes of messages include, as detected from the messages.
    pub fn size_field(&self) -> SizeField {
        self.notes.size_field
    }

    /// Returns the lidar that sent the packets, if its model is known.
    pub fn lidar(&self) -> Option<&Lidar> {
        self.notes.lidar.as_ref()
    }

    /// Returns the starts of the scans of the lidar. They are empty without a lidar. The
    /// first call reads all packets.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub fn scans(&self) -> Result<Arc<ScanIndex>> {
        self.scans_within(TimeRange::ALL)
    }

    fn scans_within(&self, time: TimeRange) -> Result<Arc<ScanIndex>> {
        let (Some(topic), Some(lidar)) = (self.notes.points, &self.notes.lidar) else {
            return Ok(Arc::default());
        };
        self.scans.get(self, topic, lidar, time, packets(lidar.sensor))
    }

    /// Returns the state of the index of the file.
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
        let reach = notes.points.and_then(|points| self.manifest.reach.get(&points));
        let reach = reach.copied().unwrap_or_default();
        Ok(Box::new(VelCursor::new(walk, end, notes, selection.clone(), reach)))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        if let Some(lidar) = &self.notes.lidar
            && self.notes.points == Some(topic)
        {
            let decoder = lidar.decoder(columns, self.scans_within(columns.time)?)?;
            return Ok(Box::new(VelPoints::new(lidar.sensor, decoder)));
        }
        match self.notes.topics.get(topic.index()) {
            Some(kind) => kind.decoder(columns),
            None => Err(self.manifest.get(topic).err().unwrap_or_else(|| {
                Error::new(ErrorKind::NoSuch, "decoder of the topic")
            })),
        }
    }

    fn groups(&self, topic: TopicId, time: TimeRange) -> Result<Option<Vec<Group>>> {
        match self.notes.points == Some(topic) && self.notes.lidar.is_some() {
            true => Ok(Some(self.scans_within(time)?.groups())),
            false => Ok(None),
        }
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        oddity::tell(&self.notes.oddities, codes::OWN, findings);
        match (self.notes.points, &self.notes.lidar) {
            (Some(topic), Some(lidar)) => {
                let packets = packets(lidar.sensor);
                lidar.check(self, topic, packets, &self.scans, findings)
            }
            _ => Ok(()),
        }
    }
}

/// Returns a function that calls another one for each packet in a message of `sensor`.
fn packets(sensor: Sensor) -> impl Packets {
    move |message: Record<'_>, each: &mut dyn FnMut(Record<'_>)| {
        points::packets(sensor, message).for_each(each);
    }
}

impl fmt::Debug for VelLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VelLog").finish_non_exhaustive()
    }
}
