//! The starts of the scans of a log. They are computed when points are decoded for the first
//! time.

use std::sync::{Arc, Mutex, PoisonError};

use logtool_core::{Log, Part, Result, Selection, TimeRange, TopicId};

use crate::{
    lidar::{
        Lidar,
        packet_headers::{self, PacketExtractor, TimedHeaders},
    },
    points::{ScanIndex, ScanTracker},
};

/// The scans of a lidar, computed on demand.
///
/// The head has to be tracked from the first packet on, so this takes one pass over all
/// packets up to the last one that is needed. Callers that only read packets or the
/// manifest avoid this pass.
#[derive(Debug, Default)]
pub struct ScanCache(Mutex<Option<CachedScans>>);

/// The starts of the scans before the offset `end` of the file.
#[derive(Debug)]
struct CachedScans {
    end: u64,
    scans: Arc<ScanIndex>,
}

impl From<ScanIndex> for ScanCache {
    /// Creates a cache that contains all scans of a log, `scans`.
    fn from(scans: ScanIndex) -> Self {
        Self(Mutex::new(Some(CachedScans { end: u64::MAX, scans: Arc::new(scans) })))
    }
}

impl ScanCache {
    /// Returns the scans for decoding the points of `parts` in `range`. They have the same
    /// numbers as in the whole `log`. The other arguments are those of [`get`](Self::get).
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub fn excerpt(
        &self,
        log: &dyn Log,
        topic: TopicId,
        lidar: &Lidar,
        (range, parts): (TimeRange, &[Part]),
        extract: impl PacketExtractor,
    ) -> Result<ScanIndex> {
        let scans = self.get(log, topic, lidar, range, extract)?;
        let start = parts.first().map_or(0, |part| part.bytes.start);
        let end = parts.last().map_or(0, |part| part.bytes.end);
        Ok(scans.excerpt(start..end, range))
    }

    /// Returns the scans of `lidar`. `extract` extracts its packets from the records of
    /// `topic` of `log`. The result includes at least all scans that start before the
    /// last record with points in `range`.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub fn get(
        &self,
        log: &dyn Log,
        topic: TopicId,
        lidar: &Lidar,
        range: TimeRange,
        extract: impl PacketExtractor,
    ) -> Result<Arc<ScanIndex>> {
        let end = match range {
            TimeRange::ALL => u64::MAX,
            time => {
                let topics = [topic].into_iter().collect();
                let plan = log.manifest().plan(&Selection { topics, time }, 0);
                plan.last().map_or(0, |part| part.bytes.end)
            }
        };
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = cached.as_ref().filter(|cached| cached.end >= end) {
            return Ok(cached.scans.clone());
        }
        let scans = track_scans(log, topic, lidar, end, extract, &mut |_| ())?;
        let cached = cached.insert(CachedScans { end, scans: Arc::new(scans) });
        Ok(cached.scans.clone())
    }

    /// Computes all scans, and calls `visit` for each packet.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub(super) fn for_each_packet(
        &self,
        log: &dyn Log,
        topic: TopicId,
        lidar: &Lidar,
        extract: impl PacketExtractor,
        visit: &mut dyn FnMut(&TimedHeaders),
    ) -> Result<()> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let scans = Arc::new(track_scans(log, topic, lidar, u64::MAX, extract, visit)?);
        *cached = Some(CachedScans { end: u64::MAX, scans });
        Ok(())
    }
}

/// Tracks the head of `lidar` from the first packet on, in parts that start before the
/// offset `end`.
fn track_scans(
    log: &dyn Log,
    topic: TopicId,
    lidar: &Lidar,
    end: u64,
    extract: impl PacketExtractor,
    visit: &mut dyn FnMut(&TimedHeaders),
) -> Result<ScanIndex> {
    let mut tracker = ScanTracker::new(lidar.sensor, lidar.points);
    let mut scans = ScanIndex::default();
    packet_headers::for_each_packet(log, topic, end, extract, &mut |packet| {
        scans.add(&mut tracker, &packet.headers, packet.offset, packet.time);
        visit(packet);
    })?;
    Ok(scans)
}
