//! Fills fuzz/corpus with bags, MCAP files, definitions and messages as a start, all generated here:
//! `cargo run --manifest-path fuzz/Cargo.toml --example bag_seeds` (fuzz/seed runs it).

use std::{error::Error, fs, path::Path};

use logtool_fuzz::{
    bag::{
        make::{self, Chunk, ChunkCompression},
        types::TYPES,
    },
    mcap,
};
use logtool_mcap::Compression;

fn main() -> Result<(), Box<dyn Error>> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let put = |target: &str, name: &str, data: &[u8]| {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), data)
    };
    // Every seventh compression, which includes all kinds.
    for compression in (0..128).step_by(7).map(ChunkCompression) {
        let name = format!("{}_{}", compression.name(), compression.0);
        put("bag", &name, &bag(compression, true))?;
    }
    put("bag", "unindexed", &bag(ChunkCompression(0), false))?;
    for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
        let file = mcap::sample(compression)?;
        put("mcap", &format!("{compression:?}"), &file)?;
        // Without its end, and as input that is appended to the first records.
        put("mcap", &format!("{compression:?}_cut"), &file[..file.len() / 2])?;
        put("mcap", &format!("{compression:?}_behind"), &file[40..])?;
    }
    put("bag", "unindexed_lz4", &bag(ChunkCompression(1), false))?;
    put("bag", "version_1", &version_1())?;
    let behind = [&[2][..], &make::message(1, 5, 6, &sample("odd/Lists"))].concat();
    put("bag", "behind_head", &behind)?;
    for (number, (name, text)) in TYPES.iter().enumerate() {
        let file = name.replace('/', "_");
        put("bag_definition", &file, text.as_bytes())?;
        put("bag", &file, &one_type(number))?;
        // As `arbitrary` reads it: the index of the type, no arbitrary definition, then the bytes for
        // lists.
        let input = [&[number as u8, 0][..], &sample(name)].concat();
        put("bag_payload", &file, &input)?;
    }
    put("bag_definition", "odd", ODD.as_bytes())?;
    for compression in 0..8_u8 {
        put(
            "bag_chunk",
            &compression.to_string(),
            &[&[compression, 0][..], &[1; 60]].concat(),
        )?;
    }
    Ok(())
}

const ODD: &str = "# comment\r\nHeader\theader\nint32[<=3] a\nstring<=10 b\n\
    uint8 X=0x10\nstring S=#no comment\nfloat32 F = 1e3 # comment\npkg2/B[2] c\n\
    B d\n=====\nMSG: pkg2/B\nchar x\n====\nMSG: pkg/B\nduration y\n===\n\
    MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n";

/// Returns a payload of a type.
fn sample(name: &str) -> Vec<u8> {
    let text =
        |text: &str| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
    let number = |number: u32| number.to_le_bytes().to_vec();
    let header = [number(1), number(2), number(3), text("map")].concat();
    let floats = |values: &[f32]| -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    };
    match name {
        "std_msgs/String" => text("hello"),
        "sensor_msgs/PointCloud2" => {
            let field = |name: &str, at: u32, kind: u8| {
                [text(name), number(at), vec![kind], number(1)].concat()
            };
            let fields = [
                field("x", 0, 7),
                field("y", 4, 7),
                field("z", 8, 7),
                field("ring", 12, 4),
            ];
            let points = [
                floats(&[1.0, 2.0, 3.0]),
                vec![7, 0],
                floats(&[4.0, 5.0, 6.0]),
                vec![8, 0],
            ];
            let shape =
                [number(1), number(2), number(4), fields.concat(), vec![0], number(14)];
            let data = [number(28), number(28), points.concat(), vec![1]];
            [header, shape.concat(), data.concat()].concat()
        }
        "sensor_msgs/PointCloud" => {
            let points = [number(1), floats(&[1.0, 2.0, 3.0]), number(1), text("i")];
            [header, points.concat(), number(1), floats(&[9.0])].concat()
        }
        "sensor_msgs/LaserScan" => {
            let about = floats(&[-1.0, 1.0, 0.5, 0.0, 0.1, 0.2, 30.0]);
            let ranges = [number(3), floats(&[1.0, 2.0, f32::INFINITY]), number(0)];
            [header, about, ranges.concat()].concat()
        }
        "sensor_msgs/Image" => {
            let about =
                [number(2), number(3), text("mono8"), vec![0], number(3), number(6)];
            [header, about.concat(), vec![0, 50, 100, 150, 200, 250]].concat()
        }
        "sensor_msgs/CompressedImage" => {
            [header, text("jpeg"), number(4), vec![0xff, 0xd8, 0xff, 0xd9]].concat()
        }
        "velodyne_msgs/VelodyneScan" => {
            let packet = [number(2), number(3), vec![0xff; 1206]].concat();
            [header, number(1), packet].concat()
        }
        "odd/Numbers" => (0..61).collect(),
        "odd/Lists" => {
            let lists =
                [text("abc"), b"xyz".to_vec(), text("\x01\x02"), number(1), text("s")];
            let more = [
                number(2),
                vec![0, 1],
                vec![0; 16],
                number(1),
                vec![1; 8],
                vec![2; 16],
            ];
            [lists.concat(), more.concat(), text("t"), text("u")].concat()
        }
        "odd/Nested" => {
            let inner = [text("n"), number(1), vec![5, 0], text("b")].concat();
            [number(1), inner.repeat(4)].concat()
        }
        "odd/Empty" => number(3),
        _ => Vec::new(),
    }
}

/// Encodes a bag of two chunks and three topics.
fn bag(compression: ChunkCompression, is_indexed: bool) -> Vec<u8> {
    let ids = [0_u32, 7, 8];
    let connection = |at: u32| {
        let (name, text) = TYPES[ids[at as usize] as usize];
        let md5sum = logtool_rosmsg::md5sum(name, text).unwrap_or_default();
        make::connection(at, &format!("/topic{at}"), name, &md5sum, text)
    };
    let connections: Vec<Vec<u8>> = (0..3).map(connection).collect();
    let mut chunks = Vec::new();
    for chunk in 0..2 {
        let (mut content, mut messages) = (connections.concat(), Vec::new());
        for number in 0..6_u32 {
            let (id, nanos) = (number % 3, 1_000 * number);
            messages.push((id, chunk, nanos, content.len() as u32));
            let payload = sample(TYPES[ids[id as usize] as usize].0);
            content.extend(make::message(id, chunk, nanos, &payload));
        }
        let compressed = compression.compress(&content);
        let record = make::chunk(compression.name(), content.len() as u32, &compressed);
        chunks.push(Chunk { record, messages });
    }
    if is_indexed {
        return make::indexed_bag(&connections, &chunks);
    }
    let records = chunks.into_iter().flat_map(|chunk| chunk.record);
    make::head(0, 0, 0).into_iter().chain(records).collect()
}

/// Encodes a bag with one message of a type.
fn one_type(number: usize) -> Vec<u8> {
    let (name, text) = TYPES[number];
    let md5sum = logtool_rosmsg::md5sum(name, text).unwrap_or_default();
    let connection = make::connection(0, "/a", name, &md5sum, text);
    let at = connection.len() as u32;
    let content = [connection.clone(), make::message(0, 1, 2, &sample(name))].concat();
    let record = make::chunk("none", content.len() as u32, &content);
    make::indexed_bag(&[connection], &[Chunk { record, messages: vec![(0, 1, 2, at)] }])
}

/// Encodes a bag of version 1.2: definitions and messages, without chunks.
fn version_1() -> Vec<u8> {
    let seconds = 5_u32.to_le_bytes();
    let name = [("topic", &b"/a"[..]), ("type", b"std_msgs/String")];
    let sum = ("md5", &b"992ce8a1687cec8c8bd883ec73ca41d1"[..]);
    let define =
        [("op", &b"\x01"[..]), name[0], sum, name[1], ("def", b"string data\n")];
    let message = [
        ("op", &b"\x02"[..]),
        name[0],
        sum,
        name[1],
        ("latching", b"0"),
        ("sec", &seconds),
        ("nsec", &seconds),
    ];
    let payload = sample("std_msgs/String");
    let records = [make::record(&define, b""), make::record(&message, &payload)];
    [b"#ROSBAG V1.2\n".to_vec(), records.concat()].concat()
}
