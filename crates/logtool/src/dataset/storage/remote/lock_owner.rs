//! The owner of a lock: the content of the lock object.

use std::{
    fs,
    hash::{BuildHasher as _, RandomState},
    path::Path,
    process,
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A run that has a lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LockOwner {
    /// A random identifier of the run.
    run: String,
    /// The name of the machine.
    host: String,
    pid: u32,
    /// Identifies the machine since its last start, and its process IDs; empty if unknown.
    #[serde(default)]
    machine: String,
    /// Changes with each heartbeat, to show that the run is alive.
    #[serde(rename = "beat")]
    pub(super) heartbeat: u64,
}

impl LockOwner {
    /// Creates the owner for this process. `host_name` names the machine, if the system does
    /// not.
    pub(super) fn new(host_name: Option<&str>) -> Self {
        let run = RandomState::new().hash_one(process::id());
        let host = read_line("/proc/sys/kernel/hostname");
        let host = host.or_else(|| host_name.map(str::to_owned));
        Self {
            run: format!("{run:016x}"),
            host: host.unwrap_or_else(|| "an unknown machine".to_owned()),
            pid: process::id(),
            machine: machine_id().unwrap_or_default(),
            heartbeat: 0,
        }
    }

    /// Returns the content of the lock object.
    pub(super) fn encode(&self) -> Bytes {
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    /// Parses the content of a lock object.
    pub(super) fn parse(content: &[u8]) -> Option<Self> {
        serde_json::from_slice(content).ok()
    }

    /// Returns whether the owner is a process of the machine of `this_process` that has ended.
    pub(super) fn has_ended(&self, this_process: &Self) -> bool {
        let is_local = !self.machine.is_empty() && self.machine == this_process.machine;
        let process = format!("/proc/{}", self.pid);
        is_local && (self.pid == this_process.pid || !Path::new(&process).exists())
    }

    /// Returns a description of the owner for users.
    pub(super) fn describe(&self) -> String {
        format!("process {} of {}", self.pid, self.host)
    }
}

/// Returns an identifier of the last start of this machine and of the namespace of its process
/// IDs (proc(5), `random/boot_id`; pid_namespaces(7)).
fn machine_id() -> Option<String> {
    let boot = read_line("/proc/sys/kernel/random/boot_id")?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{boot} {}", namespace.display()))
}

fn read_line(path: &str) -> Option<String> {
    let line = fs::read_to_string(path).ok()?;
    Some(line.trim().to_owned()).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_ended_is_known_for_processes_of_the_same_machine() {
        let owner = LockOwner { machine: "m".to_owned(), ..LockOwner::new(None) };
        let with = |pid, machine: &str| LockOwner {
            pid,
            machine: machine.to_owned(),
            run: "other".to_owned(),
            ..owner.clone()
        };
        // Another process had the ID of this one before.
        assert!(with(owner.pid, "m").has_ended(&owner));
        assert!(with(u32::MAX, "m").has_ended(&owner));
        assert!(!with(u32::MAX, "n").has_ended(&owner));
        let unknown = LockOwner { machine: String::new(), ..owner.clone() };
        assert!(!with(u32::MAX, "").has_ended(&unknown));
        #[cfg(target_os = "linux")]
        assert!(!with(std::os::unix::process::parent_id(), "m").has_ended(&owner));
    }

    #[test]
    fn parse_reads_what_encode_writes() {
        let owner = LockOwner::new(Some("a machine"));
        assert_eq!(LockOwner::parse(&owner.encode()), Some(owner));
        assert_eq!(LockOwner::parse(b"{}"), None);
    }
}
