//! Times in the form of bags.

use logtool_core::{Error, ErrorKind, Result, Timestamp};

/// A time as seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RosTime {
    secs: u32,
    nanos: u32,
}

const NANOS_PER_SECOND: i64 = 1_000_000_000;

impl RosTime {
    /// Converts `time`.
    ///
    /// # Errors
    /// `Limit` if it is before 1970, or in 2106 or later.
    pub(crate) fn new(time: Timestamp) -> Result<Self> {
        let nanos = time.as_nanos();
        let range_error = |_| {
            let message = format!(
                "the time {nanos} ns does not fit into a bag, whose times range from 0 to \
                 4294967295.999999999 s"
            );
            Error::new(ErrorKind::Limit, message)
        };
        let secs =
            u32::try_from(nanos.div_euclid(NANOS_PER_SECOND)).map_err(range_error)?;
        Ok(Self { secs, nanos: nanos.rem_euclid(NANOS_PER_SECOND) as u32 })
    }

    /// Converts the time to a timestamp.
    pub(crate) fn time(self) -> Timestamp {
        Timestamp::from_nanos(
            i64::from(self.secs) * NANOS_PER_SECOND + i64::from(self.nanos),
        )
    }

    /// Encodes the time.
    pub(crate) fn to_bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        let (secs, nanos) = bytes.split_at_mut(4);
        secs.copy_from_slice(&self.secs.to_le_bytes());
        nanos.copy_from_slice(&self.nanos.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_names_a_time_out_of_range() {
        let bytes = |nanos| {
            RosTime::new(Timestamp::from_nanos(nanos)).map(|stamp| stamp.to_bytes())
        };
        assert_eq!(bytes(1_000_000_005).unwrap(), [1, 0, 0, 0, 5, 0, 0, 0]);
        let last = u64::from_le_bytes(bytes(4_294_967_295_999_999_999).unwrap());
        assert_eq!(last, 999_999_999 << 32 | 0xffff_ffff);
        for nanos in [-1, i64::MIN, 4_294_967_296_000_000_000, i64::MAX] {
            let err = bytes(nanos).unwrap_err();
            assert_eq!(err.kind(), ErrorKind::Limit);
            assert!(err.to_string().contains(&nanos.to_string()), "{err}");
        }
    }
}
