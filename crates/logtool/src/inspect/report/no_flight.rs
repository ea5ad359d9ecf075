//! Replaces the analysis of flights in builds without this feature.

use logtool_core::{Damage, Log};
use logtool_plot::TimeAxis;

use crate::{
    error::Result,
    inspect::report::{FlightBlocks, plots::PlotContext},
};

/// The absent analysis.
pub(super) struct FlightReport;

impl FlightReport {
    /// Reads nothing.
    pub(super) fn new(_: &dyn Log, _: bool) -> Result<Self> {
        Ok(Self)
    }

    /// Returns no damage.
    pub(super) fn damage(&self) -> &[Damage] {
        &[]
    }

    /// Returns no blocks.
    pub(super) fn blocks(&self, _: &TimeAxis, _: &PlotContext<'_>) -> FlightBlocks {
        FlightBlocks::default()
    }
}
