use std::{io::Write as _, time::Duration};

use bytes::Bytes;
use object_store::{PutPayload, memory::InMemory};

use super::*;

const MIB: u64 = 1 << 20;

/// Bytes in which all blocks are different.
fn noise(len: u64) -> Vec<u8> {
    let mut state = 1_u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..len).map(next).collect()
}

fn client() -> Client {
    let retry_pause = Duration::from_millis(1);
    let limits = Limits { retry_pause, ..Limits::default() };
    Client::new(limits).unwrap()
}

fn put(client: &Client, store: &Arc<InMemory>, bytes: &[u8]) {
    let payload = PutPayload::from(bytes.to_vec());
    client.runtime.block_on(store.put(&Path::from("x"), payload)).unwrap();
}

/// Returns a client, its store, and an object of `len` bytes.
fn open_object(len: u64) -> (Client, Arc<InMemory>, Vec<u8>, Arc<dyn Source>) {
    let (client, store, bytes) = (client(), Arc::new(InMemory::new()), noise(len));
    put(&client, &store, &bytes);
    let source = client.open_in(store.clone(), "x".into()).unwrap().unwrap();
    (client, store, bytes, source)
}

#[test]
fn reads_return_the_bytes_of_the_object_at_any_offset() {
    let (_client, _, bytes, source) = open_object(9 * MIB + 17);
    assert_eq!(source.len(), bytes.len() as u64);
    let mut at = 7_u64;
    for step in 0..300_u64 {
        at = at.wrapping_mul(48_271) % (10 * MIB);
        let len = [0, 1, 512, 70_000, 3 * MIB][step as usize % 5];
        let (start, end) = (at.min(source.len()), (at + len).min(source.len()));
        let read = source.read_at(at..at + len).unwrap();
        assert!(read == bytes[start as usize..end as usize], "{at}, {len}");
        if step % 7 == 0 {
            source.release(at..at + MIB);
        }
    }
    assert!(source.read_at(u64::MAX - 1..u64::MAX).unwrap().is_empty());
}

#[test]
fn opening_is_one_request_and_fetches_the_first_bytes() {
    let (client, _, bytes, source) = open_object(9 * MIB);
    assert_eq!(source.read_at(0..4096).unwrap(), bytes[..4096]);
    assert_eq!(source.read_at(0..BLOCK_BYTES).unwrap(), bytes[..BLOCK_BYTES as usize]);
    assert_eq!(client.traffic(), Traffic { requests: 1, bytes: BLOCK_BYTES });
}

#[test]
fn sequential_reads_need_few_requests_and_fetch_each_byte_once() {
    let (client, _, bytes, source) = open_object(24 * MIB);
    for at in (0..24 * MIB).step_by(512) {
        let read = source.read_at(at..at + 512).unwrap();
        assert!(read == bytes[at as usize..at as usize + 512]);
        source.release(at..at + 512);
    }
    let traffic = client.traffic();
    assert!(traffic.requests < 40, "{traffic:?}");
    assert_eq!(traffic.bytes, 24 * MIB);
}

#[test]
fn random_reads_fetch_little() {
    let (client, _, _, source) = open_object(64 * MIB);
    for at in [60 * MIB, 5 * MIB, 40 * MIB, 20 * MIB] {
        source.read_at(at..at + 9000).unwrap();
        source.read_at(at..at + 100).unwrap();
    }
    assert_eq!(client.traffic(), Traffic { requests: 5, bytes: 5 * BLOCK_BYTES });
}

#[test]
fn ranges_longer_than_the_cache_are_read() {
    let limits = Limits { cache_bytes: 1, ..Limits::default() };
    let (client, store) = (Client::new(limits).unwrap(), Arc::new(InMemory::new()));
    let bytes = noise(20 * MIB);
    put(&client, &store, &bytes);
    let source = client.open_in(store, "x".into()).unwrap().unwrap();
    assert!(source.read_at(0..20 * MIB).unwrap() == bytes);
    assert!(source.read_at(MIB..19 * MIB).unwrap() == bytes[1 << 20..19 << 20]);
}

#[test]
fn many_threads_read_one_object() {
    let (client, _, bytes, source) = open_object(16 * MIB);
    std::thread::scope(|scope| {
        for part in 0..8 {
            let (source, bytes) = (&source, &bytes);
            scope.spawn(move || {
                for at in (part * 2 * MIB..(part + 1) * 2 * MIB).step_by(100_000) {
                    let read = source.read_at(at..at + 100_000).unwrap();
                    let end = bytes.len().min(at as usize + 100_000);
                    assert!(read == bytes[at as usize..end]);
                }
            });
        }
    });
    assert!(client.traffic().bytes <= 17 * MIB, "{:?}", client.traffic());
}

#[test]
fn replaced_object_is_an_error_and_never_mixed() {
    let (client, store, bytes, source) = open_object(9 * MIB);
    put(&client, &store, &noise(9 * MIB));
    let err = source.read_at(5 * MIB..6 * MIB).unwrap_err().to_string();
    assert_eq!(err, "the object was changed while it was being read");
    put(&client, &store, &bytes[..100]);
    let err = source.read_at(8 * MIB..9 * MIB).unwrap_err().to_string();
    assert_eq!(err, "the object was changed while it was being read");
    client.runtime.block_on(store.delete(&Path::from("x"))).unwrap();
    let err = source.read_at(6 * MIB..7 * MIB).unwrap_err().to_string();
    assert_eq!(err, "the object was changed while it was being read");
    assert_eq!(client.traffic().requests, 4, "no retries");
}

#[test]
fn empty_object_is_opened_and_missing_object_is_an_error() {
    let (client, store, _, _) = open_object(1);
    put(&client, &store, &[]);
    let source = client.open_in(store.clone(), "x".into()).unwrap().unwrap();
    assert!(source.is_empty() && source.read_at(0..10).unwrap().is_empty());
    let err = client.open_in(store, "y".into()).err().unwrap();
    assert_eq!(err.kind(), io::ErrorKind::NotFound);
    assert_eq!(err.to_string(), "there is no such object");
}

/// Uploads `len` bytes to `x`, and returns the result and the contents of `x` afterwards.
fn upload(
    client: &Client,
    store: &Arc<InMemory>,
    len: u64,
    if_exists: IfExists,
) -> (io::Result<()>, Option<Bytes>) {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&noise(len)).unwrap();
    let (path, transport) = (Path::from("x"), &*client.transport);
    let dynamic: Arc<dyn ObjectStore> = store.clone();
    let upload = Upload { store: &dynamic, path: &path, transport, if_exists };
    let sent = client.runtime.block_on(upload.send(&mut file));
    let got = client.runtime.block_on(async { store.get(&path).await?.bytes().await });
    (sent, got.ok())
}

#[test]
fn files_are_uploaded_at_once_or_in_parts() {
    let client = client();
    for len in [0, 5, 16 * MIB, 70 * MIB + 3] {
        let store = Arc::new(InMemory::new());
        let (sent, contents) = upload(&client, &store, len, IfExists::Fail);
        sent.unwrap();
        assert!(contents.unwrap() == noise(len));
    }
}

#[test]
fn existing_object_is_replaced_only_on_request() {
    let (client, store) = (client(), Arc::new(InMemory::new()));
    put(&client, &store, b"old");
    for len in [5, 40 * MIB] {
        let (sent, contents) = upload(&client, &store, len, IfExists::Fail);
        assert_eq!(sent.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(contents.unwrap(), b"old"[..]);
    }
    for len in [40 * MIB, 5] {
        let (sent, contents) = upload(&client, &store, len, IfExists::Replace);
        sent.unwrap();
        assert!(contents.unwrap() == noise(len));
    }
}

#[test]
fn folder_lists_its_objects_and_those_of_subfolders_in_order() {
    let (client, store) = (client(), Arc::new(InMemory::new()));
    for key in ["logs/b.bag", "logs/a/c.ulg", "logs2/x", "log"] {
        let path = Path::from(key);
        let put = store.put(&path, PutPayload::from_static(b"12"));
        client.runtime.block_on(put).unwrap();
    }
    let store: Arc<dyn ObjectStore> = store;
    let folder = Path::from("logs");
    let listed = list::list(&store, &folder, &client.transport.limits);
    let listed = client.runtime.block_on(listed).unwrap();
    let listed: Vec<_> =
        listed.iter().map(|meta| (meta.location.as_ref(), meta.size)).collect();
    assert_eq!(listed, [("logs/a/c.ulg", 2), ("logs/b.bag", 2)]);
}
