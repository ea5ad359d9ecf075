use super::*;

fn band(name: &str, start: i64, end: i64) -> Band {
    Band { name: name.into(), start, end, color: [255, 0, 0] }
}

/// A track along a meridian, a metre each second.
fn north(name: &str, origin: (f64, f64)) -> Track {
    let mut builder = TrackBuilder::new(name, Vec::new());
    for n in 0..11 {
        let north = f64::from(n) / METRES_PER_DEGREE;
        builder.add(Some(i64::from(n)), origin.0 + north, origin.1);
    }
    builder.finish()
}

#[test]
fn gap_splits_the_line() {
    let mut builder = TrackBuilder::new("setpoint", Vec::new());
    builder.add_local(Some(0), 0.0, 0.0);
    builder.add_local(Some(1), 1.0, 0.0);
    builder.add_gap();
    builder.add_local(Some(2), 5.0, 0.0);
    builder.add_local(Some(3), 5.0, 9.0);
    let track = builder.finish();
    let lines: Vec<_> = track.pieces.iter().map(|p| p.positions.clone()).collect();
    assert_eq!(lines, [vec![(0.0, 0.0), (1.0, 0.0)], vec![(5.0, 0.0), (5.0, 9.0)]]);
}

#[test]
fn change_of_mode_joins_the_pieces() {
    let modes = vec![band("HOLD", 10, 20), band("LAND", 20, 30)];
    let mut builder = TrackBuilder::new("gps", modes);
    for (nanos, x) in [(0, 0.0), (15, 5.0), (25, 9.0)] {
        builder.add_local(Some(nanos), x, x);
    }
    let track = builder.finish();
    let modes = track.pieces.iter().map(|piece| piece.mode.as_ref().unwrap());
    assert_eq!(modes.map(|(name, _)| &**name).collect::<Vec<_>>(), ["HOLD", "LAND"]);
    assert_eq!(track.pieces[1].positions, [(5.0, 5.0), (9.0, 9.0)]);
}

#[test]
fn gaps_without_end_stay_bounded() {
    let mut builder = TrackBuilder::new("setpoint", Vec::new());
    for n in 0..100_000 {
        builder.add_local(None, f64::from(n), 0.0);
        builder.add_gap();
    }
    assert!(builder.pieces.len() <= MAX_PIECES);
    assert!(builder.finish().pieces.len() <= MAX_PIECES);
}

#[test]
fn tracks_of_one_area_share_the_origin_of_the_first() {
    let (zurich, near, far) = ((47.0, 8.0), (47.0, 8.001), (52.0, 13.0));
    let tracks = vec![north("a", zurich), north("b", near), north("c", far)];
    let maps = TrackMap::group(tracks);
    let names = maps.iter().map(|map| map.tracks.iter().map(|t| &*t.name).collect());
    assert_eq!(names.collect::<Vec<Vec<_>>>(), [vec!["a", "b"], vec!["c"]]);
    // A thousandth of a degree of longitude at 47 degrees: 111.132 m x cos(47°).
    let (x, y) = maps[0].tracks[1].pieces[0].positions[0];
    assert!((x - 75.79).abs() < 0.01 && y.abs() < 1e-6, "{x} {y}");
    // Each name is in the legend; a single track needs none.
    let svg = maps[0].svg().unwrap();
    assert!(svg.contains(">\na\n<") || svg.contains(">a<"), "{svg}");
    assert_eq!(maps[1].entries().len(), 0);
}

#[test]
fn local_tracks_share_a_map_until_their_origin_is_known() {
    let local = |name: &str| {
        let mut builder = TrackBuilder::new(name, Vec::new());
        builder.add_local(None, 0.0, 0.0);
        builder.add_local(None, 3.0, 4.0);
        builder.finish()
    };
    let maps = TrackMap::group(vec![north("gps", (47.0, 8.0)), local("x"), local("y")]);
    assert_eq!(maps.iter().map(|map| map.tracks.len()).collect::<Vec<_>>(), [1, 2]);
    let mut known = local("x");
    known.set_origin((47.0, 8.0));
    let maps = TrackMap::group(vec![north("gps", (47.0, 8.0)), known]);
    assert_eq!(maps[0].tracks[1].pieces[0].positions[1], (3.0, 4.0));
}
