//! Tests with files that record writes, run out of space, or panic.

use std::io::Cursor;

use super::*;

/// A file with space for a limited number of bytes.
#[derive(Debug)]
struct SmallFile {
    contents: Cursor<Vec<u8>>,
    capacity: u64,
}

impl Write for SmallFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.contents.position() + bytes.len() as u64 > self.capacity {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "disk full"));
        }
        self.contents.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SmallFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.contents.seek(to)
    }
}

impl Output for SmallFile {}

/// A file whose writes panic.
struct PanickingFile;

impl Write for PanickingFile {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        panic!("no file")
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for PanickingFile {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Ok(0)
    }
}

/// Runs `test` in thread pools of several sizes, and in the default pool.
fn run_in_pools(test: impl Fn() + Sync) {
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(&test);
    }
    test();
}

fn writer(capacity: u64) -> BackgroundWriter<SmallFile> {
    BackgroundWriter::new(SmallFile { contents: Cursor::default(), capacity })
}

#[test]
fn all_writes_arrive_in_order_on_any_number_of_threads() {
    run_in_pools(|| {
        let (mut file, mut expected) = (writer(u64::MAX), Vec::new());
        for i in 0..3_000_u32 {
            let len = if i % 500 == 7 { 700_000 } else { 1 + i as usize % 1_700 };
            let bytes: Vec<u8> =
                (0..len).map(|offset| (offset as u32 * 7 + i) as u8).collect();
            file.write_all(&bytes).unwrap();
            expected.extend_from_slice(&bytes);
            assert_eq!(file.stream_position().unwrap(), expected.len() as u64);
        }
        // Some formats write the start of a file last.
        assert_eq!(file.seek(SeekFrom::Start(9)).unwrap(), 9);
        file.write_all(b"changed").unwrap();
        assert_eq!(file.stream_position().unwrap(), 16);
        assert_eq!(file.seek(SeekFrom::End(0)).unwrap(), expected.len() as u64);
        file.write_all(b"the end").unwrap();
        expected[9..16].copy_from_slice(b"changed");
        expected.extend_from_slice(b"the end");
        assert!(file.finish().unwrap().contents.into_inner() == expected);
    });
}

#[test]
fn owned_buffers_are_written_in_order_and_replaced_by_empty_ones() {
    run_in_pools(|| {
        let (mut file, mut expected) = (writer(u64::MAX), Vec::new());
        let mut buffer = Vec::new();
        for i in 0..400_u32 {
            let len = if i % 7 == 3 { 10 } else { 200_000 + i as usize };
            buffer.extend((0..len).map(|offset| (offset as u32 * 5 + i) as u8));
            expected.extend_from_slice(&buffer);
            file.write_owned(&mut buffer).unwrap();
            assert!(buffer.is_empty());
            file.write_all(b"between").unwrap();
            expected.extend_from_slice(b"between");
            assert_eq!(file.stream_position().unwrap(), expected.len() as u64);
        }
        assert!(file.finish().unwrap().contents.into_inner() == expected);
        let mut full_file = writer(1 << 20);
        let result =
            (0..100).try_for_each(|_| full_file.write_owned(&mut vec![7; 300_000]));
        assert!(result.and_then(|()| full_file.finish().map(drop)).is_err());
    });
}

#[test]
fn full_disk_is_reported_by_a_later_write_or_finish() {
    run_in_pools(|| {
        let mut file = writer(1 << 20);
        let result = (0..100).try_for_each(|_| file.write_all(&[7; 60_000]));
        let is_full = |err: io::Error| err.kind() == io::ErrorKind::StorageFull;
        assert!(result.is_ok() || result.is_err_and(is_full));
        assert!(file.finish().is_err_and(is_full));
    });
    // The error is returned by `finish` at the latest.
    run_in_pools(|| {
        let mut file = writer(10);
        let result = file.write_all(&[7; 11]).and_then(|()| file.finish().map(drop));
        assert_eq!(result.unwrap_err().to_string(), "disk full");
    });
}

#[test]
fn dropping_the_writer_closes_the_file_without_writing_the_queue() {
    struct SlowFile {
        _open_marker: Arc<()>,
    }
    impl Write for SlowFile {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            std::thread::sleep(std::time::Duration::from_millis(1));
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl Seek for SlowFile {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Ok(0)
        }
    }
    run_in_pools(|| {
        let open_marker = Arc::new(());
        let mut file =
            BackgroundWriter::new(SlowFile { _open_marker: open_marker.clone() });
        (0..50).for_each(|_| file.write_all(&[0; 60_000]).unwrap());
        drop(file);
        assert_eq!(Arc::strong_count(&open_marker), 1);
    });
}

#[test]
fn panic_while_writing_becomes_an_error() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        let mut file = BackgroundWriter::new(PanickingFile);
        let result = (0..50).try_for_each(|_| file.write_all(&[0; 60_000]));
        assert!(result.and_then(|()| file.finish().map(drop)).is_err());
    });
}
