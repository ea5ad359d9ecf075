//! Descriptions of logs, as data and as pages.

#[cfg(feature = "flight")]
pub mod flight;
pub mod info;
pub mod log_messages;
#[cfg(feature = "plot")]
mod marks;
pub mod parameters;
#[cfg(feature = "plot")]
pub mod plot;
#[cfg(feature = "plot")]
pub mod report;
pub mod schema;
#[cfg(feature = "plot")]
mod value_names;
