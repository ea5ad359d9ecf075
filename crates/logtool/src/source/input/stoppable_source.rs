//! Bytes whose reading fails when a call should end.

use std::{io, ops::Range, sync::Arc};

use bytes::Bytes;
use logtool_core::Source;

use crate::source::session::Stop;

/// Returns the bytes of `source`; reading them fails when `stop` is set.
pub(super) fn stoppable(source: Arc<dyn Source>, stop: &Stop) -> Arc<dyn Source> {
    Arc::new(StoppableSource { source, stop: stop.clone() })
}

struct StoppableSource {
    source: Arc<dyn Source>,
    stop: Stop,
}

impl StoppableSource {
    fn check(&self) -> io::Result<()> {
        // Not `Interrupted`: readers would try again.
        if self.stop.is_set() {
            Err(io::Error::other("the call was ended"))
        } else {
            Ok(())
        }
    }
}

impl Source for StoppableSource {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.check()?;
        self.source.read_at(range)
    }

    fn peek(&self, range: Range<u64>) -> io::Result<Bytes> {
        self.check()?;
        self.source.peek(range)
    }

    fn will_peek(&self, range: Range<u64>) {
        self.source.will_peek(range);
    }

    fn release(&self, range: Range<u64>) {
        self.source.release(range);
    }
}
