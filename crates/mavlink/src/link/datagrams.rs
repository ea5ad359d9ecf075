//! A UDP socket with a thread that receives its datagrams.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use crate::link::{READ_TIMEOUT, is_temporary};

/// The maximum number of queued datagrams. A vehicle sends at most about 300 datagrams per second,
/// so the queue holds the data of several seconds.
const MAX_QUEUED: usize = 2048;

/// The maximum length of a datagram over IP.
const MAX_BYTES: usize = 1 << 16;

/// A datagram and its sender.
type Datagram = (Vec<u8>, SocketAddr);

/// A socket whose datagrams are received immediately by a thread of its own.
///
/// The operating system drops datagrams when its buffer is full. The buffer holds less than a
/// second of data, and writing to a file may take longer.
#[derive(Debug)]
pub(super) struct DatagramSocket {
    socket: UdpSocket,
    received: Receiver<io::Result<Datagram>>,
    /// The thread ends when this value is dropped.
    _is_open: Arc<()>,
}

impl DatagramSocket {
    /// Starts to receive the datagrams of `socket`.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(super) fn new(socket: UdpSocket) -> io::Result<Self> {
        socket.set_read_timeout(Some(READ_TIMEOUT))?;
        let (sender, received) = sync_channel(MAX_QUEUED);
        let is_open = Arc::new(());
        let (receiver, open) = (socket.try_clone()?, Arc::downgrade(&is_open));
        thread::Builder::new()
            .name("datagrams".to_owned())
            .spawn(move || receive(&receiver, &sender, || open.strong_count() > 0))?;
        Ok(Self { socket, received, _is_open: is_open })
    }

    /// Sends `bytes` to `peer`.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(super) fn send_to(&self, bytes: &[u8], peer: SocketAddr) -> io::Result<usize> {
        self.socket.send_to(bytes, peer)
    }

    /// Returns the next datagram, after waiting for at most `timeout`.
    ///
    /// # Errors
    /// `TimedOut` if no datagram arrived; errors of the operating system.
    pub(super) fn next(&self, timeout: Duration) -> io::Result<Datagram> {
        match self.received.recv_timeout(timeout) {
            Ok(received) => received,
            Err(RecvTimeoutError::Timeout) => Err(io::ErrorKind::TimedOut.into()),
            Err(RecvTimeoutError::Disconnected) => {
                Err(io::ErrorKind::NotConnected.into())
            }
        }
    }
}

/// Receives datagrams until the socket fails, or until `is_open` returns false.
fn receive(
    socket: &UdpSocket,
    sender: &SyncSender<io::Result<Datagram>>,
    is_open: impl Fn() -> bool,
) {
    let mut bytes = vec![0; MAX_BYTES];
    while is_open() {
        let received = socket.recv_from(&mut bytes).map(|(length, peer)| {
            (bytes.get(..length).unwrap_or_default().to_vec(), peer)
        });
        let is_last = match &received {
            Err(err) if is_temporary(err) => continue,
            received => received.is_err(),
        };
        if sender.send(received).is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_wait_in_order_while_nothing_takes_them() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let received = DatagramSocket::new(socket).unwrap();
        let vehicle = UdpSocket::bind("127.0.0.1:0").unwrap();
        let timeout = Duration::from_secs(20);
        // In groups, so that the buffer of the system holds what the thread has not received.
        for group in 0..8_u8 {
            for number in 0..50_u8 {
                vehicle.send_to(&[group, number], address).unwrap();
            }
            while received.received.try_iter().next().is_none() {
                thread::yield_now();
            }
            for number in 1..50_u8 {
                let (bytes, peer) = received.next(timeout).unwrap();
                assert_eq!(
                    (bytes, peer),
                    (vec![group, number], vehicle.local_addr().unwrap())
                );
            }
        }
        let none = received.next(Duration::from_millis(1)).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::TimedOut);
        received.send_to(b"answer", vehicle.local_addr().unwrap()).unwrap();
        let mut answer = [0; 16];
        assert_eq!(vehicle.recv_from(&mut answer).unwrap().0, 6);
    }
}
