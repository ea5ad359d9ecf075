//! Who has a lock: what is written in it.

use std::{
    env, fs,
    hash::{BuildHasher as _, RandomState},
    path::Path,
    process,
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// A run of this program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    /// What tells it from all others.
    run: String,
    /// The machine, as people know it.
    host: String,
    pid: u32,
    /// What tells the machine since it was started, and the numbers of processes that are
    /// seen there, from others; empty if that is not known.
    #[serde(default)]
    machine: String,
    /// Counts, so that whoever looks sees that it is there still.
    pub(super) beat: u64,
}

impl Holder {
    /// This run.
    pub(super) fn this() -> Self {
        let run = RandomState::new().hash_one(process::id());
        let host = read("/proc/sys/kernel/hostname");
        let host = host.or_else(|| env::var("HOSTNAME").ok());
        let host = host.or_else(|| env::var("COMPUTERNAME").ok());
        Self {
            run: format!("{run:016x}"),
            host: host.unwrap_or_else(|| "an unknown machine".to_owned()),
            pid: process::id(),
            machine: machine().unwrap_or_default(),
            beat: 0,
        }
    }

    /// As it is written.
    pub(super) fn text(&self) -> Bytes {
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    /// What was written.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// Whether it is a process of this machine that has ended, as `this` can see.
    pub(super) fn is_gone(&self, this: &Self) -> bool {
        let is_here = !self.machine.is_empty() && self.machine == this.machine;
        let process = format!("/proc/{}", self.pid);
        is_here && (self.pid == this.pid || !Path::new(&process).exists())
    }

    /// Who that is, for people.
    pub(super) fn shown(&self) -> String {
        format!("process {} of {}", self.pid, self.host)
    }
}

/// The start of this machine, and the space of its processes (proc(5), `random/boot_id`;
/// pid_namespaces(7)).
fn machine() -> Option<String> {
    let boot = read("/proc/sys/kernel/random/boot_id")?;
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{boot} {}", space.display()))
}

fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_this_machine_it_is_known_which_processes_have_ended() {
        let this = Holder { machine: "m".to_owned(), ..Holder::this() };
        let with = |pid, machine: &str| Holder {
            pid,
            machine: machine.to_owned(),
            run: "other".to_owned(),
            ..this.clone()
        };
        // The number of this process: it had another one before.
        assert!(with(this.pid, "m").is_gone(&this));
        assert!(with(u32::MAX, "m").is_gone(&this));
        assert!(!with(u32::MAX, "n").is_gone(&this));
        let unknown = Holder { machine: String::new(), ..this.clone() };
        assert!(!with(u32::MAX, "").is_gone(&unknown));
        #[cfg(target_os = "linux")]
        assert!(!with(std::os::unix::process::parent_id(), "m").is_gone(&this));
    }

    #[test]
    fn what_is_written_is_read_and_what_is_none_is_not() {
        let this = Holder::this();
        assert_eq!(Holder::parse(&this.text()), Some(this));
        assert_eq!(Holder::parse(b"{}"), None);
    }
}
