//! Addresses of connections, in the notation of MAVLink tools.

use std::{
    error,
    fmt::{self, Display},
    path::PathBuf,
    str::FromStr,
};

/// The default speed of a serial port in bauds.
const DEFAULT_BAUD: u32 = 57_600;

/// The address of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// Receives datagrams at this address of the machine: `udp:14550`, `udp:127.0.0.1:14550`.
    UdpListen(String, u16),
    /// Starts by sending datagrams to this address: `udpout:192.168.1.10:14550`.
    UdpSend(String, u16),
    /// Connects to this address: `tcp:127.0.0.1:5760`.
    Tcp(String, u16),
    /// Opens this serial port with this speed in bauds: `serial:/dev/ttyACM0:921600`.
    Serial(PathBuf, u32),
}

/// The error for a text that is not the address of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressError;

impl error::Error for AddressError {}

impl Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "not an address, such as udp:14550, udp:HOST:PORT, udpout:HOST:PORT, tcp:HOST:PORT \
             or serial:/dev/ttyACM0:921600",
        )
    }
}

impl FromStr for Address {
    type Err = AddressError;

    /// Parses `udp:PORT`, `udp:HOST:PORT` (also `udpin:`), `udpout:HOST:PORT`, `tcp:HOST:PORT`
    /// (also `tcpout:`) and `serial:PATH:BAUD`. The names are those of pymavlink and of the crate
    /// `mavlink`; `udp://HOST:PORT` of MAVSDK is accepted too.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let (kind, remaining) = text.split_once(':').ok_or(AddressError)?;
        match kind {
            "udp" | "udpin" => {
                let (host, port) = host_and_port(remaining)?;
                Ok(Self::UdpListen(host.unwrap_or("0.0.0.0").to_owned(), port))
            }
            "udpout" => match host_and_port(remaining)? {
                (Some(host), port) => Ok(Self::UdpSend(host.to_owned(), port)),
                _ => Err(AddressError),
            },
            "tcp" | "tcpout" => {
                let (host, port) = host_and_port(remaining)?;
                Ok(Self::Tcp(host.unwrap_or("127.0.0.1").to_owned(), port))
            }
            "serial" => {
                let with_baud =
                    remaining.rsplit_once([':', ',']).and_then(|(path, baud)| {
                        Some((path, baud.parse().ok().filter(|baud| *baud > 0)?))
                    });
                let (path, baud) = with_baud.unwrap_or((remaining, DEFAULT_BAUD));
                if path.is_empty() {
                    return Err(AddressError);
                }
                Ok(Self::Serial(path.into(), baud))
            }
            _ => Err(AddressError),
        }
    }
}

/// Splits `HOST:PORT`, `:PORT` or `PORT`, optionally after two slashes.
fn host_and_port(text: &str) -> Result<(Option<&str>, u16), AddressError> {
    let text = text.strip_prefix("//").unwrap_or(text);
    let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
    // An IPv6 address is in brackets.
    let host =
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let port = port.parse().ok().filter(|port| *port > 0).ok_or(AddressError)?;
    Ok(((!host.is_empty()).then_some(host), port))
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write = |f: &mut fmt::Formatter<'_>, kind: &str, host: &str, port: &u16| {
            if host.contains(':') {
                write!(f, "{kind}:[{host}]:{port}")
            } else {
                write!(f, "{kind}:{host}:{port}")
            }
        };
        match self {
            Self::UdpListen(host, port) => write(f, "udp", host, port),
            Self::UdpSend(host, port) => write(f, "udpout", host, port),
            Self::Tcp(host, port) => write(f, "tcp", host, port),
            Self::Serial(path, baud) => write!(f, "serial:{}:{baud}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_all_kinds_are_parsed() {
        let parsed = |text: &str| text.parse::<Address>().unwrap().to_string();
        assert_eq!(parsed("udp:14550"), "udp:0.0.0.0:14550");
        assert_eq!(parsed("udp::14550"), "udp:0.0.0.0:14550");
        assert_eq!(parsed("udp://:14540"), "udp:0.0.0.0:14540");
        assert_eq!(parsed("udpin:127.0.0.1:14550"), "udp:127.0.0.1:14550");
        assert_eq!(parsed("udp:[::1]:14550"), "udp:[::1]:14550");
        assert_eq!(parsed("udpout:drone.local:14550"), "udpout:drone.local:14550");
        assert_eq!(parsed("tcp:127.0.0.1:5760"), "tcp:127.0.0.1:5760");
        assert_eq!(parsed("serial:/dev/ttyACM0:921600"), "serial:/dev/ttyACM0:921600");
        assert_eq!(parsed("serial:/dev/ttyACM0,115200"), "serial:/dev/ttyACM0:115200");
        assert_eq!(parsed("serial:/dev/ttyACM0"), "serial:/dev/ttyACM0:57600");
    }

    #[test]
    fn other_texts_are_rejected() {
        let texts =
            ["", "flight.tlog", "udp", "udp:", "udp:0", "udp:70000", "udpout:14550"];
        for text in texts.into_iter().chain(["tcp:host", "serial:", "ftp:host:21"]) {
            assert_eq!(text.parse::<Address>(), Err(AddressError), "{text}");
        }
    }
}
