//! Attachments of MCAP files with wrong checksums: `repair` keeps the bytes, drops the checksum
//! and reports it.

use std::fs;

use crate::program::Folder;

/// Returns an attachment without its checksum (MCAP specification, "Attachment (op=0x09)").
fn fields(name: &str, data: &[u8]) -> Vec<u8> {
    let mut fields = [7_u64.to_le_bytes(), 8_u64.to_le_bytes()].concat();
    for text in [name, "text/plain"] {
        fields.extend((text.len() as u32).to_le_bytes());
        fields.extend(text.as_bytes());
    }
    fields.extend((data.len() as u64).to_le_bytes());
    fields.extend(data);
    fields
}

fn with_crc(mut fields: Vec<u8>, crc: u32) -> Vec<u8> {
    fields.extend(crc.to_le_bytes());
    fields
}

/// The CRC-32 of `bytes`, bit by bit (ISO 3309; the specification names zlib's).
fn crc32(bytes: &[u8]) -> u32 {
    let table = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 * (crc & 1))
        })
    };
    !bytes.iter().fold(u32::MAX, table)
}

/// Returns a file without a summary that has these attachments.
fn file(attachments: &[Vec<u8>]) -> Vec<u8> {
    const MAGIC: &[u8] = b"\x89MCAP0\r\n";
    let mut file = MAGIC.to_vec();
    let mut add = |op: u8, content: &[u8]| {
        file.push(op);
        file.extend((content.len() as u64).to_le_bytes());
        file.extend(content);
    };
    add(0x01, &[0; 8]); // header without profile and library
    attachments.iter().for_each(|content| add(0x09, content));
    add(0x0f, &[0; 4]); // end of the data, without checksum
    add(0x02, &[0; 20]); // footer without summary
    file.extend(MAGIC);
    file
}

fn count(bytes: &[u8], needle: &[u8]) -> usize {
    bytes.windows(needle.len()).filter(|window| *window == needle).count()
}

#[test]
fn repair_drops_wrong_checksums_and_reports_them() {
    let sound = fields("sound.txt", b"sound data");
    let right = crc32(&sound);
    let wrong: [(Vec<u8>, u32); 4] = [
        // The checksum has a wrong bit.
        (fields("bad.txt", b"some data"), crc32(&fields("bad.txt", b"some data")) ^ 1),
        // The data, the name, or the length of the data have changed.
        (fields("bad.txt", b"some dat!"), crc32(&fields("bad.txt", b"some data"))),
        (fields("bad.txt", b"some data"), crc32(&fields("bat.txt", b"some data"))),
        (fields("bad.txt", b""), crc32(&fields("bad.txt", b"some data"))),
    ];
    for (bad, crc) in wrong {
        let folder = Folder::new();
        let attachments = [with_crc(sound.clone(), right), with_crc(bad.clone(), crc)];
        folder.write("log.mcap", &file(&attachments));
        let check = folder.run(&["check", "log.mcap"]).assert_status(3, &[]).stdout;
        assert_eq!(check.matches("mcap.attachment.crc").count(), 1, "{check}");
        let report = r#"the attachment "bad.txt" had a wrong checksum and is written without one"#;
        let repair = folder.run(&["repair", "log.mcap", "-o", "new.mcap"]);
        assert!(
            repair.assert_status(0, &[report]).stderr.matches("attachment").count()
                == 1
        );
        let new = fs::read(folder.path().join("new.mcap")).unwrap();
        // Both attachments have all their bytes; 0 means that there is no checksum.
        assert_eq!(count(&new, &with_crc(sound.clone(), right)), 1);
        assert_eq!(count(&new, &with_crc(bad, 0)), 1);
        folder.run(&["check", "new.mcap"]).assert_status(0, &[]);
        // A repaired file stays unchanged.
        let second_run = folder
            .run(&["repair", "new.mcap", "-o", "again.mcap"])
            .assert_status(0, &[]);
        assert!(!second_run.stderr.contains("checksum"), "{second_run:?}");
    }
}

#[test]
fn attachments_without_a_checksum_or_with_a_valid_one_are_copied_unchanged() {
    let [one, other] = [fields("a", b"1"), fields("b", &[])];
    let attachments = [with_crc(one.clone(), 0), with_crc(one.clone(), crc32(&one)), {
        // Later versions of the specification may add fields after the checksum.
        let mut padded = with_crc(other.clone(), crc32(&other));
        padded.extend([0xab; 5]);
        padded
    }];
    let folder = Folder::new();
    folder.write("log.mcap", &file(&attachments));
    let repair =
        folder.run(&["repair", "log.mcap", "-o", "new.mcap"]).assert_status(0, &[]);
    assert!(!repair.stderr.contains("checksum"), "{repair:?}");
    let new = fs::read(folder.path().join("new.mcap")).unwrap();
    for attachment in &attachments {
        assert_eq!(count(&new, attachment), 1);
    }
    folder.run(&["check", "new.mcap"]).assert_status(0, &[]);
}
