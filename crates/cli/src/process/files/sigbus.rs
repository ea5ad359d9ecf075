//! Files that get shorter while they are mapped.
//!
//! A thread that reads a page of a map after the end of the file receives SIGBUS, which ends a
//! program immediately and leaves its temporary files. Here the program ends in order: the thread
//! that received the signal stops, and another thread reports the file, removes unfinished
//! outputs, and ends the program.

#![allow(unsafe_code)] // handling a signal needs it; each use states why it is sound

use std::{
    fs::File,
    io::{self, Read as _},
    os::{fd::IntoRawFd as _, raw::c_int, unix::net::UnixStream},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicI32, AtomicU64, Ordering},
    },
    thread,
};

use logtool::Error;

use crate::process::interrupt;

/// The socket that wakes the thread that waits for the signal; negative if there is none.
static WAKE_SOCKET: AtomicI32 = AtomicI32::new(-1);

/// The files that are mapped.
static MAPPED: Mutex<Vec<MappedFile>> = Mutex::new(Vec::new());

struct MappedFile {
    number: u64,
    name: String,
    file: Arc<File>,
    len: u64,
}

/// Registers a mapped file until it is dropped.
pub(super) struct Watch(u64);

impl Watch {
    /// Makes sure that the program ends in order if `file`, which is to be mapped, gets
    /// shorter. If that is not possible, it is an error, and the file should not be mapped.
    pub(super) fn new(name: &str, file: &Arc<File>) -> io::Result<Self> {
        static READY: OnceLock<bool> = OnceLock::new();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if !*READY.get_or_init(|| prepare().is_ok()) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (name, len) = (name.to_owned(), file.metadata()?.len());
        mapped_files().push(MappedFile { number, name, file: file.clone(), len });
        Ok(Self(number))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        mapped_files().retain(|file| file.number != self.0);
    }
}

fn mapped_files() -> MutexGuard<'static, Vec<MappedFile>> {
    MAPPED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn prepare() -> io::Result<()> {
    let (mut waiting, wake_socket) = UnixStream::pair()?;
    thread::Builder::new().name("files that get shorter".into()).spawn(move || {
        if waiting.read_exact(&mut [0]).is_ok() {
            interrupt::end(&Error::other(describe_cause()));
        }
    })?;
    WAKE_SOCKET.store(wake_socket.into_raw_fd(), Ordering::Release);
    // SAFETY: all zero is a valid `sigaction`: no flags, no signals blocked. The handler
    // has the signature that goes without SA_SIGINFO, and does nothing but calls that POSIX
    // allows in handlers (`write`, `pause`) and an atomic load. The handler that the
    // standard library has for SIGBUS only reports stack overflows, which are SIGSEGV on
    // Linux.
    let status = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle_sigbus as *const () as libc::sighandler_t;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut())
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Wakes the waiting thread, and stops this thread, which cannot continue.
extern "C" fn handle_sigbus(_signal: c_int) {
    let socket = WAKE_SOCKET.load(Ordering::Acquire);
    loop {
        // SAFETY: one byte of a constant is written to a descriptor that is never closed;
        // `pause` takes nothing.
        unsafe {
            libc::write(socket, [1_u8].as_ptr().cast(), 1);
            libc::pause();
        }
    }
}

fn describe_cause() -> String {
    let mapped = mapped_files();
    let is_shorter =
        |file: &&MappedFile| file.file.metadata().is_ok_and(|now| now.len() < file.len);
    match mapped.iter().find(is_shorter) {
        Some(file) => format!("{}: it got shorter while it was read", file.name),
        None => {
            let names: Vec<_> = mapped.iter().map(|file| file.name.as_str()).collect();
            format!(
                "{}: a part of it cannot be read from its device",
                names.join(" or ")
            )
        }
    }
}
