//! The connection of a session to object stores and web servers.

use std::time::Duration;

#[cfg(feature = "remote")]
use {
    crate::error::{Context as _, Result},
    logtool_remote::{Client, Limits},
    std::sync::{Arc, OnceLock},
};

/// A connection to object stores and web servers, which is established at its first use.
#[cfg(feature = "remote")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    timeout: Option<Duration>,
    min_bytes_per_second: Option<u32>,
    client: Arc<OnceLock<Client>>,
}

#[cfg(feature = "remote")]
impl Connection {
    /// Returns a connection to servers that may take up to `timeout` to answer.
    pub(super) fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), client: Arc::default(), ..self }
    }

    /// Returns a connection to servers that send at least `bytes` per second.
    pub(super) fn with_min_rate(self, bytes: u32) -> Self {
        Self { min_bytes_per_second: Some(bytes), client: Arc::default(), ..self }
    }

    /// Returns the client, and creates it at the first call.
    pub(crate) fn client(&self) -> Result<&Client> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let mut limits = Limits::default();
        limits.timeout = self.timeout.unwrap_or(limits.timeout);
        limits.min_bytes_per_second =
            self.min_bytes_per_second.unwrap_or(limits.min_bytes_per_second);
        let client =
            Client::new(limits).context("cannot start threads for the network")?;
        Ok(self.client.get_or_init(|| client))
    }
}

/// The connection in builds without the feature `remote`, which has no client.
#[cfg(not(feature = "remote"))]
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection;

#[cfg(not(feature = "remote"))]
impl Connection {
    /// Ignores the timeout, because there are no servers.
    pub(super) fn with_timeout(self, _: Duration) -> Self {
        self
    }

    /// Ignores the rate, because there are no servers.
    pub(super) fn with_min_rate(self, _: u32) -> Self {
        self
    }
}
