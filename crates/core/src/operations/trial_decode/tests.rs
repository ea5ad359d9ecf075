//! The reuse of read buffers by trial decoding.

use super::*;
use crate::testing::sample_log::{Sample, SampleRecord};

/// A log that records the content of the buffers that its parts are read into.
struct WatchedLog(Sample, Arc<Mutex<Vec<Vec<u8>>>>);

struct WatchedCursor(Box<dyn Cursor>, Arc<Mutex<Vec<Vec<u8>>>>);

impl Log for WatchedLog {
    fn manifest(&self) -> &Manifest {
        self.0.manifest()
    }

    fn read(&self, part: &Part, selection: &Selection) -> Result<Box<dyn Cursor>> {
        Ok(Box::new(WatchedCursor(self.0.read(part, selection)?, self.1.clone())))
    }

    fn decoder(&self, id: TopicId, columns: &Columns) -> Result<Box<dyn Decoder>> {
        self.0.decoder(id, columns)
    }

    fn source(&self) -> &Arc<dyn Source> {
        self.0.source()
    }
}

impl Cursor for WatchedCursor {
    fn fill(&mut self, block: &mut Block) -> Result<bool> {
        let old_content = block.bytes().to_vec();
        let filled = self.0.fill(block)?;
        if filled {
            lock(&self.1).push(old_content);
        }
        Ok(filled)
    }
}

#[test]
fn parts_reuse_the_buffer_of_the_previous_part() {
    let payloads: [&[u8]; 4] = [b"0000", b"1111", b"2222", b"3333"];
    let parts = payloads.map(|payload| [(0, 0, 1, payload)]);
    let log = Sample::new(&parts.each_ref().map(|part: &[SampleRecord; 1]| &part[..]));
    let log = WatchedLog(log, Arc::default());
    let topics = Arc::new([TopicId(0)].into_iter().collect());
    let hashing = PayloadHashing { topics, hash: |payload| payload.len() as u64 };
    let trial_decoder = TrialDecoder::new(&log, Some(hashing));
    let (mut block, mut sort) = (Block::default(), TopicSort::default());
    for part in &log.manifest().parts {
        let mut cursor = trial_decoder.read(part, &Selection::default()).unwrap();
        while cursor.fill(&mut block).unwrap() {
            if trial_decoder.next_part().next(&block).decoded.is_none() {
                trial_decoder.decode(&block, &mut sort).unwrap();
            }
        }
    }
    // The caller decoded the first part and had its buffer at that time.
    let expected: [&[u8]; 4] = [b"", b"", b"1111", b"2222"];
    assert_eq!(*lock(&log.1), expected);
}
