//! Logs and outputs as URLs; conformance/remote has more, with servers that fail.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{TcpListener, TcpStream},
    thread,
};

use crate::{bytes, program::Folder};

/// Starts a web server of `log` that supports ranges and reports the modification time; returns
/// its URL.
fn serve(log: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a/flight.ulg", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let log = log.clone();
            thread::spawn(move || answer(stream.unwrap(), &log));
        }
    });
    url
}

/// Answers the requests of one connection.
fn answer(mut stream: TcpStream, log: &[u8]) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    while let Some(Ok(first)) = lines.next() {
        let headers = lines.by_ref().map_while(Result::ok);
        let headers: Vec<_> = headers.take_while(|line| !line.is_empty()).collect();
        if !first.contains("/a/flight.ulg") {
            let _ = stream.write_all(b"HTTP/1.1 404 None\r\nContent-Length: 0\r\n\r\n");
            continue;
        }
        if first.starts_with("HEAD") {
            let head = format!(
                "HTTP/1.1 200 OK\r\nLast-Modified: Sat, 07 Nov 2026 10:00:00 GMT\r\n\
                 Content-Length: {}\r\n\r\n",
                log.len()
            );
            let _ = stream.write_all(head.as_bytes());
            continue;
        }
        let range = headers.iter().find_map(|line| {
            let line = line.to_ascii_lowercase();
            let (start, last) = line.strip_prefix("range: bytes=")?.split_once('-')?;
            Some((start.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
        });
        let (start, last) = range.unwrap();
        let end = log.len().min(last + 1);
        let head = format!(
            "HTTP/1.1 206 Partial\r\nETag: \"1\"\r\nContent-Length: {}\r\n\
             Content-Range: bytes {start}-{}/{}\r\n\r\n",
            end - start,
            end - 1,
            log.len()
        );
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(&log[start..end]);
    }
}

#[test]
fn log_on_a_web_server_equals_the_local_log() {
    let folder = Folder::with_log(&bytes::log());
    let url = serve(bytes::log());
    let local = folder.run(&["info", "flight.ulg"]).assert_success();
    let remote = folder.run(&["info", &format!("{url}?Signature=secret")]);
    assert_eq!(remote.stdout, local.stdout.replace("flight.ulg", &url));
    let remote = remote.assert_status(0, &[&format!("{url}: reads the whole file")]);
    assert!(!remote.stderr.contains("secret"), "{}", remote.stderr);

    folder.run(&["convert", &url, "-q"]).assert_success();
    folder.run(&["convert", "flight.ulg", "-q", "-o", "here"]).assert_success();
    assert_eq!(folder.list("flight"), folder.list("here"));
    assert_eq!(
        folder.read("flight/flight_att_0.csv"),
        folder.read("here/flight_att_0.csv")
    );
}

#[test]
fn split_of_a_log_on_a_web_server_is_read_remotely() {
    let folder = Folder::with_log(&bytes::log());
    let url = serve(bytes::log());
    let plan = ["plan", "--json", "-q", "-t", "att"];
    let remote = folder.run(&[&plan[..], &[&*url]].concat()).assert_success().stdout;
    let local =
        folder.run(&[&plan[..], &["flight.ulg"]].concat()).assert_success().stdout;
    let read = |split: &str| {
        let args = ["read", "--split", "-", "--format", "jsonl", "-q"];
        folder.run_with(&args, split.as_bytes()).assert_success().stdout
    };
    assert!(remote.contains(&url) && !read(&remote).is_empty());
    assert_eq!(read(&remote), read(&local));
}

#[test]
fn missing_remote_log_is_a_single_line() {
    let url = serve(Vec::new()).replace("flight", "other");
    let run = Folder::new().run(&["info", &url]);
    assert_eq!(
        run.stderr,
        format!("error: cannot open {url}: there is no such object\n")
    );
    assert_eq!(run.status, 1);
}

#[test]
fn file_url_is_the_local_file() {
    let folder = Folder::with_log(&bytes::log());
    let path = folder.path().to_str().unwrap();
    let (log, out) =
        (format!("file://{path}/flight.ulg"), format!("-o=file://{path}/x%20y"));
    folder.run(&["convert", "-q", &log, &out]).assert_success();
    assert!(!folder.list("x y").is_empty());
}

#[test]
fn log_of_an_object_store_is_not_written_over_itself() {
    let folder = Folder::new();
    for args in [
        &["merge", "s3://b/a/y.bag", "s3://b/a/x.bag"][..],
        &["filter", "s3a://b/a/x.bag", "-t", "x"],
        &["repair", "S3://b/a/x.bag"],
    ] {
        let args = [args, &["--force", "-o", "s3://b/a/x.bag"]].concat();
        folder.run(&args).assert_status(2, &["would be overwritten by itself"]);
    }
}

#[test]
fn unsupported_urls_are_wrong_usage() {
    let folder = Folder::with_log(&bytes::log());
    for (args, expected) in [
        (vec!["info", "ftp://host/x.ulg"], "unknown scheme ftp://"),
        (vec!["info", "s3:///x.ulg"], "names no bucket"),
        // Keys that would be read and written under other names.
        (vec!["info", "s3://b//x.ulg"], "an empty segment"),
        (vec!["filter", "flight.ulg", "-o", "s3://b/a//x.ulg"], "an empty segment"),
        (vec!["convert", "flight.ulg", "-o", "s3://b/a//x.mcap"], "an empty segment"),
        (vec!["batch", "flight.ulg", "-o", "s3://b//set"], "an empty segment"),
        (vec!["batch", "gs://b/a/../x/", "-o", "set"], "an empty segment"),
        (
            vec!["filter", "flight.ulg", "-o", "http://host/x.ulg"],
            "cannot be written to",
        ),
    ] {
        let run = folder.run(&args);
        assert!(run.status == 2 && run.stderr.contains(expected), "{run:?}");
    }
    assert_eq!(folder.list("."), ["flight.ulg"]);
}

#[test]
fn log_on_a_web_server_is_converted_once() {
    let folder = Folder::with_log(&bytes::log());
    let url = serve(bytes::log());
    let (signed, none) =
        (format!("{url}?Signature=secret"), url.replace("flight", "no"));
    folder.run(&["batch", "flight.ulg", "-o", "here", "-q"]).assert_success();
    folder.run(&["batch", &signed, "-o", "there", "-q"]).assert_success();
    let tables = |set: &str| {
        let all = folder.list(set).into_iter();
        all.filter(|name| !name.starts_with('_')).collect::<Vec<_>>()
    };
    assert_eq!(tables("here"), tables("there"));
    assert!(!tables("there").is_empty());

    let run = folder.run(&["batch", "--json", &signed, &none, "-o", "there"]);
    let run = run.assert_status(1, &["there is no such object"]);
    let reports = |text: &str| run.stdout.contains(text);
    assert!(reports("\"outcome\":\"done_before\"") && !reports("secret"), "{run:?}");

    let run = folder.run(&["index", &signed, "-o", "all.jsonl"]);
    run.assert_status(0, &["1 log indexed"]);
    let catalog = std::fs::read_to_string(folder.path().join("all.jsonl")).unwrap();
    assert!(catalog.contains(&format!("\"source\":\"{url}\"")), "{catalog}");
    assert!(catalog.contains("\"modified\":\"2026-11-07T10:00:00"), "{catalog}");

    // The printed names do not distinguish the two.
    let run = folder.run(&["batch", &url, &signed, "-o", "both"]);
    run.assert_status(1, &["another URL differs from it only after the `?`"]);
}

/// Starts a web server that sends `log` in chunks of `chunk` bytes, without its length and whatever
/// range is requested, and refuses HEAD; returns its URL.
fn serve_chunked(log: Vec<u8>, chunk: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/flight.ulg", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, log) = (stream.unwrap(), log.clone());
            thread::spawn(move || {
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let mut lines = lines.map_while(Result::ok);
                let is_head = lines.next().is_none_or(|line| line.starts_with("HEAD"));
                lines.take_while(|line| !line.is_empty()).for_each(drop);
                let head = match is_head {
                    true => "405 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                    false => {
                        "200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                    }
                };
                let mut answer = format!("HTTP/1.1 {head}").into_bytes();
                for bytes in log.chunks(chunk).filter(|_| !is_head) {
                    answer.extend(format!("{:x}\r\n", bytes.len()).as_bytes());
                    answer.extend([bytes, b"\r\n"].concat());
                }
                answer.extend(if is_head { &b""[..] } else { b"0\r\n\r\n" });
                // A client that requested a range closes the connection.
                let _ = stream.write_all(&answer);
            });
        }
    });
    url
}

#[test]
fn log_of_a_server_that_states_no_length_equals_the_local_log() {
    let folder = Folder::with_log(&bytes::log());
    let url = serve_chunked(bytes::log(), 1000);
    let local = folder.run(&["info", "flight.ulg"]).assert_success();
    let remote = folder.run(&["info", &url]);
    assert_eq!(remote.stdout, local.stdout.replace("flight.ulg", &url));
    remote.assert_status(
        0,
        &["downloads the whole file (of unknown length): the server does not support ranges"],
    );
    for (log, out) in [("flight.ulg", "here"), (&*url, "there")] {
        let set = format!("{out}/set");
        let merged = format!("{out}/all.ulg");
        folder.run(&["convert", log, "-q", "-o", out]).assert_success();
        folder.run(&["batch", log, "-q", "-o", &set]).assert_success();
        let merge = ["merge", log, log, "--same-clock", "-q", "-o", &merged];
        folder.run(&merge).assert_success();
    }
    assert!(folder.list("here").len() > 3, "{:?}", folder.list("here"));
    for name in ["", "set", "set/flight_att"] {
        let [here, there] =
            ["here", "there"].map(|out| folder.list(&format!("{out}/{name}")));
        assert_eq!(here, there);
    }
    for name in ["flight_att_0.csv", "all.ulg"] {
        let [here, there] = ["here", "there"]
            .map(|out| std::fs::read(folder.path().join(out).join(name)).unwrap());
        assert!(here == there && !here.is_empty(), "{name}");
    }
    // An empty file, which has no first byte.
    let run = folder.run(&["info", &serve_chunked(Vec::new(), 1)]);
    run.assert_status(1, &["it is empty"]);
}
