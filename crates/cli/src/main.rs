//! Logs of robots.
fn main() {}
