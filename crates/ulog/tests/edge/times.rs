//! Times with few bits, without timestamps, and going backwards.

use logtool_core::Log as _;

use crate::edge_log::Case;

pub(crate) const CASES: &[Case] = &[
    ("30_ts_u32.ulg", |edge| {
        edge.has_rows(&[("t", 6)]);
        // 30, 20 and 10 µs before 2^32, then after it.
        let turn = f64::from(u32::MAX) + 1.0;
        let times = [-30.0, -20.0, -10.0, 0.0, 10.0, 20.0].map(|micros| turn + micros);
        assert_eq!(edge.times("t"), times);
        assert_eq!(edge.column("t", "a"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }),
    ("32_ts_u8.ulg", |edge| {
        edge.has_rows(&[("t", 6)]);
        // 8 bits count milliseconds: 226, 236, 246, then 256 as 0.
        let times = [226.0, 236.0, 246.0, 256.0, 266.0, 276.0].map(|ms| ms * 1000.0);
        assert_eq!(edge.times("t"), times);
        assert_eq!(edge.column("t", "a"), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    }),
    ("33_no_timestamp.ulg", |edge| {
        edge.has_rows(&[("att", 2), ("n", 1)]);
        assert_eq!(edge.column("n", "a"), [1.0]);
    }),
    ("34_ts_backwards.ulg", |edge| {
        edge.has_rows(&[("att", 4)]);
        // Times are delivered unchanged, in file order…
        assert_eq!(edge.times("att"), [100.0, 90.0, 0.0, 200.0]);
        // …and reported.
        assert!(edge.remarks("older than"));
        let att = &edge.log().manifest().topics[0];
        assert_eq!(att.metadata["older_than_before"], "1");
        assert_eq!(att.metadata["impossible_times"], "1");
    }),
];
