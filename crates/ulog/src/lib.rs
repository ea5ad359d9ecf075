//! Logs of robots.
