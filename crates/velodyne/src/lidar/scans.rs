//! Where the scans of a log begin, found out when points are first made.

use std::sync::{Arc, Mutex, PoisonError};

use logtool_core::{
    Block, Log, Record, Result, Selection, TimeRange, TopicId, TopicSet,
};

use crate::{
    lidar::Lidar,
    packet::Firings,
    points::{ScanIndex, ScanTracker},
};

/// How much of a log is read at once.
const STRETCH: u64 = 4 << 20;

/// The scans of a lidar, once they are known.
///
/// The head has to be followed from the first packet on, so this takes one pass over all
/// of them, up to the last that is wanted; who only reads packets, or asks what a log
/// holds, is spared that.
#[derive(Debug, Default)]
pub struct ScanCache(Mutex<Option<Known>>);

/// Where scans begin, of the packets before a place of the file.
#[derive(Debug)]
struct Known {
    until: u64,
    scans: Arc<ScanIndex>,
}

impl ScanCache {
    /// The scans of `lidar`, of which the records of `topic` of `log` hold the packets,
    /// as `packets` says; all that begin before the last record of which points may be
    /// `within` some times, or more.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub fn get(
        &self,
        log: &dyn Log,
        topic: TopicId,
        lidar: &Lidar,
        within: TimeRange,
        packets: impl Fn(Record<'_>, &mut dyn FnMut(Record<'_>)),
    ) -> Result<Arc<ScanIndex>> {
        let topics: TopicSet = [topic].into_iter().collect();
        let all = Selection { topics: topics.clone(), ..Selection::default() };
        let until = match within {
            TimeRange::ALL => u64::MAX,
            time => {
                let plan = log.manifest().plan(&Selection { topics, time }, 0);
                plan.last().map_or(0, |part| part.bytes.end)
            }
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.as_ref().filter(|known| known.until >= until) {
            return Ok(known.scans.clone());
        }
        let mut tracker = ScanTracker::new(lidar.sensor, lidar.points);
        let mut scans = ScanIndex::default();
        let mut block = Block::default();
        let plan = log.manifest().plan(&all, STRETCH).into_iter();
        for part in plan.take_while(|part| part.bytes.start < until) {
            let mut cursor = log.read(&part, &all)?;
            while cursor.fill(&mut block)? {
                for record in block.iter() {
                    packets(record, &mut |packet| {
                        if let Some(firings) = Firings::new(packet.payload) {
                            scans.add(
                                &mut tracker,
                                firings,
                                packet.offset,
                                packet.time,
                            );
                        }
                    });
                }
            }
            log.source().release(part.bytes);
        }
        let known = known.insert(Known { until, scans: Arc::new(scans) });
        Ok(known.scans.clone())
    }
}
