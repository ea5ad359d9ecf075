//! Draws the data of logs: signals over time, scans seen from above, and pages with both.
//!
//! This crate does not read logs; its input are numbers with times. Plots are drawn as SVG with
//! `plotters`. PNG images are rendered from SVG with a built-in font, so that they look the same on
//! every machine, except for characters that the font does not contain.
//!
//! ```
//! use logtool_plot::{Chart, Line, Panel, Sampler};
//!
//! let mut sampler = Sampler::new(0, 1_000_000_000, 800);
//! (0..1000).for_each(|n| sampler.add(n * 1_000_000, (n as f64 / 50.0).sin()));
//! let signal = sampler.signal();
//! let lines = vec![Line { name: "sine".into(), signal, ..Line::default() }];
//! let panels = vec![Panel { unit: "m".into(), lines, ..Panel::default() }];
//! let svg = Chart { panels, size: (900, 300), ..Chart::default() }.svg()?;
//! assert!(svg.starts_with("<svg") && svg.contains("sine"));
//! # Ok::<(), logtool_core::Error>(())
//! ```

// In order of dependency: each module uses only those above it.
mod escape;
mod palette;
mod ticks;

mod sample;
mod simplify;

mod chunk;
mod font;
mod paint;
mod pdf;

mod chart;
mod curves;
mod draw;
mod heat_map;

mod top_view;
mod track;

mod metadata;

mod page;

pub use crate::{
    chart::{
        Band, Chart, Level, Line, Mark, Panel, PanelStyle, RightAxis, TimeAxis, XyAxis,
        XyLine, XyPanel,
    },
    curves::{Curve, CurveMark, CurvePlot},
    heat_map::HeatMap,
    metadata::{with_metadata, with_texts},
    page::{Block, Page, PlotLink, Section, TableRow},
    paint::{RenderedPng, png},
    palette::{DISTINCT_LINES, LINES, Rgb, line, viridis},
    pdf::{RenderedPdf, pdf},
    sample::{Sampler, Signal},
    top_view::{TopView, TopViewOptions},
    track::{Track, TrackBuilder, TrackMap},
};

/// Compiles the example in the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
