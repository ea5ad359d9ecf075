//! A `.vel` log that is open.

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

/// A `.vel` log that is open: a [`Log`], and what only such logs say of themselves.
pub struct VelLog {
    source: Arc<dyn Source>,
    manifest: Arc<Manifest>,
    notes: Arc<Notes>,
    options: OpenOptions,
    scans: ScanCache,
}

impl VelLog {
    /// Opens a log, going over the headers of its messages once.
    ///
    /// # Errors
    /// `Unrecognized` if it is no `.vel` log, `Malformed` if it ends before its index,
    /// `Io` if it cannot be read.
    pub fn open(source: Arc<dyn Source>, options: OpenOptions) -> Result<Self> {
        Self::open_with(source, options, &LidarOptions::default())
    }

    /// The same, with what the user knows of the lidar, and how points are to be made.
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

    /// Opens a log of which the manifest is known, reading nothing.
    ///
    /// # Errors
    /// `Malformed` if the manifest is none of a `.vel` log.
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

    /// The version that the file says it has.
    pub fn version(&self) -> (u16, u16) {
        self.notes.version
    }

    /// What the sizes of the messages count, as the messages themselves tell.
    pub fn size_field(&self) -> SizeField {
        self.notes.size_field
    }

    /// The lidar that sent the packets, if they tell which one it is.
    pub fn lidar(&self) -> Option<&Lidar> {
        self.notes.lidar.as_ref()
    }

    /// Where the scans of the lidar begin; none if there is no lidar. The first call
    /// takes a pass over all packets.
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
                Error::new(ErrorKind::NoSuch, "a decoder of the topic")
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

/// The packets of messages of `sensor`.
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
