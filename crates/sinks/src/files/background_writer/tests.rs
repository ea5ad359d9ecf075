//! Tests with files that record writes, run out of space, or panic.

use std::io::Cursor;

use super::*;

/// A file with space for a limited number of bytes.
#[derive(Debug)]
struct SmallFile(Cursor<Vec<u8>>, u64);

impl Write for SmallFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.position() + bytes.len() as u64 > self.1 {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "disk full"));
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for SmallFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
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

fn in_pools(test: impl Fn() + Sync) {
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(&test);
    }
    test();
}

fn writer(capacity: u64) -> BackgroundWriter<SmallFile> {
    BackgroundWriter::new(SmallFile(Cursor::default(), capacity))
}

#[test]
fn all_writes_arrive_in_order_on_any_number_of_threads() {
    in_pools(|| {
        let (mut file, mut expected) = (writer(u64::MAX), Vec::new());
        for i in 0..3_000_u32 {
            let len = if i % 500 == 7 { 700_000 } else { 1 + i as usize % 1_700 };
            let bytes: Vec<u8> = (0..len).map(|at| (at as u32 * 7 + i) as u8).collect();
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
        assert!(file.finish().unwrap().0.into_inner() == expected);
    });
}

#[test]
fn passed_buffers_are_written_in_order_and_replaced_by_empty_ones() {
    in_pools(|| {
        let (mut file, mut expected) = (writer(u64::MAX), Vec::new());
        let mut buffer = Vec::new();
        for i in 0..400_u32 {
            let len = if i % 7 == 3 { 10 } else { 200_000 + i as usize };
            buffer.extend((0..len).map(|at| (at as u32 * 5 + i) as u8));
            expected.extend_from_slice(&buffer);
            file.write_owned(&mut buffer).unwrap();
            assert!(buffer.is_empty());
            file.write_all(b"between").unwrap();
            expected.extend_from_slice(b"between");
            assert_eq!(file.stream_position().unwrap(), expected.len() as u64);
        }
        assert!(file.finish().unwrap().0.into_inner() == expected);
        let mut full = writer(1 << 20);
        let result = (0..100).try_for_each(|_| full.write_owned(&mut vec![7; 300_000]));
        assert!(result.and_then(|()| full.finish().map(drop)).is_err());
    });
}

#[test]
fn full_disk_is_reported_by_a_later_write_or_finish() {
    in_pools(|| {
        let mut file = writer(1 << 20);
        let written = (0..100).try_for_each(|_| file.write_all(&[7; 60_000]));
        let is_full = |err: io::Error| err.kind() == io::ErrorKind::StorageFull;
        assert!(written.is_ok() || written.is_err_and(is_full));
        assert!(file.finish().is_err_and(is_full));
    });
    // The error is returned by `finish` at the latest.
    in_pools(|| {
        let mut file = writer(10);
        let written = file.write_all(&[7; 11]).and_then(|()| file.finish().map(drop));
        assert_eq!(written.unwrap_err().to_string(), "disk full");
    });
}

#[test]
fn dropping_the_writer_closes_the_file_without_writing_the_queue() {
    struct CountingFile {
        _open: Arc<()>,
    }
    impl Write for CountingFile {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            std::thread::sleep(std::time::Duration::from_millis(1));
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl Seek for CountingFile {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Ok(0)
        }
    }
    in_pools(|| {
        let open = Arc::new(());
        let mut file = BackgroundWriter::new(CountingFile { _open: open.clone() });
        (0..50).for_each(|_| file.write_all(&[0; 60_000]).unwrap());
        drop(file);
        assert_eq!(Arc::strong_count(&open), 1);
    });
}

#[test]
fn panic_while_writing_becomes_an_error() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        let mut file = BackgroundWriter::new(PanickingFile);
        let written = (0..50).try_for_each(|_| file.write_all(&[0; 60_000]));
        assert!(written.and_then(|()| file.finish().map(drop)).is_err());
    });
}
