//! Where the scans of a log begin, found out when points are first made.

use std::sync::{Arc, Mutex, PoisonError};

use logtool_core::{
    Block, Cursor as _, Log, ReadAhead, Record, Result, Selection, TimeRange, TopicId,
    TopicSet,
};

use crate::{
    lidar::Lidar,
    packet::Firings,
    points::{ScanIndex, ScanTracker},
};

/// About how much of a log a thread reads at a time.
const STRETCH: u64 = 1 << 20;

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
        let mut plan = log.manifest().plan(&all, STRETCH);
        let wanted = plan.iter().take_while(|part| part.bytes.start < until).count();
        plan.truncate(wanted);
        let mut ahead = ReadAhead::new(log, plan, all);
        while ahead.fill(&mut block)? {
            for record in block.iter() {
                packets(record, &mut |packet| {
                    if let Some(firings) = Firings::new(packet.payload) {
                        let Record { offset, time, .. } = packet;
                        scans.add(&mut tracker, firings, offset, time);
                    }
                });
            }
        }
        let known = known.insert(Known { until, scans: Arc::new(scans) });
        Ok(known.scans.clone())
    }
}
