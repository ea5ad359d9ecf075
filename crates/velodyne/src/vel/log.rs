//! An open `.vel` log.

use std::{fmt, sync::Arc};

use logtool_core::{
    Columns, Cursor, Decoder, Error, ErrorKind, Excerpt, Findings, Log, Manifest,
    OpenOptions, Part, Record, RecordScanner, Result, RowGroup, Selection, Source,
    TimeRange, TopicId, TopicSet, damage_within,
};

use crate::{
    anomaly,
    lidar::{Lidar, LidarOptions, PacketExtractor, ScanCache},
    model::Sensor,
    points::ScanIndex,
    vel::{
        build_manifest::build_manifest,
        codes,
        cursor::VelCursor,
        decode::points::{self, VelPoints},
        decode::topics::TopicKind,
        format_state::{FORMAT_NAME, FormatState},
        second_index::IndexStatus,
        wire::SizeField,
    },
};

/// An open `.vel` log: a [`Log`] with information that only this format has.
pub struct VelLog {
    source: Arc<dyn Source>,
    manifest: Arc<Manifest>,
    format_state: Arc<FormatState>,
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
        let (manifest, format_state) = build_manifest(&source, options, lidar)?;
        let log = Self::new(source, Arc::new(manifest), format_state, options);
        log.with_late_blanking(lidar.keep_scan_start)
    }

    /// Searches the log for a sector that its lidar blanks only after the start of the log.
    fn with_late_blanking(mut self, keep_scan_start: bool) -> Result<Self> {
        let (Some(topic), Some(lidar)) =
            (self.format_state.points, &self.format_state.lidar)
        else {
            return Ok(self);
        };
        let packets = packet_extractor(lidar.sensor);
        let Some(sector) = lidar.late_blanking(&self, topic, packets)? else {
            return Ok(self);
        };
        let manifest = Arc::make_mut(&mut self.manifest);
        let format_state = Arc::make_mut(&mut self.format_state);
        if let Some(lidar) = &mut format_state.lidar {
            lidar.set_blanked(sector, keep_scan_start);
            lidar.update_topic(manifest, topic);
        }
        manifest.format_state = Manifest::encode_state(format_state)?;
        Ok(self)
    }

    /// Opens a log with its manifest, without reading the log.
    ///
    /// # Errors
    /// `Malformed` if the manifest is not from a `.vel` log.
    pub fn open_with_manifest(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Self> {
        let format_state: FormatState = manifest.decode_state(FORMAT_NAME)?;
        Ok(Self::new(source, manifest, format_state, options))
    }

    fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        mut format_state: FormatState,
        options: OpenOptions,
    ) -> Self {
        let scans = format_state.scans.take().map(ScanCache::from).unwrap_or_default();
        let format_state = Arc::new(format_state);
        Self { source, manifest, format_state, options, scans }
    }

    /// Returns the version that the file declares: major and minor.
    pub fn version(&self) -> (u16, u16) {
        self.format_state.version
    }

    /// Returns which bytes the sizes of messages include, as detected from the messages.
    pub fn size_field(&self) -> SizeField {
        self.format_state.size_field
    }

    /// Returns the lidar that sent the packets, if its model is known.
    pub fn lidar(&self) -> Option<&Lidar> {
        self.format_state.lidar.as_ref()
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
        let (Some(topic), Some(lidar)) =
            (self.format_state.points, &self.format_state.lidar)
        else {
            return Ok(Arc::default());
        };
        self.scans.get(self, topic, lidar, time, packet_extractor(lidar.sensor))
    }

    /// Returns the state of the index of the file.
    pub fn index(&self) -> IndexStatus {
        self.format_state.index
    }
}

impl Log for VelLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let scanner =
            RecordScanner::new(self.source.clone(), part.bytes.clone(), self.options);
        let (end, format_state) = (self.manifest.bytes, self.format_state.clone());
        let margin = format_state
            .points
            .and_then(|points| self.manifest.time_margins.get(&points));
        let margin = margin.copied().unwrap_or_default();
        Ok(Box::new(VelCursor::new(
            scanner,
            end,
            format_state,
            selection.clone(),
            margin,
        )))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        if let Some(lidar) = &self.format_state.lidar
            && self.format_state.points == Some(topic)
        {
            let decoder = lidar.decoder(columns, self.scans_within(columns.time)?)?;
            return Ok(Box::new(VelPoints::new(lidar.sensor, decoder)));
        }
        match self.format_state.topics.get(topic.index()) {
            Some(kind) => kind.decoder(columns),
            None => Err(self.manifest.topic(topic).err().unwrap_or_else(|| {
                Error::new(ErrorKind::NoSuch, "the topic has no decoder")
            })),
        }
    }

    fn row_groups(
        &self,
        topic: TopicId,
        time: TimeRange,
    ) -> Result<Option<Vec<RowGroup>>> {
        if self.format_state.points == Some(topic) && self.format_state.lidar.is_some()
        {
            Ok(Some(self.scans_within(time)?.row_groups()))
        } else {
            Ok(None)
        }
    }

    fn excerpt(&self, selection: &Selection, parts: &[Part]) -> Result<Excerpt> {
        let state = &*self.format_state;
        let included = self.required_topics(&selection.topics);
        let Excerpt { manifest, topics } =
            self.manifest.excerpt(&selection.topics, included, parts);
        let mut manifest = manifest.without_definitions();
        manifest.parts =
            parts.iter().map(|part| part.with_renumbered_topics(&topics)).collect();
        let kinds = topics.ids(state.topics.len());
        let kinds = kinds.filter_map(|id| state.topics.get(id.index()).copied());
        let points = state.points.filter(|points| selection.topics.contains(*points));
        let lidar = state.lidar.as_ref().filter(|_| points.is_some());
        let scans = match points.zip(lidar) {
            Some((points, lidar)) => {
                let time_and_parts = (selection.time, parts);
                let packets = packet_extractor(lidar.sensor);
                Some(self.scans.excerpt(
                    self,
                    points,
                    lidar,
                    time_and_parts,
                    packets,
                )?)
            }
            None => None,
        };
        let broken = parts.iter().flat_map(|part| {
            let count_before =
                |at: u64| state.broken.partition_point(|broken| broken.at < at);
            let range = count_before(part.bytes.start)..count_before(part.bytes.end);
            state.broken.get(range).unwrap_or_default()
        });
        manifest.format_state = Manifest::encode_state(&FormatState {
            damage: damage_within(&state.damage, parts),
            broken: broken.copied().collect(),
            topics: kinds.collect(),
            points: state.points.and_then(|points| topics.position(points)),
            lidar: lidar.cloned(),
            scans,
            anomalies: Vec::new(),
            ..*state
        })?;
        Ok(Excerpt { manifest, topics })
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        anomaly::add_to_findings(
            &self.format_state.anomalies,
            codes::VEL_CODES,
            findings,
        );
        match (self.format_state.points, &self.format_state.lidar) {
            (Some(topic), Some(lidar)) => {
                let packets = packet_extractor(lidar.sensor);
                lidar.check(self, topic, packets, &self.scans, findings)
            }
            _ => Ok(()),
        }
    }
}

impl VelLog {
    /// Returns the topics that an excerpt with the `selected` topics has to contain.
    fn required_topics(&self, selected: &TopicSet) -> TopicSet {
        let state = &*self.format_state;
        let is_selected =
            |id: Option<TopicId>| id.is_some_and(|id| selected.contains(id));
        // A message whose topic is not in the excerpt would be assigned to this topic.
        if is_selected(state.topic(TopicKind::OtherRaw)) {
            return TopicSet::All;
        }
        let mut required = selected.clone();
        if is_selected(state.points) {
            required.extend(&state.topic(TopicKind::Packets).into_iter().collect());
        }
        required
    }
}

/// Returns a function that calls `visit` for each packet in a message of `sensor`.
fn packet_extractor(sensor: Sensor) -> impl PacketExtractor {
    move |message: Record<'_>, visit: &mut dyn FnMut(Record<'_>)| {
        points::packets(sensor, message).for_each(visit);
    }
}

impl fmt::Debug for VelLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VelLog").finish_non_exhaustive()
    }
}
