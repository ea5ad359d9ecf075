//! Encrypted ULogs. PyCryptodome encrypted them: see `testdata/encrypted/README.md`.

use std::fs;

use crate::{program::Folder, samples::testdata};

fn key() -> String {
    testdata("encrypted/private_key.pem")
}

#[test]
fn every_command_reads_an_encrypted_log_like_the_decrypted_one() {
    let folder = Folder::new();
    let (plain, encrypted, key) =
        (testdata("pasta.ulg"), testdata("encrypted/pasta.ulge"), key());
    for command in [&["cat"][..], &["schema"], &["messages"], &["params"]] {
        let expected =
            folder.run(&[command, &[&plain]].concat()).assert_success().stdout;
        assert!(!expected.is_empty(), "{command:?}");
        let args = [command, &["--key", &key, &encrypted]].concat();
        assert_eq!(folder.run(&args).assert_success().stdout, expected, "{command:?}");
    }
    for (name, log) in [("plain", &plain), ("encrypted", &encrypted)] {
        folder
            .run(&["convert", "-q", "--key-file", &key, log, "-o", name])
            .assert_success();
        let copy = format!("{name}.ulg");
        folder
            .run(&["filter", "-q", "--key-file", &key, log, "-o", &copy])
            .assert_success();
    }
    let file = |name: &str| fs::read(folder.path().join(name)).unwrap();
    for entry in fs::read_dir(folder.path().join("plain")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name == "provenance.json" {
            continue; // with the name and the digest of the encrypted file
        }
        let (ours, expected) = (format!("encrypted/{name}"), format!("plain/{name}"));
        assert!(file(&ours) == file(&expected), "{name}");
    }
    assert!(file("encrypted.ulg") == file("plain.ulg"));
}

#[test]
fn encrypted_log_is_read_from_standard_input_and_by_splits() {
    let folder = Folder::new();
    let (encrypted, key) = (testdata("encrypted/pasta.ulge"), key());
    let expected = folder.run(&["cat", &testdata("pasta.ulg")]).assert_success().stdout;
    let bytes = fs::read(&encrypted).unwrap();
    let piped = folder.run_with(&["cat", "-", "--key-file", &key], &bytes);
    assert_eq!(piped.assert_success().stdout, expected);

    let plan = folder.run(&["plan", "--key-file", &key, &encrypted, "--json"]);
    let plan = plan.assert_success().stdout;
    let read = ["read", "--split", "-", "--format", "jsonl", "-q"];
    let topic = plan.lines().next().unwrap().as_bytes();
    let with_key = [&read[..], &["--key-file", &key]].concat();
    assert!(!folder.run_with(&with_key, topic).assert_success().stdout.is_empty());
    folder.run_with(&read, topic).assert_status(1, &["requires the private key"]);
}

#[test]
fn separate_key_file_of_older_releases_is_found() {
    let folder = Folder::new();
    let expected = folder.run(&["cat", &testdata("pasta.ulg")]).assert_success().stdout;
    let (encrypted, key) = (testdata("encrypted/pasta.ulgc"), key());
    let run = folder.run(&["cat", "--key-file", &key, &encrypted]);
    assert_eq!(run.assert_success().stdout, expected);
    folder
        .run(&["cat", &encrypted])
        .assert_status(1, &["the ULog is encrypted", "--key-file"]);
    folder.write("alone.ulgc", &fs::read(&encrypted).unwrap());
    folder
        .run(&["cat", "--key-file", &key, "alone.ulgc"])
        .assert_status(1, &["alone.ulgc", "alone.ulgk"]);
}

#[test]
fn encrypted_log_that_is_cut_is_read_to_its_end() {
    let folder = Folder::new();
    let plain = fs::read(testdata("pasta.ulg")).unwrap();
    let encrypted = fs::read(testdata("encrypted/pasta.ulge")).unwrap();
    // 5 bytes less are within the last message.
    folder.write("cut.ulg", &plain[..plain.len() - 5]);
    folder.write("cut.ulge", &encrypted[..encrypted.len() - 5]);
    let expected = folder
        .run(&["cat", "cut.ulg"])
        .assert_status(
            3,
            &["bytes 3994..4009: the file or a section ends inside a record"],
        )
        .stdout;
    let run = folder.run(&["cat", "--key-file", &key(), "cut.ulge"]);
    assert_eq!(
        run.assert_status(
            3,
            &["bytes 3994..4009: the file or a section ends inside a record"]
        )
        .stdout,
        expected
    );
}

#[test]
fn wrong_or_missing_key_is_explained() {
    let folder = Folder::new();
    let encrypted = testdata("encrypted/pasta.ulge");
    folder.run(&["info", &encrypted]).assert_status(
        1,
        &["pasta.ulge", "requires the private key", "hint: --key-file names the file"],
    );
    for (key, expected) in [
        ("other.pem", "the key is wrong"),
        ("public.pem", "public key"),
        ("passphrase.pem", "passphrase"),
        ("draft_plaintext.txt", "a private key in PEM"),
    ] {
        let key = testdata(&format!("encrypted/{key}"));
        let run = folder.run(&["convert", &encrypted, "-o", "out", "--key-file", &key]);
        run.assert_status(1, &[expected]);
        assert!(!folder.path().join("out").exists());
    }
    folder
        .run(&["messages", "--follow", "--key-file", &key(), &encrypted])
        .assert_status(1, &["it is encrypted, and cannot be followed"]);
}
