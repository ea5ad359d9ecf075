use super::*;

#[test]
fn a_packet_has_its_stamp_where_that_can_be_and_else_the_time_of_its_message() {
    let mut scan = crate::sensor::testing::Message::stamped(100, 0).u32(3);
    for (seconds, nanos) in [(99, 900_000_000), (98, 900_000_000), (100, 1)] {
        scan = scan.u32(seconds).u32(nanos).raw(&[0; 1206]);
    }
    let mut times = Vec::new();
    let time = Timestamp::from_nanos(100_000_000_000);
    packets_of(&scan.0, time, |time, _| times.push(time.as_nanos()));
    assert_eq!(times, [99_900_000_000, 100_000_000_000, 100_000_000_001]);
}

#[test]
fn a_scan_that_is_none_is_one_record() {
    let mut taken = Vec::new();
    packets_of(b"no scan", Timestamp::from_nanos(5), |time, range| {
        taken.push((time.as_nanos(), range));
    });
    assert_eq!(taken, [(5, 0..7)]);
}
