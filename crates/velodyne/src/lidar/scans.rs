//! Where the scans of a log begin, found out when points are first made.

use std::sync::{Arc, Mutex, PoisonError};

use logtool_core::{Block, Log, Record, Result, Selection, TopicId};

use crate::{
    lidar::Lidar,
    packet::Firings,
    points::{ScanIndex, ScanTracker},
};

/// How much of a log is read at once.
const STRETCH: u64 = 64 << 20;

/// The scans of a lidar, once they are known.
///
/// The head has to be followed from the first packet on, so this takes one pass over all
/// of them; who only reads packets, or asks what a log holds, is spared that.
#[derive(Debug, Default)]
pub struct ScanCache(Mutex<Option<Arc<ScanIndex>>>);

impl ScanCache {
    /// The scans of `lidar`, of which the records of `topic` of `log` hold the packets,
    /// as `packets` says.
    ///
    /// # Errors
    /// `Io` if the log cannot be read.
    pub fn get(
        &self,
        log: &dyn Log,
        topic: TopicId,
        lidar: &Lidar,
        packets: impl Fn(Record<'_>, &mut dyn FnMut(Record<'_>)),
    ) -> Result<Arc<ScanIndex>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(scans) = &*known {
            return Ok(scans.clone());
        }
        let mut tracker = ScanTracker::new(lidar.sensor, lidar.points.cut);
        let mut scans = ScanIndex::default();
        let selection =
            Selection { topics: [topic].into_iter().collect(), ..Selection::default() };
        let mut block = Block::default();
        for part in log.manifest().plan(&selection, STRETCH) {
            let mut cursor = log.read(&part, &selection)?;
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
        Ok(known.insert(Arc::new(scans)).clone())
    }
}
