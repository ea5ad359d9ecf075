//! Curves over a quantity other than time, e.g. amplitudes over frequency.

/// A plot of curves at equidistant positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurvePlot {
    /// The label of the horizontal axis, e.g. `frequency (Hz)`.
    pub name: String,
    /// The position of the first value of each curve.
    pub first: f64,
    /// The distance between the positions of neighbouring values.
    pub step: f64,
    /// The unit of the values.
    pub unit: String,
    /// The lowest and the highest value of the vertical axis, or `None` to derive them from the
    /// values. Values outside are not visible.
    pub limits: Option<(f64, f64)>,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Vertical lines with names.
    pub marks: Vec<CurveMark>,
}

/// A curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    /// The values. Values that are not finite are gaps.
    pub values: Vec<f64>,
}

/// A vertical line with a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurveMark {
    /// The name.
    pub name: String,
    /// The position on the horizontal axis.
    pub position: f64,
}
