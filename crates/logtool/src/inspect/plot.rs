//! Plots: fields and expressions over time, as SVG, PNG, or series.

mod axis;
mod axis_limits;
mod drawing;
mod panels;
mod vtol_states;
mod xy;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use logtool_core::Provenance;
use logtool_velodyne::lidar::LidarOptions;

use crate::{
    error::{Context as _, Result},
    jobs::output::provenance,
    records::log::Log,
    source::{
        input::open,
        lidar::{self, LidarWarnings},
        losses::{Findings, Strictness},
        session::Session,
    },
    time::{clock::TimeChoice, typed_time::TypedTime},
};

pub(crate) use self::axis::{
    first_and_last, flight_mode_bands, outlier_note, time_axis,
};
pub use self::axis_limits::AxisLimits;
pub(crate) use self::vtol_states::vtol_states;
pub use logtool_plot::{
    Band, Chart, DISTINCT_LINES, Level, Line, Mark, Panel, RenderedPdf, RenderedPng,
    RightAxis, Signal, TimeAxis, XyAxis, XyLine, XyPanel,
};

/// A request to plot fields and expressions over time, or against each other. Those over time
/// that are not given a panel share one with others of the same unit.
///
/// ```no_run
/// use logtool::{Session, plot::PlotRequest};
///
/// let request = PlotRequest::new("flight.ulg", ["battery_status.voltage_v"]);
/// let plot = request.run(&Session::new())?;
/// for line in plot.chart.panels.iter().flat_map(|panel| &panel.lines) {
///     println!("{}: {} values", line.name, line.signal.values);
/// }
/// std::fs::write("battery.svg", plot.svg()?)?;
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct PlotRequest {
    path: PathBuf,
    fields: Vec<String>,
    panels: Vec<Vec<String>>,
    xy: Vec<(String, Vec<String>)>,
    title: String,
    limits: Vec<AxisLimits>,
    start: Option<TypedTime>,
    end: Option<TypedTime>,
    clock: TimeChoice,
    size: Option<(u32, u32)>,
    scale: u8,
    has_flight_modes: bool,
    has_marks: bool,
    lidar: LidarOptions,
    strictness: Strictness,
}

/// The result of a [`PlotRequest`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plot {
    /// The name of the log.
    pub log: String,
    /// The panels with their lines, and the flight modes and marks behind them. Each line has at
    /// most two values for each column of pixels: the lowest and the highest.
    pub chart: Chart,
    /// A sentence about values that are left out because their times are far from all others.
    pub outliers: Option<String>,
    /// Sentences about topics of which only the valid records are plotted.
    pub partial_topics: Vec<String>,
    /// Warnings about the lidars whose points are plotted.
    pub lidar_warnings: LidarWarnings,
    /// The losses and the damage of the plotted topics.
    pub losses: Findings,
    /// The JSON text that states from which file the plot was made, and by which command.
    provenance: String,
    scale: u8,
}

impl PlotRequest {
    /// Creates a request for `fields` of the log at `path`: a path, a URL, or `-` for standard
    /// input. A field is a topic and a column, for example `sensor_gps.1.lat`. A prefix of
    /// columns selects all of them, `*` and `?` match anything, and of a list each element is
    /// plotted. Anything else is an expression, as `deg(yaw(vehicle_attitude.q))`; see
    /// [`series`](crate::records::series).
    pub fn new(
        path: impl AsRef<Path>,
        fields: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            fields: fields.into_iter().map(Into::into).collect(),
            panels: Vec::new(),
            xy: Vec::new(),
            title: String::new(),
            limits: Vec::new(),
            start: None,
            end: None,
            clock: TimeChoice::Relative,
            size: None,
            scale: 1,
            has_flight_modes: true,
            has_marks: true,
            lidar: LidarOptions::default(),
            strictness: Strictness::default(),
        }
    }

    /// Adds a panel with `fields`, which are fields or expressions, below those of
    /// [`new`](Self::new). If they have two units, those of the second one have an axis on the
    /// right.
    pub fn with_panel(
        mut self,
        fields: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.panels.push(fields.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a plot of the expressions `y` against the expression `x` below those over time.
    /// Positions have the times of `x`, and `y` keeps its last value. If both have the same unit,
    /// both axes have the same scale.
    pub fn with_xy(
        mut self,
        x: impl Into<String>,
        y: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.xy.push((x.into(), y.into_iter().map(Into::into).collect()));
        self
    }

    /// Sets the title above the plots. The default has none.
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the limits of the value axes in their order: those of each panel, the left one
    /// first, and then x and y of each plot of values against others. Axes without limits show
    /// all values.
    pub fn with_limits(mut self, limits: impl IntoIterator<Item = AxisLimits>) -> Self {
        self.limits = limits.into_iter().collect();
        self
    }

    /// Leaves out records before `start`.
    pub fn with_start(mut self, start: TypedTime) -> Self {
        self.start = Some(start);
        self
    }

    /// Leaves out records at `end` or later.
    pub fn with_end(mut self, end: TypedTime) -> Self {
        self.end = Some(end);
        self
    }

    /// Sets the clock of the start, the end and the time axis. The default counts from the
    /// start of the log.
    pub fn with_clock(mut self, clock: TimeChoice) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the width and the height in pixels. The default is 1000 pixels wide, and as high
    /// as the panels need.
    pub fn with_size(mut self, width: u32, height: u32) -> Self {
        self.size = Some((width, height));
        self
    }

    /// Sets the number of dots per pixel of a PNG. The default is 1.
    pub fn with_scale(mut self, scale: u8) -> Self {
        self.scale = scale;
        self
    }

    /// Leaves out the flight modes and the states of VTOL vehicles behind the lines.
    pub fn without_flight_modes(mut self) -> Self {
        self.has_flight_modes = false;
        self
    }

    /// Leaves out the marks at damage, dropouts and parameter changes.
    pub fn without_marks(mut self) -> Self {
        self.has_marks = false;
        self
    }

    /// Sets how lidars are read. The default detects their models and calibrations.
    pub fn with_lidar(mut self, lidar: LidarOptions) -> Self {
        self.lidar = lidar;
        self
    }

    /// Sets whether damage is an error. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Reads the fields and creates the plot.
    ///
    /// # Errors
    /// `NotFound` if the log has no such field; `InvalidRequest` if an expression, the units of a
    /// panel, or the limits are wrong; `EmptySelection` if there is nothing to plot at the selected
    /// times; `Damaged` if something is lost in a strict request; others if the input cannot be
    /// read or is not a log.
    pub fn run(&self, session: &Session) -> Result<Plot> {
        let log = Log::from_opened(open::open_with(&self.path, session, &self.lidar)?);
        self.run_on(&log, session)
    }

    /// Like [`run`](Self::run), for a log that is open already. The path of the request is
    /// not used.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_on(&self, log: &Log, session: &Session) -> Result<Plot> {
        let mut losses = log.losses();
        losses.check(self.strictness)?;
        let (manifest, name) = (log.manifest(), log.name());
        let drawn =
            drawing::draw(self, log, session).with_context(|| name.to_owned())?;
        losses.add(manifest, &drawn.topics, &drawn.damage);
        losses.check(self.strictness)?;
        Ok(Plot {
            log: name.to_owned(),
            chart: drawn.chart,
            outliers: drawn.outliers,
            partial_topics: lidar::dropped_records(manifest, &drawn.topics),
            lidar_warnings: lidar::warnings(manifest, &drawn.topics),
            losses,
            provenance: provenance::collect([log.input()], session)?.json(),
            scale: self.scale,
        })
    }
}

impl Plot {
    /// Returns the lines over time of all panels.
    pub fn lines(&self) -> impl Iterator<Item = &Line> + Clone {
        self.chart.panels.iter().flat_map(Panel::all_lines)
    }

    /// Returns the plot as SVG. Its metadata states the provenance.
    ///
    /// # Errors
    /// If the chart cannot be drawn.
    pub fn svg(&self) -> Result<String> {
        Ok(logtool_plot::with_metadata(&self.chart.svg()?, &self.provenance))
    }

    /// Returns the plot as PNG, with the scale of the request, and the characters that no font
    /// of the system has. Its metadata states the provenance.
    ///
    /// # Errors
    /// If the chart cannot be drawn.
    pub fn png(&self) -> Result<RenderedPng> {
        let key = format!("logtool.{}", Provenance::NAME);
        let metadata = BTreeMap::from([(key, self.provenance.clone())]);
        let mut painted = logtool_plot::png(&self.chart.svg()?, f32::from(self.scale))?;
        painted.png = logtool_plot::with_texts(painted.png, &metadata);
        Ok(painted)
    }

    /// Returns the plot as PDF, and the characters that no font of the system has. An inch has
    /// 96 pixels. Its metadata states the provenance.
    ///
    /// # Errors
    /// If the chart cannot be drawn, or is larger than a page can be: 19,200 pixels.
    pub fn pdf(&self) -> Result<RenderedPdf> {
        let key = format!("logtool.{}", Provenance::NAME);
        let mut metadata = BTreeMap::from([(key, self.provenance.clone())]);
        if !self.chart.title.is_empty() {
            metadata.insert("Title".to_owned(), self.chart.title.clone());
        }
        Ok(logtool_plot::pdf(&self.chart.svg()?, &metadata)?)
    }
}
