//! Merging and renaming, and errors for outputs that are not possible.

use std::io::Cursor;

use logtool_core::{
    Block, ErrorKind, Format as _, Log as _, LogSlice, Manifest, Selection, Timestamp,
    WriteOptions,
};
use logtool_rosbag::{FORMAT, OpenMode, RosbagLog, Writer, WriterOptions};

use crate::{connections, open, options, read, samples, select_logged, sink, write};

/// Returns a bag with a message of each of these connections in the second `sec`. A connection is
/// given by its id, its topic and its caller.
fn bag(connections: &[(u32, &str, &str)], sec: i64) -> RosbagLog {
    let mut bag = Writer::new(Cursor::new(vec![]), WriterOptions::default()).unwrap();
    for (id, topic, caller) in connections {
        let header = header(topic, caller);
        let handle = bag.connect_raw(*id, topic.as_bytes(), &header).unwrap();
        let payload = format!("\x01\0\0\0{}", caller.len());
        bag.write(
            handle,
            Timestamp::from_nanos(sec * 1_000_000_000),
            payload.as_bytes(),
        )
        .unwrap();
    }
    open(bag.finish().unwrap().into_inner().into(), OpenMode::Auto).unwrap()
}

/// Returns a connection header.
fn header(topic: &str, caller: &str) -> Vec<u8> {
    let fields = [
        ("callerid", caller),
        ("md5sum", "992ce8a1687cec8c8bd883ec73ca41d1"),
        ("message_definition", "string data"),
        ("topic", topic),
        ("type", "std_msgs/String"),
    ];
    let field = |(name, value): (&str, &str)| {
        let text = format!("{name}={value}");
        [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
    };
    fields.map(field).concat()
}

/// Writes all of `logs` to one bag, one after the other. Also returns whether each part was copied.
fn merge(logs: &[&RosbagLog], options: &WriteOptions) -> (RosbagLog, Vec<bool>) {
    let mut out = Cursor::new(vec![]);
    let slices: Vec<_> = logs
        .iter()
        .map(|log| LogSlice {
            manifest: log.manifest(),
            selection: select_logged(log.manifest()),
        })
        .collect();
    let mut sink = FORMAT.writer(Box::new(&mut out), &slices, options).unwrap();
    let mut copied = vec![];
    for (slice_index, log) in logs.iter().enumerate() {
        for part in log.manifest().plan(&Selection::default(), 0) {
            let is_copied = sink
                .copy_part_verbatim(slice_index, &part, &**log.source())
                .unwrap()
                .is_some();
            copied.push(is_copied);
            if !is_copied {
                write(
                    &mut *sink,
                    slice_index,
                    log,
                    &part,
                    &slices[slice_index].selection,
                );
            }
        }
    }
    sink.finish().unwrap();
    (open(out.into_inner().into(), OpenMode::Full).unwrap(), copied)
}

/// Returns the ids and callers of the connections, and the connection header of each message.
fn connections_and_headers(log: &RosbagLog) -> (Vec<(u32, String)>, Vec<Vec<u8>>) {
    let connections =
        log.connections().map(|c| (c.id, c.caller.clone().unwrap())).collect();
    let messages = read(log, &select_logged(log.manifest()));
    (connections, messages.into_iter().map(|message| message.0).collect())
}

#[test]
fn merged_connections_have_unique_ids() {
    let first = bag(&[(0, "/a", "/n"), (1, "/a", "/n"), (2, "/b", "/m")], 1);
    let second =
        bag(&[(0, "/b", "/m"), (1, "/a", "/n"), (2, "/c", "/o"), (9, "/d", "/p")], 2);
    let (merged, copied) = merge(&[&first, &second], &options(None));
    assert_eq!(merged.manifest().damage, []);
    let (merged_connections, headers) = connections_and_headers(&merged);
    // Equal connections of the two bags become one. Each other connection keeps its id, or gets an
    // unused one.
    let expected = [(0, "/n"), (1, "/n"), (2, "/m"), (3, "/o"), (9, "/p")];
    let expected = expected.map(|(id, caller)| (id, caller.to_owned()));
    assert_eq!(merged_connections, expected);
    let (_, mut expected_headers) = connections_and_headers(&first);
    expected_headers.extend(connections_and_headers(&second).1);
    assert_eq!(headers, expected_headers);
    // The connections of the second bag have other ids in the merged bag.
    assert_eq!(copied, [true, false]);

    let third = bag(&[(0, "/a", "/n"), (7, "/e", "/q")], 3);
    let (merged, copied) = merge(&[&first, &third], &options(None));
    let (merged_connections, _) = connections_and_headers(&merged);
    assert_eq!((merged_connections.len(), copied), (4, vec![true, true]));
    assert_eq!(merged.manifest().damage, []);
}

#[test]
fn renaming_changes_the_topic_in_record_and_header() {
    let log = bag(&[(0, "/a", "/n"), (1, "/a/b", "/n"), (2, "/b", "/m")], 1);
    let mut options = options(None);
    options.rename.insert("/a".to_owned(), "/longer/name".to_owned());
    let (renamed, copied) = merge(&[&log], &options);
    assert_eq!(copied, [false]);
    let expected = [(0, "/longer/name", "/n"), (1, "/a/b", "/n"), (2, "/b", "/m")];
    let expected = expected.map(|(id, topic, caller)| {
        (id, topic.as_bytes().to_vec(), header(topic, caller))
    });
    assert_eq!(connections(&renamed), expected);
    // A topic that does not exist cannot be renamed.
    options.rename.insert("/z".to_owned(), "/y".to_owned());
    let slice = LogSlice { manifest: log.manifest(), selection: Selection::default() };
    let out = Box::new(Cursor::new(vec![]));
    let err = FORMAT.writer(out, &[slice], &options).map(drop).unwrap_err();
    assert_eq!(err.kind(), ErrorKind::NoSuch, "{err}");
}

#[test]
fn records_between_copied_chunks_keep_their_position() {
    let logs = [1, 2, 3].map(|sec| bag(&[(0, "/a", "/n")], sec));
    let slice = |log| LogSlice {
        manifest: RosbagLog::manifest(log),
        selection: select_logged(RosbagLog::manifest(log)),
    };
    let slices: Vec<_> = logs.iter().map(slice).collect();
    let mut out = Cursor::new(vec![]);
    let mut sink =
        FORMAT.writer(Box::new(&mut out), &slices, &options(Some("none"))).unwrap();
    let part = |log: &RosbagLog| log.manifest().parts[0].clone();
    write(&mut *sink, 0, &logs[0], &part(&logs[0]), &slices[0].selection);
    assert_eq!(
        sink.copy_part_verbatim(1, &part(&logs[1]), &**logs[1].source()).unwrap(),
        Some(1)
    );
    write(&mut *sink, 2, &logs[2], &part(&logs[2]), &slices[2].selection);
    sink.finish().unwrap();
    let merged = open(out.into_inner().into(), OpenMode::Full).unwrap();
    let times = read(&merged, &select_logged(merged.manifest())).into_iter();
    let times: Vec<i64> =
        times.map(|message| message.1.as_nanos() / 1_000_000_000).collect();
    assert_eq!(times, [1, 2, 3]);
    assert_eq!(connections(&merged).len(), 1);
}

#[test]
fn unselected_record_is_refused() {
    let log = bag(&[(0, "/a", "/n"), (1, "/b", "/m")], 1);
    let mut out = Cursor::new(vec![]);
    let topics = [log.manifest().topic_id("/a").unwrap()].into_iter().collect();
    let only_a = Selection { topics, ..Selection::default() };
    let mut sink = sink(&mut out, &log, &only_a, &options(None));
    let (selection, mut block) = (select_logged(log.manifest()), Block::default());
    let part = &log.manifest().parts[0];
    let mut cursor = log.read(part, &selection).unwrap();
    assert!(cursor.fill(&mut block).unwrap());
    let [first, second] = [0, 1].map(|index| block.get(index).unwrap());
    assert_eq!(sink.write(1, first).unwrap_err().kind(), ErrorKind::NoSuch);
    assert_eq!(sink.write(0, second).unwrap_err().kind(), ErrorKind::NoSuch);
    let wrong_stream = logtool_core::Record { stream: 1, ..first };
    assert_eq!(sink.write(0, wrong_stream).unwrap_err().kind(), ErrorKind::NoSuch);
    sink.write(0, first).unwrap();
}

#[test]
fn contents_that_a_bag_cannot_store_are_reported() {
    let names = ["encrypted_aes_none.bag", "ok_none.bag"];
    for (name, log) in samples("rosbag/edge", &names) {
        let mut out = Cursor::new(vec![]);
        let sink = sink(&mut out, &log, &select_logged(log.manifest()), &options(None));
        let count = if name == "ok_none.bag" { 0 } else { 1 };
        assert_eq!(sink.remarks().len(), count, "{name}: {:?}", sink.remarks());
    }
}

#[test]
fn inputs_that_cannot_become_a_bag_are_refused() {
    let log = bag(&[(0, "/a", "/n")], 1);
    let mut other = Manifest { format: "ulog".to_owned(), ..log.manifest().clone() };
    "ulog".clone_into(&mut other.topics[0].encoding);
    for (manifest, options, kind) in [
        (&other, options(None), ErrorKind::UnsuitableEncoding),
        (log.manifest(), options(Some("zstd")), ErrorKind::Unsupported),
    ] {
        let slice = LogSlice { manifest, selection: Selection::default() };
        let out = Box::new(Cursor::new(vec![]));
        let err = FORMAT.writer(out, &[slice], &options).map(drop).unwrap_err();
        assert_eq!(err.kind(), kind, "{err}");
    }
}
