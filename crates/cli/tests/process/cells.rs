//! Tests that each cell in the table of `logtool formats` is correct.

use std::io::Cursor;

use logtool_core::Timestamp;
use logtool_rosbag::{ConnectionHeader, Writer, WriterOptions};
use serde_json::Value;

use crate::{program::Folder, samples::testdata};

/// Returns an input of each kind, by its name in `formats`.
const INPUTS: [(&str, &str); 4] = [
    ("ulog", "quad_flight.ulg"),
    ("bag", "rover.bag"),
    ("vel", "car.vel"),
    ("capture", "puck.pcap"),
];

/// A bag of one lidar packet, for the outputs that need lidar packets.
pub(crate) fn bag_of_packets() -> Vec<u8> {
    let line = "=".repeat(80);
    let definition = format!(
        "Header header\nVelodynePacket[] packets\n{line}\nMSG: std_msgs/Header\n\
         uint32 seq\ntime stamp\nstring frame_id\n{line}\n\
         MSG: velodyne_msgs/VelodynePacket\ntime stamp\nuint8[1206] data\n"
    );
    let header =
        ConnectionHeader::new("/lidar", "velodyne_msgs/VelodyneScan", &definition);
    let mut bag =
        Writer::new(Cursor::new(Vec::new()), WriterOptions::default()).unwrap();
    let lidar = bag.connect(&header).unwrap();
    // The header has only its time; then follow one packet and its time of arrival.
    let scan = [&[0; 16][..], &[1, 0, 0, 0], &[1, 0, 0, 0, 0, 0, 0, 0], &[0; 1206]];
    bag.write(lidar, Timestamp::from_nanos(1_000_000_000), &scan.concat()).unwrap();
    bag.finish().unwrap().into_inner()
}

#[test]
fn each_input_converts_to_the_formats_in_the_table_only() {
    let folder = Folder::new();
    let table =
        folder.run(&["formats", "--json"]).assert_success().json_lines().remove(0);
    let bag = testdata("rover.bag");
    folder.run(&["convert", &bag, "-q", "-o", "rover.mcap"]).assert_success();
    let mut inputs: Vec<(&str, String)> =
        INPUTS.iter().map(|(name, file)| (*name, testdata(file))).collect();
    inputs.push(("mcap", "rover.mcap".to_owned()));
    let rows = b"time,latitude,longitude,altitude\n1,49.5,11.25,300\n2,49.5,11.5,301\n";
    folder.write("track.csv", rows);
    let to_parquet = ["convert", "track.csv", "-q", "-o", "track.parquet"];
    folder.run(&to_parquet).assert_success();
    inputs.push(("csv", "track.csv".to_owned()));
    inputs.push(("parquet", "track.parquet".to_owned()));
    let packets = folder.write("packets.bag", &bag_of_packets());
    let packets = packets.to_str().unwrap();
    folder.run(&["convert", packets, "-q", "-o", "packets.mcap"]).assert_success();
    let read = table["reads"].as_array().unwrap();
    assert_eq!(read.len(), inputs.len());
    let mut tried = 0;
    for (input, file) in &inputs {
        assert!(read.iter().any(|read| read["name"] == *input), "{input}");
        for output in table["writes"].as_array().unwrap() {
            let is_supported = output["from"].get(*input).is_some();
            for to in
                output["formats"].as_array().unwrap().iter().filter_map(Value::as_str)
            {
                let out = format!("{input}-{to}");
                let file: &str = match (*input, to) {
                    ("bag", "pcap" | "vel") => packets,
                    ("mcap", "pcap" | "vel") => "packets.mcap",
                    _ => file,
                };
                let run =
                    folder.run(&["convert", file, "-q", "-o", &out, "--format", to]);
                assert_eq!(run.status == 0, is_supported, "{input} to {to}: {run:?}");
                assert_eq!(
                    folder.path().join(&out).exists(),
                    is_supported,
                    "{input} to {to}"
                );
                tried += 1;
            }
        }
    }
    let help = folder.run(&["convert", "x", "--format", "?"]).stderr;
    let all = help.split("[possible values: ").nth(1).unwrap().lines().next().unwrap();
    let formats = all.split(", ").count();
    assert_eq!(
        tried,
        inputs.len() * formats,
        "each of these formats is in a row of CONVERSIONS (logtool/src/formats/conversions.rs): {all}"
    );
}

#[test]
fn documentation_has_the_table_of_conversions() {
    let table = Folder::new()
        .run(&["formats", "--json"])
        .assert_success()
        .json_lines()
        .remove(0);
    let document = include_str!("../../../../docs/OUTPUTS.md");
    let mut rows = 0;
    for line in
        document.lines().skip_while(|line| !line.starts_with("| to | ULog")).skip(2)
    {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, formats, cells @ .., _] = &cells[..] else { break };
        for format in formats.split(' ').map(|format| format.trim_matches('`')) {
            let matches = |output: &&Value| {
                output["formats"].as_array().unwrap().iter().any(|f| f == format)
            };
            let output = table["writes"].as_array().unwrap().iter().find(matches);
            let from = &output.unwrap_or_else(|| panic!("{format}"))["from"];
            let names = ["ulog", "bag", "mcap", "vel", "capture", "csv", "parquet"];
            let expected =
                names.map(|name| if from.get(name).is_some() { "yes" } else { "" });
            assert_eq!(expected[..], *cells, "{format}");
            rows += 1;
        }
    }
    let all = table["writes"].as_array().unwrap().iter();
    let formats: usize = all.map(|o| o["formats"].as_array().unwrap().len()).sum();
    assert_eq!(rows, formats);
}
