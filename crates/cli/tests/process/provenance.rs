//! The provenance in outputs.

use std::fs;

use serde_json::{Value, json};

use crate::{bytes, program::Folder, samples::testdata};

/// The log, and its digest as the Python package `blake3` computes it.
const LOG: &str = "quad_flight.ulg";
const DIGEST: &str =
    "blake3:180bb22484b37b3591691de80fd132495cea4099b95f9186e3f4e0356c658aaa";

fn folder() -> (Folder, Value) {
    let (folder, log) = (Folder::new(), fs::read(testdata(LOG)).unwrap());
    folder.write(LOG, &log);
    let source = json!({"name": LOG, "bytes": log.len(), "digest": DIGEST});
    (folder, json!([source]))
}

fn tool() -> String {
    format!("logtool {}", env!("CARGO_PKG_VERSION"))
}

#[test]
fn text_tables_have_a_provenance_sidecar() {
    let (folder, sources) = folder();
    let args = ["convert", LOG, "-q", "-o", "out", "-t", "battery*", "--threads", "2"];
    folder.run(&args).assert_success();
    let provenance: Value =
        serde_json::from_str(&folder.read("out/provenance.json")).unwrap();
    let files =
        ["quad_flight_battery_status_0.csv", "quad_flight_battery_status_1.csv"];
    let command = "convert --topic 'battery*'";
    let want = json!(
        {"sources": sources, "tool": tool(), "command": command, "files": files}
    );
    assert_eq!(provenance, want);
    // Existing files are not replaced, and the new ones have their own provenance.
    let args = ["convert", LOG, "-q", "-o", "out", "-t", "vehicle_status"];
    folder.run(&args).assert_success();
    let provenance: Value =
        serde_json::from_str(&folder.read("out/provenance_2.json")).unwrap();
    assert_eq!(provenance["files"], json!(["quad_flight_vehicle_status_0.csv"]));
    folder.run(&[&args[..], &["--force"]].concat()).assert_success();
    let provenance: Value =
        serde_json::from_str(&folder.read("out/provenance.json")).unwrap();
    assert_eq!(provenance["files"], json!(["quad_flight_vehicle_status_0.csv"]));
}

#[test]
fn provenance_is_in_the_metadata_of_formats_that_have_it() {
    let (folder, sources) = folder();
    let outputs: [(&[&str], &str); 5] = [
        (&["convert", LOG, "-o", "a.kml"], "a.kml"),
        (&["convert", LOG, "-o", "a.gpx"], "a.gpx"),
        (&["convert", LOG, "-o", "a.geojson"], "a.geojson"),
        (&["plot", LOG, "battery_status.voltage_v", "-o", "a.svg"], "a.svg"),
        (&["report", LOG, "-o", "a.html"], "a.html"),
    ];
    for (args, name) in outputs {
        folder.run(&[args, &["-q"]].concat()).assert_success();
        let text = folder.read(name).replace("&quot;", "\"");
        let source = sources[0].as_object().unwrap();
        assert!(text.contains(&format!("\"digest\":\"{DIGEST}\"")), "{name}");
        assert!(text.contains(&format!("\"bytes\":{}", source["bytes"])), "{name}");
        assert!(text.contains(&format!("\"tool\":\"{}\"", tool())), "{name}");
    }
}

#[test]
fn mcap_file_has_its_provenance_and_that_of_its_source() {
    let (folder, _) = folder();
    folder.run(&["convert", LOG, "-q", "-o", "a.mcap"]).assert_success();
    let provenance = |name: &str| {
        let report =
            folder.run(&["info", "--json", name]).assert_success().json_lines();
        report[0]["metadata"]["metadata"]["provenance"].clone()
    };
    let of_log = provenance("a.mcap");
    assert_eq!(of_log["sources[0].digest"], DIGEST);
    assert_eq!(of_log["command"], "convert");
    folder.run(&["filter", "a.mcap", "-q", "-o", "b.mcap"]).assert_success();
    let digest = folder.run(&["info", "--digest", "--json", "a.mcap"]).json_lines();
    let of_filtered = provenance("b.mcap");
    assert_eq!(of_filtered["sources[0].digest"], digest[0]["digest"]);
    assert_eq!(of_filtered["command"], "filter");
    // Both provenances are in the file.
    let bytes = fs::read(folder.path().join("b.mcap")).unwrap();
    let holds = |text: &str| bytes.windows(text.len()).any(|at| at == text.as_bytes());
    assert!(holds(DIGEST) && holds("sources[0].digest"));
}

#[test]
fn outputs_do_not_depend_on_the_folder_of_the_log() {
    let (folder, _) = folder();
    folder.write("deep/down/quad_flight.ulg", &fs::read(testdata(LOG)).unwrap());
    for (log, out) in [(LOG, "one"), ("deep/down/quad_flight.ulg", "deep/two")] {
        folder
            .run(&["convert", log, "-q", "--format", "parquet", "-o", out])
            .assert_success();
    }
    for name in folder.list("one") {
        let read = |dir: &str| fs::read(folder.path().join(dir).join(&name)).unwrap();
        assert!(read("one") == read("deep/two"), "{name}");
    }
}

#[test]
fn outputs_are_equal_on_any_number_of_threads() {
    // 10 MB of packets, 14 MB of one topic, and many short topics.
    let capture = fs::read(testdata("puck.pcap")).unwrap();
    let (head, packets) = capture.split_at(24);
    let capture = [head, &packets.repeat(180)].concat();
    let flight = fs::read(testdata(LOG)).unwrap();
    let logs = [
        ("a.pcap", capture, &["parquet"][..]),
        ("b.ulg", bytes::long_log(800_000), &["arrow", "parquet"]),
        ("c.ulg", flight, &["arrow", "parquet"]),
    ];
    for (name, log, formats) in logs {
        let folder = Folder::new();
        folder.write(name, &log);
        for to in formats {
            let bytes_of = |threads: &str, out: &str| {
                let args =
                    ["convert", "-q", name, "--format", to, "--threads", threads];
                folder.run(&[&args[..], &["-o", out]].concat()).assert_success();
                let names = folder.list(out).into_iter();
                let read = |file| fs::read(folder.path().join(out).join(file)).unwrap();
                names.map(|file| (file.clone(), read(file))).collect::<Vec<_>>()
            };
            let expected = bytes_of("1", &format!("{to}1"));
            for threads in ["2", "3"] {
                let more = bytes_of(threads, &format!("{to}{threads}"));
                assert!(expected == more, "{name} as {to} on {threads} threads");
            }
        }
    }
}
