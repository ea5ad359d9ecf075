//! `record` of a vehicle that sends its log without waiting for anything. `conformance/mavlink.py`
//! emulates whole conversations.

use std::{
    fs,
    net::{SocketAddr, UdpSocket},
    os::unix::{fs::FileTypeExt as _, fs::symlink, net::UnixListener},
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use crate::{
    bytes,
    mavlink::{self, Sender, packet},
    program::{Folder, Run},
};

const VEHICLE: Sender = (1, 1);

/// The data of the packets of a log.
fn log() -> Vec<Vec<u8>> {
    let mut start = b"ULog\x01\x12\x35\x01".to_vec();
    start.extend(1_000_000_u64.to_le_bytes());
    start.extend(bytes::message(b'F', b"att:uint64_t timestamp;float x;"));
    start.extend(bytes::subscription(0, 0, "att"));
    let rows = (0..20).map(|row| bytes::att(0, 1_000_000 + 20_000 * row, 0.5));
    [start].into_iter().chain(rows).collect()
}

/// Sends the packets of a log to `address`, and then what `disturb` sends. Until `is_over`, it states that it
/// is alive, and that its stream is stopped.
fn fly(address: SocketAddr, is_over: &AtomicBool, disturb: impl FnOnce(&UdpSocket)) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let send = |frame: &[u8]| {
        let _ = socket.send_to(frame, address);
        thread::sleep(Duration::from_millis(5));
    };
    // The recorder starts to listen.
    thread::sleep(Duration::from_millis(500));
    send(&mavlink::heartbeat(VEHICLE));
    for (number, data) in (0..).zip(log()) {
        send(&packet(VEHICLE, number, 0, &data));
    }
    disturb(&socket);
    while !is_over.load(Ordering::Relaxed) {
        send(&mavlink::heartbeat(VEHICLE));
        send(&mavlink::stopped(VEHICLE));
    }
}

/// Records one second of a vehicle. `disturb` gets its socket and the address of the recorder.
fn record(
    folder: &Folder,
    more: &[&str],
    disturb: impl FnOnce(&UdpSocket, SocketAddr) + Send,
) -> Run {
    // The port is free when the program opens it.
    let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let source = format!("udp:{address}");
    let args = ["record", "mavlink", &source, "--duration", "1s", "--timeout", "5s"];
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| fly(address, &is_over, |socket| disturb(socket, address)));
        let run = folder.run(&[&args[..], more].concat());
        is_over.store(true, Ordering::Relaxed);
        run
    })
}

#[test]
fn link_is_replaced_and_not_followed() {
    let folder = Folder::new();
    folder.write("target.txt", b"text");
    symlink("target.txt", folder.path().join("chain.ulg")).unwrap();
    symlink("chain.ulg", folder.path().join("r.ulg")).unwrap();
    symlink("missing.txt", folder.path().join("d.ulg")).unwrap();
    for name in ["r.ulg", "d.ulg"] {
        let refused = ["record", "mavlink", "udp:1", "-o", name];
        folder.run(&refused).assert_status(1, &[name, "exists already"]);
        record(&folder, &["-o", name, "--force"], |_, _| ()).assert_status(0, &[name]);
        let path = folder.path().join(name);
        assert!(path.symlink_metadata().unwrap().is_file());
        assert_eq!(fs::read(path).unwrap(), log().concat());
    }
    let names = ["chain.ulg", "d.ulg", "r.ulg", "target.txt"];
    assert_eq!(folder.list("."), names);
    assert_eq!(folder.read("target.txt"), "text");
}

#[test]
fn special_files_are_refused_without_waiting() {
    let folder = Folder::new();
    let path = |name: &str| folder.path().join(name);
    assert!(Command::new("mkfifo").arg(path("pipe.ulg")).status().unwrap().success());
    symlink("pipe.ulg", path("link.ulg")).unwrap();
    let _socket = UnixListener::bind(path("socket.ulg")).unwrap();
    for name in ["pipe.ulg", "link.ulg", "socket.ulg"] {
        for more in [&[][..], &["--force"]] {
            let args = ["record", "mavlink", "udp:1", "-o", name];
            let run = folder.run(&[&args[..], more].concat());
            run.assert_status(1, &[name, "a device, a pipe or a socket"]);
        }
    }
    assert!(fs::metadata(path("pipe.ulg")).unwrap().file_type().is_fifo());
}

#[test]
fn packets_of_other_senders_are_counted_and_not_recorded() {
    let folder = Folder::new();
    // A vehicle with the same ids at another address, and another vehicle at the same one.
    let disturb = |socket: &UdpSocket, address: SocketAddr| {
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        let row = bytes::att(0, 9_000_000, 7.0);
        for number in 21..25 {
            other.send_to(&packet(VEHICLE, number, 0, &row), address).unwrap();
            socket.send_to(&packet((2, 1), number, 0, &row), address).unwrap();
        }
    };
    let words = ["8 packets of other vehicles", "2 other senders ignored"];
    record(&folder, &["-o", "r.ulg"], disturb).assert_status(3, &words);
    assert_eq!(fs::read(folder.path().join("r.ulg")).unwrap(), log().concat());
    let chosen = ["-o", "s.ulg", "--system", "1"];
    record(&folder, &chosen, disturb)
        .assert_status(0, &["8 packets of other vehicles"]);
}

#[test]
fn damaged_packet_at_the_end_is_counted() {
    let folder = Folder::new();
    let disturb = |socket: &UdpSocket, address: SocketAddr| {
        let mut last = packet(VEHICLE, 21, 0, &bytes::att(0, 9_000_000, 7.0));
        let len = last.len();
        socket.send_to(&last[..len - 4], address).unwrap();
        last[len - 1] ^= 1;
        socket.send_to(&last, address).unwrap();
    };
    let words = ["lost: 2 packets with wrong checksums"];
    record(&folder, &["-o", "r.ulg"], disturb).assert_status(3, &words);
    assert_eq!(fs::read(folder.path().join("r.ulg")).unwrap(), log().concat());
}

#[test]
fn log_that_starts_again_ends_the_recording() {
    let folder = Folder::new();
    let disturb = |socket: &UdpSocket, address: SocketAddr| {
        for number in 1..12 {
            let row = bytes::att(0, 9_000_000, 7.0);
            socket.send_to(&packet(VEHICLE, number, 0, &row), address).unwrap();
        }
    };
    let words = ["packets out of sequence", "the vehicle started another log"];
    record(&folder, &["-o", "r.ulg"], disturb).assert_status(3, &words);
    assert_eq!(fs::read(folder.path().join("r.ulg")).unwrap(), log().concat());
}
