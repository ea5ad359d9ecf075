//! Packets with hand-made numbers.

use super::*;

fn packet(sequence: u16) -> StreamPacket {
    StreamPacket::new(sequence, None, vec![1]).unwrap()
}

/// Returns a packet of another stream.
fn other(sequence: u16) -> StreamPacket {
    StreamPacket::new(sequence, None, vec![2]).unwrap()
}

/// Pushes packets with these numbers, which have equal bytes.
fn push_all(order: &mut PacketOrder, sequences: impl IntoIterator<Item = u16>) {
    sequences.into_iter().for_each(|sequence| order.push(packet(sequence), 0));
}

/// Returns the numbers of the packets, and -1 where one does not follow the last one.
fn pop_all(order: &mut PacketOrder, now_micros: u64) -> Vec<i64> {
    let next = || order.pop(now_micros);
    let numbers = std::iter::from_fn(next).map(|item| match item {
        StreamItem::Packet(packet, _) => packet.sequence.into(),
        StreamItem::Gap => -1,
    });
    numbers.collect()
}

/// Pushes packets like [`push_all`], and returns the packets after each, like [`pop_all`].
fn feed(order: &mut PacketOrder, sequences: impl IntoIterator<Item = u16>) -> Vec<i64> {
    let mut all = Vec::new();
    for sequence in sequences {
        push_all(order, [sequence]);
        all.extend(pop_all(order, 0));
    }
    all
}

/// Returns (accepted, lost, repeated, late, out_of_sequence).
fn counts(order: &PacketOrder) -> (u64, u64, u64, u64, u64) {
    let PacketCounts { accepted, lost, repeated, late, out_of_sequence } =
        order.counts();
    (accepted, lost, repeated, late, out_of_sequence)
}

const NONE: [i64; 0] = [];

#[test]
fn reordered_and_repeated_packets_come_once_and_in_order() {
    let mut order = PacketOrder::starting_at(0);
    push_all(&mut order, [1]);
    assert_eq!(pop_all(&mut order, 0), NONE);
    push_all(&mut order, [0, 1]);
    assert_eq!(pop_all(&mut order, 2), [0, 1]);
    push_all(&mut order, [0]);
    assert_eq!(pop_all(&mut order, 3), NONE);
    assert_eq!(counts(&order), (2, 0, 2, 0, 0));
}

#[test]
fn numbers_wrap_around_after_65535() {
    let mut order = PacketOrder::starting_at(65_534);
    push_all(&mut order, [65_534, 0, 65_535, 1, 65_535]);
    assert_eq!(pop_all(&mut order, 0), [65_534, 65_535, 0, 1]);
    assert_eq!(counts(&order), (4, 0, 1, 0, 0));
}

#[test]
fn missing_packets_are_given_up_after_half_a_second() {
    let mut order = PacketOrder::starting_at(0);
    order.push(packet(0), 0);
    order.push(packet(3), 10);
    assert_eq!(pop_all(&mut order, 500_010), [0]);
    assert_eq!(pop_all(&mut order, 500_011), [-1, 3]);
    order.push(packet(2), 500_012);
    order.push(packet(4), 500_013);
    assert_eq!(pop_all(&mut order, 500_013), [4]);
    assert_eq!(counts(&order), (3, 2, 0, 1, 0), "it comes too late, and is lost");
}

#[test]
fn missing_packets_are_given_up_if_65_others_wait() {
    let mut order = PacketOrder::starting_at(0);
    push_all(&mut order, 1..=64);
    assert_eq!(pop_all(&mut order, 0), NONE);
    push_all(&mut order, [65]);
    let all: Vec<i64> = [-1].into_iter().chain(1..=65).collect();
    assert_eq!(pop_all(&mut order, 0), all);
    assert_eq!(counts(&order).1, 1);
}

#[test]
fn long_loss_is_one_gap_when_a_second_packet_follows() {
    let mut order = PacketOrder::starting_at(0);
    push_all(&mut order, [0, 20_000]);
    assert_eq!(pop_all(&mut order, 0), [0]);
    push_all(&mut order, [20_000, 20_001]);
    assert_eq!(pop_all(&mut order, 0), [-1, 20_000, 20_001]);
    assert_eq!(counts(&order), (3, 19_999, 1, 0, 0));
    push_all(&mut order, [52_000, 52_400]);
    assert_eq!(pop_all(&mut order, 0), [-1, 52_000, -1, 52_400]);
}

#[test]
fn loss_of_more_than_half_of_the_numbers_needs_eight_packets() {
    let mut order = PacketOrder::starting_at(0);
    push_all(&mut order, (0..10).chain(40_000..40_007));
    assert_eq!(pop_all(&mut order, 0), (0..10).collect::<Vec<i64>>());
    push_all(&mut order, [40_007]);
    let all: Vec<i64> = [-1].into_iter().chain(40_000..40_008).collect();
    assert_eq!(pop_all(&mut order, 0), all);
    assert_eq!(counts(&order), (18, 39_990, 0, 0, 0));
}

#[test]
fn packet_with_a_wrong_number_is_dropped() {
    for wrong in [1000, 30_000, 40_000, 65_530] {
        let mut order = PacketOrder::starting_at(0);
        push_all(&mut order, (0..5).chain([wrong]).chain(6..9));
        order.finish();
        assert_eq!(pop_all(&mut order, 0), [0, 1, 2, 3, 4, -1, 6, 7, 8], "{wrong}");
        assert_eq!(counts(&order), (8, 1, 0, 0, 1), "{wrong}");
    }
}

#[test]
fn packets_after_a_wrong_jump_are_returned() {
    let mut order = PacketOrder::starting_at(0);
    assert_eq!(feed(&mut order, 0..20), (0..20).collect::<Vec<i64>>());
    // They have the bytes of 20, 21 and 22.
    (1000..1003).for_each(|sequence| order.push(other(sequence), 0));
    assert_eq!(pop_all(&mut order, 0), [-1, 1000, 1001, 1002]);
    assert_eq!(feed(&mut order, 23..30), NONE);
    assert_eq!(counts(&order).1, 980);
    let back: Vec<i64> = [-1].into_iter().chain(23..1100).collect();
    assert_eq!(feed(&mut order, 30..1100), back);
    assert_eq!(counts(&order), (1100, 3, 0, 0, 0));
}

#[test]
fn many_late_packets_are_returned_after_later_ones() {
    let mut order = PacketOrder::starting_at(0);
    let first: Vec<i64> = (0..10).chain([-1]).chain(20..90).collect();
    assert_eq!(feed(&mut order, (0..10).chain(20..90)), first);
    let late: Vec<i64> =
        [-1].into_iter().chain(10..20).chain([-1]).chain(90..100).collect();
    assert_eq!(feed(&mut order, (10..20).chain(90..100)), late);
    assert_eq!(counts(&order), (100, 0, 0, 0, 0));
}

#[test]
fn packets_that_come_again_after_the_numbers_went_back_are_repeated() {
    let mut order = PacketOrder::starting_at(0);
    let late: Vec<i64> =
        (0..10).chain([-1]).chain(20..90).chain([-1]).chain(10..20).collect();
    assert_eq!(feed(&mut order, (0..10).chain(20..90).chain(10..20)), late);
    let rest: Vec<i64> = [-1].into_iter().chain(90..100).collect();
    assert_eq!(feed(&mut order, 10..100), rest);
    assert_eq!(counts(&order), (100, 0, 80, 0, 0));
    order.push(other(50), 0);
    order.finish();
    assert_eq!(counts(&order), (100, 0, 80, 0, 1), "it has other bytes");
}

#[test]
fn stream_that_ends_before_packets_that_came_early_has_lost_those_between() {
    let mut order = PacketOrder::starting_at(0);
    feed(&mut order, (0..4).chain(100..104).chain(4..30));
    order.finish();
    assert_eq!(pop_all(&mut order, 0), NONE);
    assert_eq!(counts(&order), (34, 70, 0, 0, 0));
}

#[test]
fn repeated_number_with_other_bytes_is_dropped() {
    let mut order = PacketOrder::starting_at(0);
    push_all(&mut order, 0..5);
    order.push(other(2), 0);
    order.push(other(4), 0);
    push_all(&mut order, 4..8);
    assert_eq!(pop_all(&mut order, 0), (0..8).collect::<Vec<i64>>());
    assert_eq!(counts(&order), (8, 0, 1, 0, 2));
    assert!(!order.is_over());
}

#[test]
fn another_stream_with_old_numbers_is_dropped_also_when_it_gets_ahead() {
    let mut order = PacketOrder::starting_at(0);
    push_all(&mut order, (0..10).chain(12..20));
    order.push(packet(20), 600_000);
    pop_all(&mut order, 600_000);
    (1..60).for_each(|sequence| order.push(other(sequence), 600_000));
    assert_eq!(pop_all(&mut order, 600_000), NONE);
    assert!(order.is_over());
    assert_eq!(counts(&order), (19, 2, 0, 0, 59));
}

#[test]
fn finished_stream_returns_what_waits() {
    let mut order = PacketOrder::starting_at(0);
    push_all(&mut order, [2, 5, 900]);
    order.finish();
    assert_eq!(pop_all(&mut order, 0), [-1, 2, -1, 5, -1, 900]);
    assert_eq!(counts(&order), (3, 898, 0, 0, 0));
}
