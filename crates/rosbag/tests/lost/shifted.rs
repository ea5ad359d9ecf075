//! Bytes that came in or are missing, so that all behind them is shifted: what is lost is told
//! by topic, number and time, and nothing else is.
//!
//! The places are those of records, by a walker of 5 lines in Python; what is lost was found
//! by looking which messages of the sound bag lie in the bytes that are missing.

use logtool_core::conformance;

use super::{Read, SURVEYS, read_as, rover, unclosed};

fn sample(name: &str) -> Option<Vec<u8>> {
    conformance::sample(&format!("rosbag/edge/{name}")).map(|bytes| bytes.to_vec())
}

/// Reads `bytes` in every way, with the index at the end and without.
fn each_way(bytes: &[u8], check: impl Fn(&Read)) {
    for survey in SURVEYS {
        check(&read_as(bytes, survey));
        check(&read_as(&unclosed(bytes.to_vec()), survey));
    }
}

fn is_by_topic_and_time(read: &Read) -> bool {
    let mut lost = read.damage.iter().filter(|damage| damage.kind.is_loss());
    lost.all(|damage| damage.topic.is_some() && damage.time.is_some())
}

#[test]
fn a_chunk_that_was_moved_is_not_lost_where_the_index_tells_of_it() {
    let Some(sound) = sample("ok_bz2.bag") else { return };
    for more in [1, 2, 3, 400] {
        let mut bytes = sound.clone();
        bytes.splice(5091..5091, vec![b'x'; more]);
        each_way(&bytes, |read| {
            assert!(read.records == 100 && !read.is_loss_told(), "{:?}", read.damage);
        });
    }
}

#[test]
fn the_last_message_of_a_chunk_that_became_longer_is_read() {
    // The byte is in one message of the third chunk, which is not packed.
    let Some(mut bytes) = sample("ok_none.bag") else { return };
    bytes.insert(9311, b'Q');
    each_way(&bytes, |read| {
        assert_eq!((read.records, read.lost()), (99, 1));
        assert!(is_by_topic_and_time(read), "{:?}", read.damage);
    });
}

#[test]
fn messages_that_a_chunk_lacks_are_told_though_nothing_in_it_is_broken() {
    // 14 whole records of the second chunk.
    let Some(mut bytes) = sample("ok_none.bag") else { return };
    bytes.drain(6790..7568);
    let before = read_as(&sample("ok_none.bag").unwrap(), SURVEYS[0]).records;
    each_way(&bytes, |read| {
        assert!(read.records < before && read.is_loss_told());
        assert_eq!(read.records + read.lost(), 100);
        assert!(is_by_topic_and_time(read), "{:?}", read.damage);
    });
}

#[test]
fn what_is_lost_of_packed_chunks_is_told_by_their_index_data_wherever_these_begin() {
    // In the packed bytes of the third chunk.
    for (at, less, more) in
        [(26000, 1, 0), (26000, 9, 0), (26000, 0, 1), (29000, 0, 40)]
    {
        let mut bytes = rover();
        bytes.splice(at..at + less, vec![0xb7; more]);
        each_way(&bytes, |read| {
            assert!(read.records < 491);
            assert_eq!(read.records + read.lost(), 491, "{at} {less} {more}");
            assert!(is_by_topic_and_time(read), "{:?}", read.damage);
        });
    }
}

#[test]
fn messages_of_a_chunk_without_its_head_tell_what_is_lost_with_it() {
    // From within index data up to the 13th message of the chunk behind them.
    let Some(mut bytes) = sample("ok_none.bag") else { return };
    bytes.drain(7902..8902);
    each_way(&bytes, |read| {
        assert_eq!((read.records, read.lost()), (88, 12));
        assert!(is_by_topic_and_time(read), "{:?}", read.damage);
    });
}
