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
use crate::frame::{Frame, ReceivedFrame, Scan, is_stream_packet, scan};

/// The maximum time for which a call waits for bytes.
const READ_TIMEOUT: Duration = Duration::from_millis(50);

/// The maximum number of UDP addresses to which frames are sent.
const MAX_PEERS: usize = 16;

/// A connection to a vehicle.
#[derive(Debug)]
pub struct Link {
    port: Port,
    /// The bytes of a byte stream that are not a complete frame yet.
    pending: Vec<u8>,
    damaged_packets: u64,
}

/// The UDP addresses to which frames are sent.
#[derive(Debug)]
enum Peers {
    /// Each address from which frames were received, because the vehicle is not known yet.
    Heard(Vec<SocketAddr>),
    /// The vehicle.
    Vehicle(SocketAddr),
}

#[derive(Debug)]
enum Port {
    Udp(DatagramSocket, Peers),
    Tcp(TcpStream),
    #[cfg(unix)]
    Serial(serial::SerialPort),
}

impl Link {
    /// Opens the connection to `address`. A TCP connection must be accepted within `timeout`.
    ///
    /// # Errors
    /// Errors of the operating system; `Unsupported` for serial ports on systems other than Unix.
    pub fn open(address: &Address, timeout: Duration) -> io::Result<Self> {
        let port = match address {
            Address::UdpListen(host, port) => {
                let socket = UdpSocket::bind((host.as_str(), *port))?;
                Port::Udp(DatagramSocket::new(socket)?, Peers::Heard(Vec::new()))
            }
            Address::UdpSend(host, port) => {
                let peer = resolve(host, *port)?;
                let any = if peer.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
                let socket = UdpSocket::bind(any)?;
                Port::Udp(DatagramSocket::new(socket)?, Peers::Heard(vec![peer]))
            }
            Address::Tcp(host, port) => {
                let peer = resolve(host, *port)?;
                let socket = TcpStream::connect_timeout(&peer, timeout)?;
                socket.set_read_timeout(Some(READ_TIMEOUT))?;
                socket.set_write_timeout(Some(timeout))?;
                // Without this option, the system would delay short frames.
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
        Ok(Self { port, pending: Vec::new(), damaged_packets: 0 })
    }

    /// Sends frames only to the vehicle at `address` from now on.
    pub fn set_vehicle(&mut self, address: SocketAddr) {
        if let Port::Udp(_, peers) = &mut self.port {
            *peers = Peers::Vehicle(address);
        }
    }

    /// Returns the number of packets of log streams that arrived cut or with a wrong checksum.
    pub fn damaged_packets(&self) -> u64 {
        self.damaged_packets
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// Errors of the operating system. A UDP address on which no program listens is not an error.
    pub fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        match &mut self.port {
            Port::Udp(socket, peers) => {
                let peers = match peers {
                    Peers::Heard(peers) => peers.as_slice(),
                    Peers::Vehicle(peer) => std::slice::from_ref(peer),
                };
                for peer in peers {
                    match socket.send_to(frame, *peer) {
                        Err(err) if !is_temporary(&err) => return Err(err),
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

    /// Waits up to 0.1 seconds for bytes, and appends the frames in them to `frames`.
    ///
    /// # Errors
    /// Errors of the operating system; `UnexpectedEof` if the other end closed the connection.
    pub fn receive(&mut self, frames: &mut Vec<ReceivedFrame>) -> io::Result<()> {
        let mut bytes = [0; 1 << 16];
        let received = match &mut self.port {
            Port::Udp(socket, peers) => match socket.next(READ_TIMEOUT) {
                Ok((mut datagram, peer)) => {
                    let previous_len = frames.len();
                    let address = Some(peer);
                    let add = |frame| frames.push(ReceivedFrame { frame, address });
                    self.damaged_packets += take_frames(&mut datagram, add);
                    // A frame does not continue in the next datagram.
                    self.damaged_packets += u64::from(is_stream_packet(&datagram));
                    if let Peers::Heard(peers) = peers
                        && frames.len() > previous_len
                        && !peers.contains(&peer)
                        && peers.len() < MAX_PEERS
                    {
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
                let add = |frame| frames.push(ReceivedFrame { frame, address: None });
                self.damaged_packets += take_frames(&mut self.pending, add);
                Ok(())
            }
            Err(err) if is_temporary(&err) => Ok(()),
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
fn is_temporary(err: &io::Error) -> bool {
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

/// Removes the complete frames from `bytes`, and passes them to `add`. Only bytes that may be the
/// start of a frame remain. Returns the number of packets of log streams with wrong checksums.
fn take_frames(bytes: &mut Vec<u8>, mut add: impl FnMut(Frame)) -> u64 {
    let mut damaged_packets = 0;
    let mut remaining = bytes.as_slice();
    loop {
        let consumed = match scan(remaining) {
            Scan::Frame(frame, length) => {
                add(frame);
                length
            }
            Scan::Incomplete => break,
            // Only one byte is skipped, because the length of an unknown frame may be wrong.
            Scan::Unknown(_) => 1,
            Scan::Invalid => {
                damaged_packets += u64::from(is_stream_packet(remaining));
                1
            }
        };
        remaining = remaining.get(consumed..).unwrap_or_default();
    }
    *bytes = remaining.to_vec();
    damaged_packets
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
        assert_eq!(take_frames(&mut bytes, |frame| frames.push(frame)), 0);
        assert_eq!(frames.len(), 2);
        assert_eq!(bytes, &heartbeat[..5]);
        bytes.extend(&heartbeat[5..]);
        assert_eq!(take_frames(&mut bytes, |frame| frames.push(frame)), 0);
        assert_eq!((frames.len(), bytes.len()), (3, 0));
    }

    #[test]
    fn packets_with_wrong_checksums_are_counted() {
        // As in the tests of `frame`.
        let packet = [
            0xfd, 11, 0, 0, 0, 1, 1, 0x0b, 1, 0, 155, 0, 7, 255, 5, 2, 1, 2, 3, 4, 5,
            0xfa, 0xcf,
        ];
        let mut bytes = packet.to_vec();
        bytes.extend(packet);
        bytes[18] ^= 1;
        let mut frames = Vec::new();
        assert_eq!(take_frames(&mut bytes, |frame| frames.push(frame)), 1);
        assert_eq!((frames.len(), bytes.len()), (1, 0));
    }
}
