//! Inserted or missing bytes, which displace all bytes after them: exactly the losses are reported,
//! by topic, count and time.
//!
//! The positions of records were determined with a record parser of 5 lines in Python. The expected
//! losses are the messages of the sound bag that lie in the missing bytes.

use logtool_core::conformance;

use super::{MODES, ReadResult, read_with_mode, rover, without_index_position};

fn sample(name: &str) -> Option<Vec<u8>> {
    conformance::sample(&format!("rosbag/edge/{name}")).map(|bytes| bytes.to_vec())
}

/// Calls `check` with the result of reading `bytes` in each mode, with and without the index.
fn check_each_mode(bytes: &[u8], check: impl Fn(&ReadResult)) {
    for mode in MODES {
        check(&read_with_mode(bytes, mode));
        check(&read_with_mode(&without_index_position(bytes.to_vec()), mode));
    }
}

/// Returns whether all losses have a topic and a time.
fn have_topics_and_times(read: &ReadResult) -> bool {
    let mut lost = read.damage.iter().filter(|damage| damage.kind.is_loss());
    lost.all(|damage| damage.topic.is_some() && damage.time.is_some())
}

#[test]
fn displaced_chunk_in_the_index_is_not_lost() {
    let Some(sound) = sample("ok_bz2.bag") else { return };
    for added_len in [1, 2, 3, 400] {
        let mut bytes = sound.clone();
        bytes.splice(5091..5091, vec![b'x'; added_len]);
        check_each_mode(&bytes, |read| {
            assert!(
                read.records == 100 && !read.is_loss_reported(),
                "{:?}",
                read.damage
            );
        });
    }
}

#[test]
fn last_message_of_a_lengthened_chunk_is_read() {
    // The inserted byte is in a message of the third chunk, which is not compressed.
    let Some(mut bytes) = sample("ok_none.bag") else { return };
    bytes.insert(9311, b'Q');
    check_each_mode(&bytes, |read| {
        assert_eq!((read.records, read.lost_records()), (99, 1));
        assert!(have_topics_and_times(read), "{:?}", read.damage);
    });
}

#[test]
fn messages_missing_from_an_intact_chunk_are_reported() {
    // The missing bytes are 14 complete records of the second chunk.
    let Some(mut bytes) = sample("ok_none.bag") else { return };
    bytes.drain(6790..7568);
    check_each_mode(&bytes, |read| {
        assert!(read.records < 100 && read.is_loss_reported());
        assert_eq!(read.records + read.lost_records(), 100);
        assert!(have_topics_and_times(read), "{:?}", read.damage);
    });
}

#[test]
fn losses_of_compressed_chunks_are_reported_from_displaced_index_data() {
    // The positions are in the compressed bytes of the third chunk.
    for (at, missing_len, added_len) in
        [(26000, 1, 0), (26000, 9, 0), (26000, 0, 1), (29000, 0, 40)]
    {
        let mut bytes = rover();
        bytes.splice(at..at + missing_len, vec![0xb7; added_len]);
        check_each_mode(&bytes, |read| {
            assert!(read.records < 491);
            let case = format!("{at} {missing_len} {added_len}");
            assert_eq!(read.records + read.lost_records(), 491, "{case}");
            assert!(have_topics_and_times(read), "{:?}", read.damage);
        });
    }
}

#[test]
fn losses_of_a_chunk_without_its_header_are_reported() {
    // The missing bytes start within index data, and end before the 13th message of the next chunk.
    let Some(mut bytes) = sample("ok_none.bag") else { return };
    bytes.drain(7902..8902);
    check_each_mode(&bytes, |read| {
        assert_eq!((read.records, read.lost_records()), (88, 12));
        assert!(have_topics_and_times(read), "{:?}", read.damage);
    });
}
