//! Recognises and explains files that are not logs.

use std::{io::Read as _, path::Path};

use logtool_core::{Source, open_regular_file};

/// The first bytes of known files that are not logs, and a description for users.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (b"Rar!\x1a\x07", "a RAR archive: unpack it first"),
    (b"\x02\x21\x4c\x18", "LZ4 in its legacy format: `lz4 -d` decompresses it"),
    (b"LZIP", "lzip: `lzip -d` decompresses it"),
    (b"\x1f\x9d", "a file of `compress` (.Z): `gzip -d` decompresses it"),
    (b"\x5d\0\0\x80\0", "LZMA: `xz -d` decompresses it"),
    (b"ARROW1", "an Arrow file, which is what `logtool convert` makes"),
    (
        b"\xa3\x95",
        "an ArduPilot DataFlash log, which is not read: `mavlogdump.py --format csv --types NAME` \
         makes a CSV file of one type of message, which is read",
    ),
    (
        b"H Product:Blackbox",
        "a Blackbox log of Betaflight, Cleanflight or INAV: `blackbox_decode` makes CSV files of \
         it, which are read",
    ),
    (
        b"SQLite format 3\0",
        "a SQLite database, as rosbag2 writes (.db3): `ros2 bag convert` makes an MCAP file of \
         it, which is read",
    ),
    (
        b"\x89HDF\r\n\x1a\n",
        "an HDF5 file, also used by MATLAB 7.3: `h5dump -d NAME` prints a data set of it",
    ),
    (
        b"MATLAB 5.0 MAT-file",
        "a MATLAB file: `writetable` makes a CSV file, which is read",
    ),
    (b"snoop\0\0\0", "a snoop capture: `editcap -F pcapng` makes it readable"),
    (b"GMBU", NETMON),
    (b"RTSS", NETMON),
    (b"TRSNIFF data", "a Sniffer capture: `editcap -F pcapng` makes it readable"),
    (
        b"XCP\0",
        "a capture of NetXRay or Sniffer: `editcap -F pcapng` makes it readable",
    ),
    (b"TR\0d\0", "a nettl capture of HP-UX: `editcap -F pcapng` makes it readable"),
    (b"\xaa\xaa\xaa\xaa", "a 5View capture: `editcap -F pcapng` makes it readable"),
    (b"iptrace ", "an iptrace capture of AIX: `editcap -F pcapng` makes it readable"),
    (
        b"ObserverPktBuffe",
        "a capture of Network Instruments Observer: `editcap -F pcapng` makes it readable",
    ),
    (b"# .PCD", PCD),
    (b"VERSION .7", PCD),
    (b"VERSION 0.7", PCD),
    (
        b"LASF",
        "a LAS or LAZ point cloud, which `logtool convert` writes and does not read",
    ),
    (b"ply\n", PLY),
    (b"ply\r\n", PLY),
    (b"ASTM-E57", "an E57 point cloud, which is not read"),
    (
        b"version https://git-lfs.github.com/spec/",
        "a Git LFS pointer, which stands for a file that was not downloaded: `git lfs pull` \
         downloads it",
    ),
    (b"rosbag2_bagfile_information:", ROSBAG2),
];

const NETMON: &str =
    "a capture of Microsoft Network Monitor: `editcap -F pcapng` makes it readable";

const PCD: &str = "a PCD point cloud, which `logtool convert` writes and does not read";

const PLY: &str = "a PLY point cloud, which `logtool convert` writes and does not read";

const ERF: &str = "an ERF capture of Endace: `editcap -F pcapng` makes it readable";

const ROSBAG2: &str = "a rosbag2 recording, which is a folder: name the .mcap files in it; of \
                       .db3 files, `ros2 bag convert` makes MCAP files";

const ZEROS: &str =
    "a file of zeros, whose content was never written, as after a loss of power";

const PAGE: &str = "a web page, which a server sent in place of the file, as it does where one \
                    has to sign in: download it again";

const KITTI: &str = "a KITTI point cloud (x, y, z and intensity), which `logtool convert` writes \
                     and does not read";

const TELEMETRY_LOG: &str = "a telemetry log of MAVLink messages: `logtool record mavlink` makes a \
                             ULog of the log stream in it";

/// The number of bytes at the start of a file that are inspected.
const HEAD_BYTES: u64 = 64 << 10;

/// Returns a description of the file `name` in `source`, if its kind is known.
pub fn kind(name: &str, source: &dyn Source) -> Option<&'static str> {
    let head = source.read_at(0..HEAD_BYTES).ok()?;
    let sign = SIGNATURES.iter().find(|(sign, _)| head.starts_with(sign));
    if let Some((_, kind)) = sign {
        return Some(kind);
    }
    if !head.is_empty() && head.iter().all(|byte| *byte == 0) {
        return Some(ZEROS);
    }
    if is_page(&head) {
        return Some(PAGE);
    }
    if is_telemetry_log(&head) {
        return Some(TELEMETRY_LOG);
    }
    if is_erf(&head) {
        return Some(ERF);
    }
    let is_kitti = name.to_ascii_lowercase().ends_with(".bin")
        && source.len().is_multiple_of(16)
        && is_kitti(&head);
    is_kitti.then_some(KITTI)
}

/// The number of bytes in which the metadata of a recording are recognised.
const MAX_METADATA_BYTES: u64 = 1 << 20;

/// Returns a description of the folder `path`, if it is a recording of another program.
pub fn folder_kind(path: &Path) -> Option<&'static str> {
    let mut metadata = String::new();
    let file = open_regular_file(&path.join("metadata.yaml")).ok()?;
    file.take(MAX_METADATA_BYTES).read_to_string(&mut metadata).ok()?;
    metadata.contains("rosbag2_bagfile_information").then_some(ROSBAG2)
}

/// Returns whether `head` is the start of an HTML page.
fn is_page(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start();
    [&b"<!doctype html"[..], b"<html", b"<head"].iter().any(|start| {
        text.get(..start.len()).is_some_and(|text| text.eq_ignore_ascii_case(start))
    })
}

/// Returns whether `head` starts with two records of a telemetry log: a time of 8 bytes, and a frame
/// of MAVLink 1 or 2, whose second byte is the length of its payload.
fn is_telemetry_log(head: &[u8]) -> bool {
    const TIME_BYTES: usize = 8;
    let frame_bytes = |offset: usize| {
        let frame = head.get(offset..)?.first_chunk::<3>()?;
        match *frame {
            [0xfe, payload, _] => Some(8 + usize::from(payload)),
            [0xfd, payload, 0] => Some(12 + usize::from(payload)),
            // Signed.
            [0xfd, payload, 1] => Some(25 + usize::from(payload)),
            _ => None,
        }
    };
    let next = frame_bytes(TIME_BYTES).map(|bytes| 2 * TIME_BYTES + bytes);
    next.is_some_and(|next| frame_bytes(next).is_some())
}

/// Returns whether `head` starts with three records of Ethernet frames in the format of Endace, or
/// consists of such records: a time of 8 bytes, the type, flags, and the length.
fn is_erf(head: &[u8]) -> bool {
    const ETHERNET: u8 = 2;
    const HEADER_BYTES: usize = 16;
    let (mut records, mut count) = (head, 0);
    while count < 3
        && let [_, _, _, _, _, _, _, _, kind, _, high, low, ..] = *records
    {
        let len = usize::from(u16::from_be_bytes([high, low]));
        // The highest bit of the type means that extension headers follow.
        if kind & 0x7f != ETHERNET || len <= HEADER_BYTES {
            return false;
        }
        count += 1;
        records = records.get(len..).unwrap_or_default();
    }
    count > 0 && (count == 3 || records.is_empty())
}

/// Returns whether `head` contains points of a lidar: four floats each, three in metres, and the
/// last from 0 to 1.
fn is_kitti(head: &[u8]) -> bool {
    const MAX_DISTANCE_METRES: f32 = 500.0;
    let points = head.as_chunks::<16>().0;
    let is_point = |point: &[u8; 16]| {
        let floats = point.as_chunks().0.iter().map(|float| f32::from_le_bytes(*float));
        let [x, y, z, intensity] = floats.collect::<Vec<f32>>()[..] else {
            return false;
        };
        [x, y, z].iter().all(|metres| metres.abs() < MAX_DISTANCE_METRES)
            && (0.0..=1.0).contains(&intensity)
    };
    !points.is_empty() && points.iter().all(is_point)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn files_that_are_not_logs_are_recognised() {
        let points: Vec<u8> = [18.5_f32, 0.25, -1.5, 0.75, -3.0, 4.0, 0.0, 0.0]
            .into_iter()
            .flat_map(f32::to_le_bytes)
            .collect();
        // Two heartbeats, of MAVLink 1 and 2.
        let telemetry = [
            &[0, 5, 0xf0, 1, 2, 3, 4, 5, 0xfe, 9, 0, 1, 1, 0][..],
            &[0, 0, 0, 0, 2, 12, 81, 4, 3, 0x81, 0xb7],
            &[0, 5, 0xf0, 1, 2, 3, 4, 6, 0xfd, 9, 0, 0, 0, 1, 1, 0, 0, 0],
            &[0, 0, 0, 0, 2, 12, 81, 4, 3, 0x1b, 0x74],
        ];
        let telemetry = telemetry.concat();
        let erf_record =
            [[0; 8].as_slice(), &[2, 4, 0, 80, 0, 0, 0, 62], &[0; 64]].concat();
        let known: [(&str, &[u8], &str); 17] = [
            ("a.cap", b"snoop\0\0\0\0\0\0\x02\0\0\0\x04", "a snoop capture"),
            ("a.cap", b"GMBU\x01\x02", "a capture of Microsoft Network Monitor"),
            ("a.cap", b"RTSS\x01\x01", "a capture of Microsoft Network Monitor"),
            (
                "a.BFL",
                b"H Product:Blackbox flight data",
                "a Blackbox log of Betaflight",
            ),
            ("a.mat", b"\x89HDF\r\n\x1a\n\0", "an HDF5 file"),
            ("a.bin", b"\xa3\x95\x80", "an ArduPilot DataFlash log"),
            ("a.erf", &erf_record.repeat(4), "an ERF capture"),
            ("a.tlog", &telemetry, "a telemetry log of MAVLink messages"),
            ("a.db3", b"SQLite format 3\0\x10\0", "a SQLite database"),
            (
                "a.pcd",
                b"# .PCD v.7 - Point Cloud Data file format\n",
                "a PCD point cloud",
            ),
            ("a.laz", b"LASF\0\0\0\0", "a LAS or LAZ point cloud"),
            ("a.ulg", &[0; 5_000], "a file of zeros"),
            (
                "a.bag",
                b"version https://git-lfs.github.com/spec/v1\noid",
                "a Git LFS pointer",
            ),
            ("a.mcap", b"\n <!DOCTYPE HTML PUBLIC>", "a web page"),
            ("a.pcap", b"\xef\xbb\xbf<html lang=en>", "a web page"),
            ("000012.bin", &points, "a KITTI point cloud"),
            ("metadata.yaml", b"rosbag2_bagfile_information:\n", "a rosbag2 recording"),
        ];
        for (name, bytes, start) in known {
            let description =
                kind(name, &Bytes::copy_from_slice(bytes)).unwrap_or_default();
            assert!(description.starts_with(start), "{name}: {description}");
        }
        assert_eq!(kind("a.tlog", &Bytes::copy_from_slice(&telemetry[..25])), None);
        for (name, bytes) in [("a.bin", &points[4..]), ("a.bin", b""), ("a", b"text")] {
            assert_eq!(kind(name, &Bytes::copy_from_slice(bytes)), None, "{name}");
        }
    }
}
