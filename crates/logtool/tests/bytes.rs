//! Opening logs that are not files.

#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use std::{fs, io, ops::Range, path::Path, sync::Arc};

use bytes::Bytes;
use logtool::{ErrorKind, Log, Session};
use logtool_core::{Source, TimeRange};

fn testdata(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    fs::read(folder.join(name)).unwrap()
}

fn messages(log: &Log) -> usize {
    log.messages(&[], TimeRange::ALL).unwrap().map(Result::unwrap).count()
}

#[test]
fn logs_in_memory_are_read_like_files_even_if_compressed() {
    for name in ["quad_flight.ulg", "rover.bag", "puck.pcap", "car.vel"] {
        let bytes = testdata(name);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
        let count = messages(&logtool::open(path.join(name)).unwrap());
        let packed = zstd::encode_all(&bytes[..], 1).unwrap();
        for bytes in [bytes, packed] {
            let log = Log::from_bytes(name, bytes, &Session::new()).unwrap();
            assert_eq!((log.name(), messages(&log)), (name, count));
        }
    }
    let error = Log::from_bytes("x", vec![0; 100], &Session::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unrecognized);
}

/// A source that is not memory.
struct ByteSource(Vec<u8>);

impl Source for ByteSource {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        let end = range.end.min(self.0.len() as u64) as usize;
        let start = (range.start as usize).min(end);
        Ok(Bytes::copy_from_slice(&self.0[start..end]))
    }
}

#[test]
fn source_of_the_caller_is_read() {
    let source = Arc::new(ByteSource(testdata("rover.bag")));
    let log = Log::from_source("rover.bag", source, &Session::new()).unwrap();
    assert_eq!(Some(messages(&log) as u64), log.manifest().records());
}
