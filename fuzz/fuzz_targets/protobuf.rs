//! Any bytes as descriptors, as messages of the type that they describe, as messages of a type with
//! all kinds of fields, and as clouds and images of Foxglove.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use logtool_core::{Branch, TreeReader as _, ValueType};
use logtool_protobuf::{
    CompressedImage, Field, File, FileSet, FoxgloveLog, LocationFix, Message,
    MessageReader, PixelImage, PointCloud, kind, labels,
};

#[derive(Arbitrary, Debug)]
struct Input {
    /// Arbitrary descriptors, which replace the ones for a known type.
    descriptors: Option<Vec<u8>>,
    type_name: String,
    payloads: Vec<Vec<u8>>,
}

/// The maximum number of values in the lists of all messages.
const MOST: u64 = 1 << 16;

fuzz_target!(|input: Input| {
    for payload in &input.payloads {
        // A cloud never declares more points than its bytes hold.
        if let Some(cloud) = PointCloud::parse(payload) {
            let names: usize = cloud.fields.iter().map(|field| field.name.len()).sum();
            assert!(cloud.data.len() + names + cloud.fields.len() <= payload.len());
        }
        let _ = (CompressedImage::parse(payload), PixelImage::parse(payload));
    }
    if let Some(descriptors) = &input.descriptors {
        PointCloud::is_defined(descriptors);
    }
    let (files, name) = match &input.descriptors {
        Some(bytes) => {
            let Ok(files) = FileSet::parse(bytes) else { return };
            assert_eq!(FileSet::parse(&files.to_bytes()).ok().as_ref(), Some(&files));
            (files, input.type_name)
        }
        None => match input.type_name.len() % 3 {
            0 => (FoxgloveLog::files(), FoxgloveLog::TYPE.to_owned()),
            1 => (LocationFix::files(), LocationFix::TYPE.to_owned()),
            _ => (every_kind(), "All".to_owned()),
        },
    };
    let _ = (files.to_string(), labels(&files));
    let Ok(mut reader) = MessageReader::new(&files, &name) else { return };
    let struct_type = reader.struct_type().clone();
    if struct_type.check().is_err() {
        return;
    }
    let mut row = Branch::new(&ValueType::Struct(struct_type));
    for payload in input.payloads.iter().take(64) {
        let before = row.len();
        match reader.read(payload, &mut row, MOST) {
            Some(added) if added.items <= MOST => assert_eq!(row.len(), before + 1),
            _ => row.truncate(before),
        }
    }
    let rows = row.len();
    assert_eq!(row.take().expect("an array").len(), rows);
});

/// A type with a field of every kind, single and repeated, and with a nested type.
fn every_kind() -> FileSet {
    let kinds = (kind::DOUBLE..=kind::SINT64)
        .filter(|one| ![kind::GROUP, kind::MESSAGE].contains(one));
    let mut fields = Vec::new();
    for one in kinds {
        fields.push(Field::new(&format!("one{one}"), one, one));
        fields.push(Field::new(&format!("many{one}"), one + 20, one).as_repeated());
    }
    fields.push(Field::new("in", 10, kind::MESSAGE).with_type_name(".In"));
    fields
        .push(Field::new("ins", 11, kind::MESSAGE).with_type_name(".In").as_repeated());
    let inner = Message {
        name: "In".to_owned(),
        fields: vec![Field::new("x", 1, kind::SINT64).as_repeated()],
        ..Message::default()
    };
    let all = Message { name: "All".to_owned(), fields, ..Message::default() };
    let syntax = "proto3".to_owned();
    FileSet {
        files: vec![File { messages: vec![inner, all], syntax, ..File::default() }],
    }
}
