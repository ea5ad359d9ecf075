//! Whole files, compared with texts written by hand according to the specifications.

use std::sync::Arc;

use arrow_array::Float64Array;

use super::*;
use crate::{
    ExistingFiles,
    provenance::CREATED_BY,
    testing::{column, names, table, times, topic, utc_times, write_one_file},
};

/// 2024-05-01T12:00:00Z.
const NOON: i64 = 1_714_564_800_000_000_000;

/// A fix every second from noon on: longitude, latitude, altitude.
fn rows(is_utc: bool, fixes: &[[f64; 3]]) -> RecordBatch {
    let nanos = (0..fixes.len()).map(|i| Some(NOON + i as i64 * 1_000_000_000));
    let times = if is_utc { utc_times } else { times }("us", nanos.collect());
    let column = |name, axis: usize| {
        let values: Vec<f64> = fixes.iter().map(|fix| fix[axis]).collect();
        column(name, Arc::new(Float64Array::from(values)))
    };
    table(vec![times, column("lon", 0), column("lat", 1), column("alt", 2)])
}

/// A flight with two modes; the receiver loses the fix during the second.
const FLIGHT: [[f64; 3]; 5] = [
    [8.5, 47.25, 400.0],
    [8.75, 47.25, 400.5],
    [9.0, 47.25, f64::NAN],
    [f64::NAN, f64::NAN, 400.0],
    [180.0, 47.0, 1.0],
];

fn modes() -> TrackModes {
    let mode = |second: i64, name: &str, color| {
        let mode = TrackMode { name: name.to_owned(), color };
        (NOON + second * 1_000_000_000, Arc::new(mode))
    };
    TrackModes::new(vec![
        mode(1, "A<B", [0xff, 0x80, 0x01]),
        mode(2, "C", [0, 0, 0xff]),
    ])
}

/// Writes [`FLIGHT`] in two batches, and returns the text of the file.
fn flight(format: TrackFormat) -> (String, TrackSink) {
    let folder = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(folder.path(), ExistingFiles::Refuse);
    let sink = TrackSink::new(outputs.clone(), names("t"), format, "a&b.ulg".into());
    let sink = sink.with_modes(modes());
    let rows = rows(true, &FLIGHT);
    let batches = [rows.slice(0, 2), rows.slice(2, 3)];
    let text = String::from_utf8(write_one_file(&outputs, &sink, &batches)).unwrap();
    (text.replace(CREATED_BY, "US"), sink)
}

#[test]
fn track_over_the_antimeridian_is_two_lines() {
    let paths = [179.9, 180.0]
        .map(|east| [[179.5, 1.0, 0.0], [east, 1.0, 0.0], [-179.9, 2.0, 0.0]]);
    let geojson = TrackFormat::GeoJson;
    for (fixes, format, expected_texts) in [
        (paths[0], geojson, ["[180,1.5,0]]", "[[-180,1.5,0],[-179.9,2,0]]"]),
        (paths[1], geojson, ["[[179.5,1,0],[180,1,0]]", "[[-180,1,0],[-179.9,2,0]]"]),
        (
            paths[0],
            TrackFormat::Kml,
            ["180,1.5,0\n</coord", "<coordinates>\n-180,1.5,0\n-179.9,2"],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let outputs = Outputs::new(folder.path(), ExistingFiles::Refuse);
        let sink = TrackSink::new(outputs.clone(), names("t"), format, "a".into());
        let rows = rows(true, &fixes);
        let text = String::from_utf8(write_one_file(&outputs, &sink, &[rows])).unwrap();
        for expected in expected_texts {
            assert!(text.contains(expected), "no {expected:?} in {text}");
        }
        assert_eq!(sink.fixes(), 3);
    }
}

#[test]
fn kml_has_a_line_for_each_mode_in_its_colour() {
    let (text, sink) = flight(TrackFormat::Kml);
    let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<kml xmlns="http://www.opengis.net/kml/2.2">
<Document>
<name>t</name>
<description>a&amp;b.ulg, by US</description>
<Placemark>
<name>t: A&lt;B</name>
<TimeSpan><begin>2024-05-01T12:00:00.000000Z</begin><end>2024-05-01T12:00:02.000000Z</end></TimeSpan>
<Style><LineStyle><color>ff0180ff</color><width>3</width></LineStyle></Style>
<LineString>
<tessellate>1</tessellate>
<altitudeMode>clampToGround</altitudeMode>
<coordinates>
8.5,47.25,400
8.75,47.25,400.5
9,47.25
</coordinates>
</LineString>
</Placemark>
<Placemark>
<name>t: C</name>
<TimeSpan><begin>2024-05-01T12:00:02.000000Z</begin><end>2024-05-01T12:00:02.000000Z</end></TimeSpan>
<Style><IconStyle><color>ffff0000</color></IconStyle></Style>
<Point>
<altitudeMode>clampToGround</altitudeMode>
<coordinates>9,47.25</coordinates>
</Point>
</Placemark>
<Placemark>
<name>t: C</name>
<TimeSpan><begin>2024-05-01T12:00:04.000000Z</begin><end>2024-05-01T12:00:04.000000Z</end></TimeSpan>
<Style><IconStyle><color>ffff0000</color></IconStyle></Style>
<Point>
<altitudeMode>absolute</altitudeMode>
<coordinates>180,47,1</coordinates>
</Point>
</Placemark>
</Document>
</kml>
"#;
    assert_eq!(text, expected);
    assert_eq!((sink.files(), sink.fixes()), (1, 4));
    assert_eq!((sink.rows_without_position(), sink.impossible_positions()), (1, 0));
}

#[test]
fn gpx_has_each_fix_once_and_a_segment_from_loss_to_loss() {
    let (text, _) = flight(TrackFormat::Gpx);
    let expected = r#"<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="US" xmlns="http://www.topografix.com/GPX/1/1">
<trk>
<name>t</name>
<src>a&amp;b.ulg</src>
<trkseg>
<trkpt lat="47.25" lon="8.5"><ele>400</ele><time>2024-05-01T12:00:00.000000Z</time><name>A&lt;B</name></trkpt>
<trkpt lat="47.25" lon="8.75"><ele>400.5</ele><time>2024-05-01T12:00:01.000000Z</time></trkpt>
<trkpt lat="47.25" lon="9"><time>2024-05-01T12:00:02.000000Z</time><name>C</name></trkpt>
</trkseg>
<trkseg>
<trkpt lat="47" lon="-180"><ele>1</ele><time>2024-05-01T12:00:04.000000Z</time></trkpt>
</trkseg>
</trk>
</gpx>
"#;
    assert_eq!(text, expected);
}

#[test]
fn geojson_has_a_feature_for_each_segment() {
    let (text, _) = flight(TrackFormat::GeoJson);
    let expected = r##"{"type":"FeatureCollection","features":[
{"type":"Feature","geometry":{"type":"LineString","coordinates":[[8.5,47.25,400],[8.75,47.25,400.5],[9,47.25]]},"properties":{"topic":"t","log":"a&b.ulg","mode":"A<B","stroke":"#ff8001","startTime":"2024-05-01T12:00:00.000000Z","endTime":"2024-05-01T12:00:02.000000Z","coordTimes":["2024-05-01T12:00:00.000000Z","2024-05-01T12:00:01.000000Z","2024-05-01T12:00:02.000000Z"]}},
{"type":"Feature","geometry":{"type":"Point","coordinates":[9,47.25]},"properties":{"topic":"t","log":"a&b.ulg","mode":"C","stroke":"#0000ff","startTime":"2024-05-01T12:00:02.000000Z","endTime":"2024-05-01T12:00:02.000000Z","coordTimes":["2024-05-01T12:00:02.000000Z"]}},
{"type":"Feature","geometry":{"type":"Point","coordinates":[180,47,1]},"properties":{"topic":"t","log":"a&b.ulg","mode":"C","stroke":"#0000ff","startTime":"2024-05-01T12:00:04.000000Z","endTime":"2024-05-01T12:00:04.000000Z","coordTimes":["2024-05-01T12:00:04.000000Z"]}}
]}
"##;
    assert_eq!(text, expected);
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
}

/// Writes `fixes` with times that are not UTC, and returns the text of the file.
fn write_without_utc(format: TrackFormat, fixes: &[[f64; 3]]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(folder.path(), ExistingFiles::Refuse);
    let sink = TrackSink::new(outputs.clone(), names("t"), format, "log".into());
    let text =
        write_one_file(&outputs, &sink.with_name("own".into()), &[rows(false, fixes)]);
    assert!(folder.path().join("own").exists());
    String::from_utf8(text).unwrap()
}

#[test]
fn times_that_are_not_utc_have_no_dates() {
    let text = write_without_utc(TrackFormat::GeoJson, &FLIGHT[..2]);
    let times = r#""startSeconds":1714564800,"endSeconds":1714564801}"#;
    assert!(text.contains(times) && !text.contains("Time"), "{text}");
    for format in [TrackFormat::Kml, TrackFormat::Gpx] {
        assert!(!write_without_utc(format, &FLIGHT[..2]).contains("2024-"));
    }
}

#[test]
fn long_track_is_written_in_segments_that_touch() {
    // With one fix more than a segment can have, the last segment has only the shared fix.
    for count in [MAX_FIXES, MAX_FIXES + 1, MAX_FIXES + 2, 2 * MAX_FIXES + 5] {
        let fixes: Vec<_> =
            (0..count).map(|i| [1.0 + i as f64 / 1e6, 2.0, 3.0]).collect();
        let gpx = write_without_utc(TrackFormat::Gpx, &fixes);
        assert_eq!(gpx.matches("<trkpt ").count(), count);
        assert_eq!(gpx.matches("<trkseg>").count(), 1);
        assert_eq!(gpx.matches("</trkseg>").count(), 1);
        let kml = write_without_utc(TrackFormat::Kml, &fixes);
        let segments = kml.matches("<Placemark>").count();
        assert_eq!(kml.matches(",2,3\n").count(), count + segments - 1);
        assert!(!kml.contains("<Point>"));
        let json = write_without_utc(TrackFormat::GeoJson, &fixes);
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["features"].as_array().unwrap().len(), segments);
    }
}

#[test]
fn topic_without_fixes_has_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = Outputs::new(folder.path(), ExistingFiles::Refuse);
    let log = String::from("log");
    let sink = TrackSink::new(outputs.clone(), names("t"), TrackFormat::Kml, log);
    let rows = rows(true, &FLIGHT[3..4]);
    let mut writer = sink.new_table(&topic("t", 0), &rows.schema()).unwrap();
    writer.write(&rows).unwrap();
    writer.finish().unwrap();
    assert!(outputs.commit().unwrap().is_empty());
    assert_eq!((sink.files(), sink.rows_without_position()), (0, 1));
}
