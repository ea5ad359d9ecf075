//! Connections to vehicles: UDP, TCP and serial ports.

mod address;
mod datagrams;
#[cfg(unix)]
mod serial;

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket},
    time::Duration,
};

pub use self::address::{Address, AddressError};
use self::datagrams::DatagramSocket;
use crate::frame::{Frame, Scan, scan};

/// How long a call waits for bytes.
const WAIT: Duration = Duration::from_millis(50);

/// The most addresses that frames are sent to.
const MAX_PEERS: usize = 16;

/// A connection to a vehicle.
#[derive(Debug)]
pub struct Link {
    port: Port,
    /// The bytes of a byte stream that are not a complete frame yet.
    pending: Vec<u8>,
}

#[derive(Debug)]
enum Port {
    /// Frames go to each address that has sent some, and they state the system that they are for.
    Udp(DatagramSocket, Vec<SocketAddr>),
    Tcp(TcpStream),
    #[cfg(unix)]
    Serial(serial::SerialPort),
}

impl Link {
    /// Opens the connection to `address`. A TCP connection must be accepted within `timeout`.
    ///
    /// # Errors
    /// Those of the system; `Unsupported` for serial ports on systems other than Unix.
    pub fn open(address: &Address, timeout: Duration) -> io::Result<Self> {
        let port = match address {
            Address::UdpListen(host, port) => {
                let socket = UdpSocket::bind((host.as_str(), *port))?;
                Port::Udp(DatagramSocket::new(socket)?, Vec::new())
            }
            Address::UdpSend(host, port) => {
                let peer = resolve(host, *port)?;
                let any = if peer.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(any)?;
                Port::Udp(DatagramSocket::new(socket)?, vec![peer])
            }
            Address::Tcp(host, port) => {
                let peer = resolve(host, *port)?;
                let socket = TcpStream::connect_timeout(&peer, timeout)?;
                socket.set_read_timeout(Some(WAIT))?;
                socket.set_write_timeout(Some(timeout))?;
                // Answers must not wait for more bytes.
                socket.set_nodelay(true)?;
                Port::Tcp(socket)
            }
            #[cfg(unix)]
            Address::Serial(path, baud) => {
                Port::Serial(serial::SerialPort::open(path, *baud)?)
            }
            #[cfg(not(unix))]
            Address::Serial(..) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Self { port, pending: Vec::new() })
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// Those of the system. A UDP address where nothing listens is not an error.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        match &mut self.port {
            Port::Udp(socket, peers) => {
                for peer in peers {
                    match socket.send_to(frame, *peer) {
                        Err(err) if !is_passing(&err) => return Err(err),
                        _ => {}
                    }
                }
                Ok(())
            }
            Port::Tcp(socket) => socket.write_all(frame),
            #[cfg(unix)]
            Port::Serial(port) => port.write_all(frame),
        }
    }

    /// Waits for bytes, for 0.1 seconds at most, and adds the frames in them to `frames`.
    ///
    /// # Errors
    /// Those of the system; `UnexpectedEof` if the other end closed the connection.
    pub fn receive(&mut self, frames: &mut Vec<Frame>) -> io::Result<()> {
        let mut bytes = [0; 1 << 16];
        let received = match &mut self.port {
            Port::Udp(socket, peers) => match socket.next(WAIT) {
                Ok((datagram, peer)) => {
                    let before = frames.len();
                    // Frames do not go on in the next datagram.
                    self.pending = datagram;
                    take_frames(&mut self.pending, frames);
                    let is_new = frames.len() > before && !peers.contains(&peer);
                    if is_new && peers.len() < MAX_PEERS {
                        peers.push(peer);
                    }
                    return Ok(());
                }
                Err(err) => Err(err),
            },
            Port::Tcp(socket) => match socket.read(&mut bytes) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                other => other,
            },
            #[cfg(unix)]
            Port::Serial(port) => port.read(&mut bytes),
        };
        match received {
            Ok(length) => {
                self.pending.extend(bytes.iter().take(length));
                take_frames(&mut self.pending, frames);
                Ok(())
            }
            Err(err) if is_passing(&err) => Ok(()),
            Err(err) => Err(err),
        }
    }
}

fn resolve(host: &str, port: u16) -> io::Result<SocketAddr> {
    let mut addresses = (host, port).to_socket_addrs()?;
    addresses.next().ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Returns whether an error is temporary: there are no bytes to read yet, or no program listens at
/// a UDP address yet.
fn is_passing(err: &io::Error) -> bool {
    matches!(
        err.kind(),
        io::ErrorKind::WouldBlock
            | io::ErrorKind::TimedOut
            | io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}

/// Moves the frames in `bytes` to `frames`, and leaves what may be the start of one.
fn take_frames(bytes: &mut Vec<u8>, frames: &mut Vec<Frame>) {
    let mut rest = bytes.as_slice();
    loop {
        let step = match scan(rest) {
            Scan::Frame(frame, length) => {
                frames.push(frame);
                length
            }
            Scan::Incomplete => break,
            // Not the whole unknown frame, because its length may be wrong.
            Scan::Unknown(_) | Scan::Invalid => 1,
        };
        rest = rest.get(step..).unwrap_or_default();
    }
    *bytes = rest.to_vec();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_between_other_bytes_and_across_reads() {
        // As in the tests of `frame`.
        let heartbeat = [0xfe, 9, 0, 1, 1, 0, 0, 0, 0, 0, 2, 12, 81, 4, 3, 0x81, 0xb7];
        let mut bytes = vec![0xfd, 0xfe, 7];
        bytes.extend(heartbeat);
        bytes.extend(&heartbeat[..5]);
        let mut frames = Vec::new();
        // The first bytes could be frames until enough bytes have followed them.
        bytes.extend(vec![0; 300]);
        bytes.extend(heartbeat);
        bytes.extend(&heartbeat[..5]);
        take_frames(&mut bytes, &mut frames);
        assert_eq!(frames.len(), 2);
        assert_eq!(bytes, &heartbeat[..5]);
        bytes.extend(&heartbeat[5..]);
        take_frames(&mut bytes, &mut frames);
        assert_eq!((frames.len(), bytes.len()), (3, 0));
    }
}
