//! Inserted or missing bytes, which shift all bytes after them: the losses, and nothing else,
//! are reported by topic, count and time.
//!
//! The positions of records come from a record parser of 5 lines in Python; the expected losses
//! are the messages of the sound bag that lie in the missing bytes.

use logtool_core::conformance;

use super::{MODES, Read, read_as, rover, unclosed};

fn sample(name: &str) -> Option<Vec<u8>> {
    conformance::sample(&format!("rosbag/edge/{name}")).map(|bytes| bytes.to_vec())
}

/// Reads `bytes` in every way, with and without the index.
fn each_way(bytes: &[u8], check: impl Fn(&Read)) {
    for mode in MODES {
        check(&read_as(bytes, mode));
        check(&read_as(&unclosed(bytes.to_vec()), mode));
    }
}

fn is_by_topic_and_time(read: &Read) -> bool {
    let mut lost = read.damage.iter().filter(|damage| damage.kind.is_loss());
    lost.all(|damage| damage.topic.is_some() && damage.time.is_some())
}

#[test]
fn displaced_chunk_in_the_index_is_not_lost() {
    let Some(sound) = sample("ok_bz2.bag") else { return };
    for added_len in [1, 2, 3, 400] {
        let mut bytes = sound.clone();
        bytes.splice(5091..5091, vec![b'x'; added_len]);
        each_way(&bytes, |read| {
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
    // The byte is in one message of the third chunk, which is not compressed.
    let Some(mut bytes) = sample("ok_none.bag") else { return };
    bytes.insert(9311, b'Q');
    each_way(&bytes, |read| {
        assert_eq!((read.records, read.lost()), (99, 1));
        assert!(is_by_topic_and_time(read), "{:?}", read.damage);
    });
}

#[test]
fn messages_missing_from_an_intact_chunk_are_reported() {
    // 14 complete records of the second chunk.
    let Some(mut bytes) = sample("ok_none.bag") else { return };
    bytes.drain(6790..7568);
    let before = read_as(&sample("ok_none.bag").unwrap(), MODES[0]).records;
    each_way(&bytes, |read| {
        assert!(read.records < before && read.is_loss_reported());
        assert_eq!(read.records + read.lost(), 100);
        assert!(is_by_topic_and_time(read), "{:?}", read.damage);
    });
}

#[test]
fn losses_of_compressed_chunks_are_reported_by_displaced_index_data() {
    // In the compressed bytes of the third chunk.
    for (at, less, added_len) in
        [(26000, 1, 0), (26000, 9, 0), (26000, 0, 1), (29000, 0, 40)]
    {
        let mut bytes = rover();
        bytes.splice(at..at + less, vec![0xb7; added_len]);
        each_way(&bytes, |read| {
            assert!(read.records < 491);
            assert_eq!(read.records + read.lost(), 491, "{at} {less} {added_len}");
            assert!(is_by_topic_and_time(read), "{:?}", read.damage);
        });
    }
}

#[test]
fn messages_of_a_chunk_without_header_show_what_is_lost() {
    // From within index data up to the 13th message of the next chunk.
    let Some(mut bytes) = sample("ok_none.bag") else { return };
    bytes.drain(7902..8902);
    each_way(&bytes, |read| {
        assert_eq!((read.records, read.lost()), (88, 12));
        assert!(is_by_topic_and_time(read), "{:?}", read.damage);
    });
}
