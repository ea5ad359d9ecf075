//! Plots.

use pyo3::{prelude::*, types::PyBytes};

use crate::{damage::Damage, error::to_python};

/// A plot of fields over time. Notebooks show it.
#[pyclass(frozen, module = "logtool")]
pub(crate) struct Plot {
    plot: logtool::plot::Plot,
    svg: String,
}

impl Plot {
    pub(crate) fn new(py: Python<'_>, plot: logtool::plot::Plot) -> PyResult<Self> {
        let svg = py.detach(|| plot.svg());
        let svg = svg.map_err(|err| to_python(py, &err, Some(&plot.log)))?;
        Ok(Self { plot, svg })
    }
}

#[pymethods]
impl Plot {
    /// The plot as SVG.
    #[getter]
    fn svg(&self) -> &str {
        &self.svg
    }

    /// The names of the lines.
    #[getter]
    fn lines(&self) -> Vec<&str> {
        let xy = self.plot.chart.xy.iter().flat_map(|panel| &panel.lines);
        let xy = xy.map(|line| line.name.as_str());
        self.plot.lines().map(|line| line.name.as_str()).chain(xy).collect()
    }

    /// The damage of the plotted topics.
    #[getter]
    fn damage(&self) -> Vec<Damage> {
        let mut losses = self.plot.losses.clone();
        losses.sorted_findings().iter().map(Damage::from_finding).collect()
    }

    /// Returns the plot as PNG.
    fn png<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let painted = py.detach(|| self.plot.png());
        let painted =
            painted.map_err(|err| to_python(py, &err, Some(&self.plot.log)))?;
        Ok(PyBytes::new(py, &painted.png))
    }

    /// Returns the plot as PDF.
    fn pdf<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let rendered = py.detach(|| self.plot.pdf());
        let rendered =
            rendered.map_err(|err| to_python(py, &err, Some(&self.plot.log)))?;
        Ok(PyBytes::new(py, &rendered.pdf))
    }

    fn _repr_svg_(&self) -> &str {
        &self.svg
    }

    fn __repr__(&self) -> String {
        format!("<logtool.Plot of {}>", self.lines().join(", "))
    }
}
