//! Plots of values against other values.

use std::collections::BTreeMap;

use logtool_core::Log;
use logtool_plot::{XyAxis, XyLine, XyPanel};
use logtool_series::{Series, SeriesComponent};

use crate::{
    error::{Error, Result},
    inspect::value_names,
    records::{
        labels,
        series::{self, ComputedSeries, PreparedSeries},
        signals,
    },
};

/// The expressions of a plot.
pub(super) struct PreparedXy {
    /// That of x, and those of y.
    pub(super) expressions: Vec<PreparedSeries>,
    /// The names of the values of x, and of y, if they are fields with states.
    value_names: [BTreeMap<i64, String>; 2],
}

impl PreparedXy {
    /// Finds the fields of the expressions `x` and `y` in `log`.
    ///
    /// # Errors
    /// `InvalidRequest` if an expression is wrong, `NotFound` if a field does not exist.
    pub(super) fn new(log: &dyn Log, x: &str, y: &[String]) -> Result<Self> {
        if y.is_empty() {
            return Err(Error::invalid_request(
                "a plot of values against others needs x and y",
            ));
        }
        let texts = std::iter::once(x).chain(y.iter().map(String::as_str));
        let expressions = texts.map(|text| PreparedSeries::new(log, text));
        let expressions = expressions.collect::<Result<_>>()?;
        let labels = labels::from_manifest(log.manifest()).unwrap_or_default();
        let names = |text: &str| match signals::find(log, &[text.to_owned()]).as_deref()
        {
            Ok([signal]) => value_names::of(&labels, log.manifest(), signal),
            _ => BTreeMap::new(),
        };
        let mut of_y: Vec<_> = y.iter().map(|text| names(text)).collect();
        // Different states have no common axis.
        of_y.dedup();
        let of_y = if of_y.len() == 1 { of_y.pop() } else { None };
        Ok(Self { expressions, value_names: [names(x), of_y.unwrap_or_default()] })
    }

    /// Returns the panel of the `computed` expressions.
    ///
    /// # Errors
    /// `InvalidRequest` if x is a vector, or the values of y have several units.
    pub(super) fn panel(&self, computed: &[ComputedSeries]) -> Result<XyPanel> {
        let mut series =
            self.expressions.iter().map(PreparedSeries::text).zip(computed);
        let [x_names, y_names] = &self.value_names;
        let Some((x_text, x)) = series.next() else { return Ok(XyPanel::default()) };
        let [x_values] = &*x.series.components else {
            let message =
                format!("x must be a single value, and `{x_text}` is a vector");
            return Err(Error::invalid_request(message));
        };
        let x_axis = axis(x_text, x_values, x_names);
        let mut panel = XyPanel { x: x_axis, ..XyPanel::default() };
        let mut is_first = true;
        for (text, y) in series {
            for component in &y.series.components {
                let name = series::component_name(text, &component.name);
                if std::mem::take(&mut is_first) {
                    panel.y = axis(&name, component, y_names);
                } else if panel.y.unit != component.unit {
                    let message = format!(
                        "y has values in `{}` and in `{}`",
                        panel.y.unit, component.unit
                    );
                    let hint = "plot them against x in several plots";
                    return Err(Error::invalid_request(message).with_hint(hint));
                } else {
                    // The legend names the lines.
                    panel.y.name = "y".to_owned();
                }
                panel.lines.push(line(
                    name,
                    (&x.series, x_values),
                    (&y.series, component),
                ));
            }
        }
        Ok(panel)
    }
}

fn axis(
    name: &str,
    values: &SeriesComponent,
    value_names: &BTreeMap<i64, String>,
) -> XyAxis {
    let (name, value_names) = (name.to_owned(), value_names.clone());
    XyAxis { name, unit: values.unit.clone(), limits: None, value_names }
}

/// Returns the line through the values of x and the last values of y at the same times.
fn line(
    name: String,
    (x, x_values): (&Series, &SeriesComponent),
    (y, y_values): (&Series, &SeriesComponent),
) -> XyLine {
    let x = x.times.iter().zip(&*x_values.values);
    // The number of values of y up to the time of the previous x.
    let points = x.scan(0, |until, (time, x)| {
        while y.times.get(*until).is_some_and(|next| next <= time) {
            *until += 1;
        }
        let held = until.checked_sub(1).and_then(|last| y_values.values.get(last));
        Some((*x, held.copied().unwrap_or(f64::NAN)))
    });
    XyLine::new(name, points)
}
