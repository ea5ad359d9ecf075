//! Series that are computed from fields by expressions, e.g. `deg(yaw(vehicle_attitude.q))`.
//!
//! `logtool help expressions` describes the language, and [`logtool_series`] implements it.

mod derived_table;
mod prepared_series;

use logtool_core::{Damage, TimeRange};
use logtool_series::Series;

use crate::{
    error::{Context as _, Result},
    records::log::Log,
    source::{progress_counter::ProgressCounter, session::Session},
};

pub use self::derived_table::{Derivation, DerivedTables, patterns_of_topics};
#[cfg(feature = "plot")]
pub(crate) use self::prepared_series::{ComputedSeries, component_name, is_expression};
pub(crate) use self::prepared_series::{PreparedSeries, read};
pub use logtool_series as language;

/// The values of an expression.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DerivedSeries {
    /// The times in nanoseconds on the clock of the log, and the values.
    pub series: Series,
    /// The damage that was found while the fields were read.
    pub damage: Vec<Damage>,
}

impl Log {
    /// Computes the series of `expression` from the records within `time`. A field with another
    /// rate than the first one keeps its last value.
    ///
    /// # Errors
    /// `InvalidRequest` if the expression is wrong, with the [place](crate::Error::excerpt);
    /// `NotFound` if the log does not have a field; others if the log cannot be read.
    ///
    /// # Example
    /// ```no_run
    /// use logtool::Session;
    /// use logtool_core::TimeRange;
    ///
    /// let log = logtool::open("flight.ulg")?;
    /// let expression = "deg(yaw(vehicle_attitude.q))";
    /// let yaw = log.series(expression, TimeRange::ALL, &Session::new())?.series;
    /// for (time, degrees) in yaw.times.iter().zip(&*yaw.components[0].values) {
    ///     println!("{time} {degrees}");
    /// }
    /// # Ok::<(), logtool::Error>(())
    /// ```
    pub fn series(
        &self,
        expression: &str,
        time: TimeRange,
        session: &Session,
    ) -> Result<DerivedSeries> {
        let compute = || {
            let log = self.format_log();
            let prepared = PreparedSeries::new(log, expression)?;
            let bytes = self.manifest().bytes;
            let progress = ProgressCounter::for_bytes(session, self.name(), bytes);
            let add = |bytes| progress.add(bytes);
            let mut read = read(log, std::slice::from_ref(&prepared), time, &add)?;
            let series = read.series.pop().context("the expression has no series")?;
            Ok(DerivedSeries { series: series.series, damage: read.damage })
        };
        let computed: Result<DerivedSeries> = compute();
        computed.map_err(|err| err.with_log_name(self.name()))
    }
}
