//! An open capture.

use std::{fmt, sync::Arc};

use logtool_core::{
    Columns, Cursor, Decoder, Error, ErrorKind, Excerpt, Finding, Findings, Log,
    Manifest, OpenOptions, Part, RecordScanner, Result, RowGroup, Selection, Source,
    TimeRange, TopicId, TopicSet, damage_within,
};

use crate::{
    anomaly,
    capture::{
        build_manifest::build_manifest,
        codes,
        cursor::CaptureCursor,
        decode::topics,
        format_state::{FormatState, PartStart, PointsTopic},
        packets::sender::PositionClockInfo,
    },
    lidar::{self, Lidar, LidarOptions, ScanCache},
    points::ScanIndex,
};

/// An open capture.
pub struct CaptureLog {
    source: Arc<dyn Source>,
    manifest: Arc<Manifest>,
    format_state: Arc<FormatState>,
    options: OpenOptions,
    /// The scans of each topic of packets.
    scans: Vec<ScanCache>,
}

impl CaptureLog {
    /// Opens a capture. This reads the headers of all frames.
    ///
    /// # Errors
    /// `Unrecognized` if it is not a capture, `Unsupported` if it only has packets of lidars
    /// of another manufacturer, `Limit` if it has more than 65,536 sections and interfaces,
    /// `Io` if it cannot be read.
    pub fn open(source: Arc<dyn Source>, options: OpenOptions) -> Result<Self> {
        Self::open_with(source, options, &LidarOptions::default())
    }

    /// Like [`open`](Self::open), but with options for the lidars and their points.
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

    /// Searches the log for sectors that its lidars blank only after the start of the log.
    fn with_late_blanking(mut self, keep_scan_start: bool) -> Result<Self> {
        let mut sectors = Vec::new();
        for (index, points) in self.format_state.points.iter().enumerate() {
            let Some(PointsTopic { topic, lidar, .. }) = points else { continue };
            let sector = lidar.late_blanking(&self, *topic, lidar::record_as_packet)?;
            sectors.extend(sector.map(|sector| (index, sector)));
        }
        if sectors.is_empty() {
            return Ok(self);
        }
        let manifest = Arc::make_mut(&mut self.manifest);
        let format_state = Arc::make_mut(&mut self.format_state);
        for (index, sector) in sectors {
            let Some(Some(points)) = format_state.points.get_mut(index) else {
                continue;
            };
            points.lidar.set_blanked(sector, keep_scan_start);
            points.lidar.update_topic(manifest, points.topic);
        }
        manifest.format_state = Manifest::encode_state(format_state)?;
        Ok(self)
    }

    /// Opens a capture with its manifest, without reading.
    ///
    /// # Errors
    /// `Malformed` if the manifest is not from a capture.
    pub fn open_with_manifest(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        options: OpenOptions,
    ) -> Result<Self> {
        let format_state: FormatState = manifest.decode_state(topics::FORMAT_NAME)?;
        Ok(Self::new(source, manifest, format_state, options))
    }

    fn new(
        source: Arc<dyn Source>,
        manifest: Arc<Manifest>,
        mut format_state: FormatState,
        options: OpenOptions,
    ) -> Self {
        let mut points = format_state.points.iter_mut();
        let scans = format_state.senders.iter().map(|_| {
            let scans = points.next().and_then(|points| points.as_mut()?.scans.take());
            scans.map(ScanCache::from).unwrap_or_default()
        });
        let scans = scans.collect();
        Self { source, manifest, format_state: Arc::new(format_state), options, scans }
    }

    /// Returns the state of a reader at the start of `part`.
    fn part_start(&self, part: &Part) -> Option<PartStart> {
        let index = self
            .manifest
            .parts
            .binary_search_by_key(&part.bytes.start, |part| part.bytes.start);
        index.ok().and_then(|index| self.format_state.starts.get(index)).cloned()
    }

    /// Returns the lidar whose points are `topic`.
    pub fn lidar(&self, topic: TopicId) -> Option<&Lidar> {
        Some(&self.format_state.points(topic)?.1.lidar)
    }

    /// Returns the starts of the scans of the lidar whose points are `topic`. They are
    /// empty if there is no such lidar. The first call reads all packets.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub fn scans(&self, topic: TopicId) -> Result<Arc<ScanIndex>> {
        self.scans_within(topic, TimeRange::ALL)
    }

    fn scans_within(&self, topic: TopicId, time: TimeRange) -> Result<Arc<ScanIndex>> {
        let Some((packets, points)) = self.format_state.points(topic) else {
            return Ok(Arc::default());
        };
        match self.scans.get(packets.index()) {
            Some(cache) => {
                cache.get(self, topic, &points.lidar, time, lidar::record_as_packet)
            }
            None => Ok(Arc::default()),
        }
    }
}

impl Log for CaptureLog {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        let start = self.part_start(part).ok_or_else(|| {
            Error::new(ErrorKind::NoSuch, "no part of the manifest starts here")
                .with_offset(part.bytes.start)
        })?;
        let scanner =
            RecordScanner::new(self.source.clone(), part.bytes.clone(), self.options);
        let cursor = CaptureCursor::new(
            scanner,
            &self.source,
            self.manifest.clone(),
            self.format_state.clone(),
            start,
            selection.clone(),
        )?;
        Ok(Box::new(cursor))
    }

    fn decoder(&self, topic: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        if let Some((_, points)) = self.format_state.points(topic) {
            let scans = self.scans_within(topic, columns.time)?;
            return Ok(Box::new(points.lidar.decoder(columns, scans)?));
        }
        match self.format_state.senders.get(topic.index()) {
            Some(sender) => topics::decoder(sender.is_position, columns),
            None => Err(self.manifest.topic(topic).err().unwrap_or_else(|| {
                let message = format!("the topic number {} has no decoder", topic.0);
                Error::new(ErrorKind::NoSuch, message)
            })),
        }
    }

    fn row_groups(
        &self,
        topic: TopicId,
        time: TimeRange,
    ) -> Result<Option<Vec<RowGroup>>> {
        match self.format_state.points(topic) {
            Some(_) => Ok(Some(self.scans_within(topic, time)?.row_groups())),
            None => Ok(None),
        }
    }

    fn excerpt(&self, selection: &Selection, parts: &[Part]) -> Result<Excerpt> {
        let Excerpt { manifest, topics } =
            self.manifest.excerpt(&selection.topics, TopicSet::All, parts);
        let mut manifest = manifest.without_definitions();
        manifest.parts = parts.to_vec();
        let state = &*self.format_state;
        let end = parts.last().map_or(0, |part| part.bytes.end);
        let declarations =
            state.declarations.iter().filter(|(offset, _)| *offset < end);
        let starts = parts.iter().map(|part| self.part_start(part).unwrap_or_default());
        let mut points = vec![None; state.points.len()];
        for ((excerpt, points), scans) in
            points.iter_mut().zip(&state.points).zip(&self.scans)
        {
            let Some(PointsTopic { topic, lidar, .. }) = points else { continue };
            if selection.topics.contains(*topic) {
                let scans = scans.excerpt(
                    self,
                    *topic,
                    lidar,
                    (selection.time, parts),
                    lidar::record_as_packet,
                )?;
                *excerpt = Some(PointsTopic {
                    topic: *topic,
                    lidar: lidar.clone(),
                    scans: Some(scans),
                });
            }
        }
        manifest.format_state = Manifest::encode_state(&FormatState {
            container: state.container,
            declarations: declarations.cloned().collect(),
            damage: damage_within(&state.damage, parts),
            starts: starts.collect(),
            senders: state.senders.clone(),
            points,
            verifies_checksums: state.verifies_checksums,
            corrections: state.corrections.clone(),
            anomalies: Vec::new(),
        })?;
        Ok(Excerpt { manifest, topics })
    }

    fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    fn check(&self, findings: &mut Findings) -> Result<()> {
        let anomalies = &self.format_state.anomalies;
        anomaly::add_to_findings(anomalies, codes::CAPTURE_CODES, findings);
        for (points, scans) in self.format_state.points.iter().zip(&self.scans) {
            if let Some(PointsTopic { topic, lidar, .. }) = points {
                lidar.check(self, *topic, lidar::record_as_packet, scans, findings)?;
            }
        }
        for (id, topic) in self.manifest.topics() {
            let clock = PositionClockInfo::from_topic(topic);
            if let Some(clock) = clock.filter(|clock| !clock.state.is_locked()) {
                let finding = Finding::new(&lidar::CLOCK_UNSET, clock.to_string());
                findings.add(finding.with_topic(id));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for CaptureLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureLog").finish_non_exhaustive()
    }
}
