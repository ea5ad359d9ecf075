//! Streams of hand-made packets.

use super::*;

/// A header, as in the PX4 User Guide; the start is 0x2710 µs.
const HEADER: [u8; 16] = *b"ULog\x01\x12\x35\x01\x10\x27\0\0\0\0\0\0";
const FORMAT: &[u8] = b"\x1f\0Fimu:uint64_t timestamp;float x;";
const SUBSCRIPTION: &[u8] = b"\x06\0A\0\x07\0imu";

/// Returns the definitions of the topic `imu`, with id 7 and records of 12 bytes.
fn definitions() -> Vec<u8> {
    let mut bytes = HEADER.to_vec();
    bytes.extend(FORMAT);
    bytes.extend(SUBSCRIPTION);
    bytes
}

/// Returns a record of `imu`, 17 bytes.
fn record(millis: u64) -> Vec<u8> {
    let mut bytes = b"\x0e\0D\x07\0".to_vec();
    bytes.extend((millis * 1000).to_le_bytes());
    bytes.extend([1, 2, 3, 4]);
    bytes
}

fn packet(sequence: u16, first_message: Option<u8>, data: &[u8]) -> StreamPacket {
    StreamPacket::new(sequence, first_message, data.to_vec()).unwrap()
}

/// Pushes packets, which arrive 10 ms apart, and finishes the stream.
fn ulog_of(packets: Vec<StreamPacket>) -> (Vec<u8>, StreamStatistics) {
    let mut stream = UlogStream::default();
    let mut ulog = Vec::new();
    let mut now = 0;
    for packet in packets {
        stream.push(packet, now, &mut ulog).unwrap();
        now += 10_000;
    }
    stream.finish(now, &mut ulog);
    let statistics = stream.statistics();
    assert_eq!(statistics.bytes, ulog.len() as u64);
    (ulog, statistics)
}

/// Cuts a ULog into packets of `length` bytes as PX4 does, with the numbers from `first` on.
/// `starts` are the offsets at which messages start, and 0 for the header.
fn cut(ulog: &[u8], starts: &[usize], length: usize, first: u16) -> Vec<StreamPacket> {
    let mut packets = Vec::new();
    for (index, data) in ulog.chunks(length).enumerate() {
        let range = index * length..index * length + data.len();
        let start = starts.iter().find(|start| range.contains(start));
        let offset = start.map(|start| u8::try_from(start - range.start).unwrap());
        let sequence = first.wrapping_add(u16::try_from(index).unwrap());
        packets.push(packet(sequence, offset, data));
    }
    packets
}

/// Returns a ULog with records of these times, and where its messages start.
fn ulog_with(times: impl IntoIterator<Item = u64>) -> (Vec<u8>, Vec<usize>) {
    let mut ulog = definitions();
    let mut starts = vec![0, HEADER.len(), HEADER.len() + FORMAT.len()];
    for time in times {
        starts.push(ulog.len());
        ulog.extend(record(time));
    }
    (ulog, starts)
}

#[test]
fn stream_without_losses_is_the_ulog_whatever_the_order() {
    let (ulog, starts) = ulog_with(0..200);
    for length in [16, 17, 18, 61, 249] {
        let mut packets = cut(&ulog, &starts, length, 0);
        let count = packets.len() as u64;
        // Each group of three backwards, and each packet twice.
        let shuffled = packets.chunks_mut(3).flat_map(|group| {
            group.reverse();
            [group.to_vec(), group.to_vec()].concat()
        });
        let (made, statistics) = ulog_of(shuffled.collect());
        assert_eq!(made, ulog, "{length}");
        assert_eq!((statistics.packets, statistics.repeated_packets), (count, count));
        assert_eq!((statistics.messages, statistics.dropouts), (202, 0));
        assert!(!statistics.has_losses());
    }
}

#[test]
fn only_complete_messages_are_written_at_any_time() {
    let (ulog, starts) = ulog_with(0..20);
    let mut stream = UlogStream::default();
    let mut made = Vec::new();
    for (number, packet) in cut(&ulog, &starts, 16, 0).into_iter().enumerate() {
        stream.push(packet, 0, &mut made).unwrap();
        let received = 16 * (number + 1);
        let end = starts.iter().filter(|start| **start <= received).max().unwrap();
        assert_eq!(
            made.len(),
            if received >= ulog.len() { ulog.len() } else { *end }.max(16)
        );
    }
}

#[test]
fn numbers_wrap_around_within_a_stream() {
    let (ulog, starts) = ulog_with(0..200);
    let (made, statistics) = ulog_of(cut(&ulog, &starts, 100, 65_530));
    assert_eq!(made, ulog);
    assert!(!statistics.has_losses());
}

#[test]
fn loss_is_a_dropout_between_the_times_around_it() {
    // Record n starts at 59 + 17 n: with packets of 17 bytes, 8 bytes into packet n + 3.
    let (ulog, starts) = ulog_with((0..10).map(|index| 1000 + 20 * index));
    let mut packets = cut(&ulog, &starts, 17, 0);
    packets.retain(|packet| ![6, 7].contains(&packet.sequence));
    let (made, statistics) = ulog_of(packets);
    // Record 2 ends in packet 6, and record 4 starts in packet 7: 2, 3 and 4 are lost.
    let mut want = ulog_with((0..2).map(|index| 1000 + 20 * index)).0;
    want.extend([2, 0, b'O', 80, 0]);
    (5..10).for_each(|index| want.extend(record(1000 + 20 * index)));
    assert_eq!(made, want);
    assert_eq!((statistics.lost_packets, statistics.dropouts), (2, 1));
    assert_eq!(statistics.dropout_millis, 80);
    // Of record 2, 9 bytes have arrived, and of record 4, 8 bytes.
    assert_eq!(statistics.skipped_bytes, 17);
}

#[test]
fn packets_in_which_no_message_starts_are_skipped_after_a_loss() {
    let mut long = b"\x58\x02L6".to_vec();
    long.extend(2_000_000_u64.to_le_bytes());
    long.resize(603, b'x');
    let mut ulog = definitions();
    let first = ulog.len();
    ulog.extend(record(1000));
    let starts = [0, 16, 50, first, first + 17, first + 17 + 603];
    ulog.extend(&long);
    ulog.extend(record(3000));
    let all = cut(&ulog, &starts, 100, 0);
    assert!(all[2].first_message.is_none() && all[3].first_message.is_none());
    let (made, statistics) = ulog_of(all.clone());
    assert_eq!((made, statistics.has_losses()), (ulog, false));

    let without = all.into_iter().filter(|packet| packet.sequence != 1).collect();
    let (made, statistics) = ulog_of(without);
    let mut want = definitions();
    want.extend(record(1000));
    want.extend([2, 0, b'O', 0xd0, 0x07]);
    want.extend(record(3000));
    assert_eq!(made, want);
    assert_eq!((statistics.dropout_millis, statistics.lost_packets), (2000, 1));
}

#[test]
fn long_loss_needs_several_dropouts() {
    let first = packet(0, Some(0), &definitions());
    let packets = vec![
        first,
        packet(1, Some(0), &record(1000)),
        packet(3, Some(0), &record(201_000)),
    ];
    let (made, statistics) = ulog_of(packets);
    let mut want = definitions();
    want.extend(record(1000));
    // 65535 ms, three times, and 3395 ms.
    (0..3).for_each(|_| want.extend([2, 0, b'O', 0xff, 0xff]));
    want.extend([2, 0, b'O', 0x43, 0x0d]);
    want.extend(record(201_000));
    assert_eq!(made, want);
    assert_eq!((statistics.dropouts, statistics.dropout_millis), (1, 200_000));
}

#[test]
fn loss_without_times_has_the_duration_between_packets() {
    // Times that go back, and no times at all.
    for (before, after) in [(record(9000), record(1)), (vec![], b"\x02\0Ixx".to_vec())]
    {
        let packets = vec![
            packet(0, Some(0), &definitions()),
            packet(1, Some(0), &before),
            packet(3, Some(0), &after),
        ];
        let (made, statistics) = ulog_of(packets);
        // Packets 1 and 3 arrive 10 ms apart.
        assert_eq!((statistics.dropouts, statistics.dropout_millis), (1, 10));
        assert!(made.windows(5).any(|bytes| bytes == [2, 0, b'O', 10, 0]));
    }
}

#[test]
fn late_times_before_a_loss_do_not_count() {
    let before = [record(1000), record(0), record(996)].concat();
    let packets = vec![
        packet(0, Some(0), &definitions()),
        packet(1, Some(0), &before),
        packet(3, Some(0), &record(1040)),
    ];
    assert_eq!(ulog_of(packets).1.dropout_millis, 40);
}

#[test]
fn messages_without_a_time_are_written_before_the_dropout() {
    let information = b"\x08\0I\x05int x\x01\0";
    let packets = vec![
        packet(0, Some(0), &definitions()),
        packet(1, Some(0), &record(100)),
        packet(3, Some(0), &[information.as_slice(), &record(400)].concat()),
    ];
    let mut want = definitions();
    want.extend(record(100));
    want.extend(information);
    want.extend([2, 0, b'O', 0x2c, 1]);
    want.extend(record(400));
    assert_eq!(ulog_of(packets).0, want);
}

#[test]
fn stream_that_never_sends_a_header_makes_nothing() {
    let packets: Vec<StreamPacket> =
        (500..510).map(|sequence| packet(sequence, Some(0), &record(7))).collect();
    let (made, statistics) = ulog_of(packets);
    assert_eq!((made.len(), statistics.packets_before_header), (0, 10));
    assert_eq!((statistics.bytes, statistics.dropouts), (0, 0));
}

#[test]
fn packets_before_the_header_are_of_another_stream() {
    // The numbers start again with the header, far behind or far ahead.
    for first in [1000, 40_000] {
        let packets = vec![
            packet(first, Some(0), &record(7)),
            packet(first + 2, Some(0), &record(7)),
            packet(0, Some(0), &definitions()),
            packet(1, Some(0), &record(8)),
            packet(3, Some(0), &record(9)),
        ];
        let (made, statistics) = ulog_of(packets);
        let mut want = ulog_with([8]).0;
        want.extend([2, 0, b'O', 1, 0]);
        want.extend(record(9));
        assert_eq!(made, want, "{first}");
        assert_eq!((statistics.lost_packets, statistics.dropouts), (1, 1));
        assert_eq!(statistics.packets_before_header, 2);
    }
}

#[test]
fn header_in_less_than_16_bytes_is_not_one() {
    let packets = vec![packet(0, Some(0), &HEADER[..15]), packet(1, None, &[0; 20])];
    let (made, statistics) = ulog_of(packets);
    assert_eq!((made.len(), statistics.packets_before_header), (0, 2));
}

#[test]
fn contradicting_offset_is_a_loss_and_the_next_messages_are_read() {
    let packets = vec![
        packet(0, Some(0), &definitions()),
        packet(1, Some(0), &[record(1).as_slice(), &[0xff, 0xff, b'D', 7, 0]].concat()),
        packet(2, Some(3), &[&[9, 9, 9], record(31).as_slice()].concat()),
    ];
    let (made, statistics) = ulog_of(packets);
    let mut want = ulog_with([1]).0;
    want.extend([2, 0, b'O', 30, 0]);
    want.extend(record(31));
    assert_eq!(made, want);
    assert_eq!((statistics.contradictions, statistics.skipped_bytes), (1, 8));
    assert!(statistics.has_losses());
}

#[test]
fn unfinished_message_at_the_end_is_not_a_loss() {
    let packets = vec![
        packet(0, Some(0), &definitions()),
        packet(1, Some(0), &[record(1).as_slice(), &record(2)[..9]].concat()),
    ];
    let (made, statistics) = ulog_of(packets);
    assert_eq!(made, ulog_with([1]).0);
    assert_eq!((statistics.unfinished_bytes, statistics.has_losses()), (9, false));
}

/// Returns the next of some numbers that look random (Numerical Recipes, "Quick and Dirty").
fn random(state: &mut u32) -> usize {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (*state >> 16) as usize
}

#[test]
fn any_packets_make_complete_messages() {
    let mut state = 7;
    for _ in 0..300 {
        let mut stream = UlogStream::default();
        let (mut ulog, mut sequence, mut now) = (Vec::new(), 0_u16, 0);
        stream.push(packet(0, Some(0), &definitions()), 0, &mut ulog).unwrap();
        for _ in 0..200 {
            // Mostly the next packets, with messages of small sizes and wrong offsets.
            let step = [0, 1, 1, 1, 2, 3, 90, 40_000][random(&mut state) % 8];
            sequence = sequence.wrapping_add(step);
            let values = [0, 0, 1, 9, 14, 17, b'D', b'L', b'F', b'A', 255];
            let mut data = vec![0; random(&mut state) % 60];
            data.fill_with(|| values[random(&mut state) % values.len()]);
            let offset = [None, Some(0), Some(3), Some(30)][random(&mut state) % 4];
            now += 1_000 * random(&mut state) as u64;
            if let Some(packet) = StreamPacket::new(sequence, offset, data) {
                stream.push(packet, now, &mut ulog).unwrap();
            }
        }
        stream.finish(now, &mut ulog);
        let statistics = stream.statistics();
        assert_eq!(statistics.bytes, ulog.len() as u64);
        let (mut at, mut messages, mut dropouts) = (HEADER.len(), 0, 0);
        while at < ulog.len() {
            let size = u16::from_le_bytes([ulog[at], ulog[at + 1]]);
            messages += 1;
            dropouts += u64::from(ulog[at..].starts_with(&[2, 0, b'O']));
            at += 3 + usize::from(size);
        }
        assert_eq!(at, ulog.len(), "the last message is complete");
        assert!(dropouts >= statistics.dropouts);
        assert_eq!(messages, statistics.messages + dropouts);
    }
}

#[test]
fn other_header_starts_another_log_and_the_same_header_is_repeated() {
    let mut stream = UlogStream::default();
    let mut ulog = Vec::new();
    let first = packet(0, Some(0), &definitions());
    stream.push(first.clone(), 0, &mut ulog).unwrap();
    stream.push(packet(1, Some(0), &record(1)), 0, &mut ulog).unwrap();
    assert_eq!(stream.push(first, 0, &mut ulog), Ok(()));
    let mut other = definitions();
    other[8] ^= 1;
    assert_eq!(
        stream.push(packet(0, Some(0), &other), 0, &mut ulog),
        Err(AnotherLogStarted(packet(0, Some(0), &other)))
    );
    assert_eq!(stream.statistics().repeated_packets, 1);
}

#[test]
fn log_that_starts_again_without_its_header_is_counted_and_not_added() {
    let (ulog, starts) = ulog_with(0..40);
    let first = cut(&ulog, &starts, 17, 0);
    // The same definitions, and records of later times.
    let (other, starts) = ulog_with(9000..9100);
    let again = cut(&other, &starts, 17, 0);
    let count = again.len() as u64 - 1;
    let packets = [first, again[1..].to_vec()].concat();
    let (made, statistics) = ulog_of(packets);
    assert_eq!(made, ulog);
    // The packets of the definitions are the same.
    assert_eq!(statistics.repeated_packets, 2);
    assert_eq!(statistics.out_of_sequence_packets, count - 2);
    assert!(statistics.has_losses());
}

#[test]
fn packet_with_a_wrong_number_is_a_loss_and_the_others_are_added() {
    let (ulog, starts) = ulog_with(0..40);
    let mut packets = cut(&ulog, &starts, 17, 0);
    packets[9].sequence = 20_009;
    let (made, statistics) = ulog_of(packets);
    // Record 5 ends in packet 9, and record 7 starts there.
    let mut want = ulog_with(0..5).0;
    want.extend([2, 0, b'O', 3, 0]);
    (7..40).for_each(|time| want.extend(record(time)));
    assert_eq!(made, want);
    assert_eq!((statistics.lost_packets, statistics.out_of_sequence_packets), (1, 1));
}

#[test]
fn log_that_is_sent_again_after_many_packets_is_another_log() {
    let mut stream = UlogStream::default();
    let mut ulog = Vec::new();
    let first = packet(0, Some(0), &definitions());
    stream.push(first.clone(), 0, &mut ulog).unwrap();
    for number in 1..40_000_u32 {
        let data = record(number.into());
        stream.push(packet(number as u16, Some(0), &data), 0, &mut ulog).unwrap();
    }
    assert_eq!(stream.push(first.clone(), 0, &mut ulog), Err(AnotherLogStarted(first)));
}

#[test]
fn long_message_in_short_packets_is_not_copied_for_each_packet() {
    let mut ulog = HEADER.to_vec();
    ulog.extend(u16::MAX.to_le_bytes());
    ulog.push(b'L');
    ulog.resize(ulog.len() + usize::from(u16::MAX), b'x');
    let mut stream = UlogStream::default();
    let mut written = Vec::new();
    let mut moves = 0;
    let mut buffer = stream.partial.as_ptr();
    // The first packet has the header; the others have one byte each.
    for (index, data) in
        std::iter::once(&ulog[..17]).chain(ulog[17..].chunks(1)).enumerate()
    {
        let first_message = (index == 0).then_some(0);
        let sequence = u16::try_from(index & 0xffff).unwrap();
        stream.push(packet(sequence, first_message, data), 0, &mut written).unwrap();
        moves += usize::from(buffer != stream.partial.as_ptr());
        buffer = stream.partial.as_ptr();
    }
    assert!(written == ulog);
    assert_eq!(stream.statistics().messages, 1);
    // A buffer that doubles its length moves 17 times while it gets 65,538 bytes.
    assert!(moves <= 17, "the buffer moved {moves} times");
}
