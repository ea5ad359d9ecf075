//! The step response of a linear system, by least squares, and its standard deviation.

/// The duration of a response in seconds.
const RESPONSE_S: f64 = 0.5;
/// The number of lags before the step. They contain the part of the response that the smoothing of the signals moves there.
const EARLY_LAGS: usize = 2;
/// The weight of the squared differences of neighbouring values of the impulse response, relative to the
/// mean square of the input. It matters where the input has no fast changes, because the signals do not contain the
/// response to them.
const SMOOTHNESS: f64 = 1e-3;
/// The number of parts that the windows are divided into, each of which is left out once.
const PARTS: usize = 5;
/// The number of successive windows in one part. Windows overlap, and parts should hardly do.
const WINDOWS_TOGETHER: u32 = 2;
/// The minimum number of windows: two parts.
const MIN_WINDOWS: u32 = 2 * WINDOWS_TOGETHER;
/// Student's t for 68.27 % and two to five parts, because few parts hardly determine a deviation.
const STUDENT: [f64; PARTS - 1] = [1.837, 1.321, 1.197, 1.142];
/// The maximum root mean square of the standard deviations of a response.
const MAX_DEVIATION: f64 = 0.1;

/// Estimates a step response from windows of two signals, whose parts determine how certain it is.
pub(super) struct Identification {
    parts: Vec<NormalEquations>,
    windows: u32,
}

/// A step response, and the standard deviation of each of its values.
pub(super) struct Estimate {
    pub(super) response: Vec<f64>,
    pub(super) deviation: Vec<f64>,
}

/// The sums of the normal equations `inputs * response = outputs`.
#[derive(Clone)]
struct NormalEquations {
    /// The products of all pairs of delayed inputs, row by row. Only the half up to the diagonal is used.
    products: Vec<f64>,
    /// The products of the delayed inputs and the output.
    outputs: Vec<f64>,
}

/// Returns the number of values of a response with this step. The first value is at the time zero.
pub(super) fn response_length(step_s: f64) -> usize {
    (RESPONSE_S / step_s).round() as usize
}

/// Returns the number of samples before the outputs of a window, and behind them, that its inputs need.
pub(super) fn margins(length: usize) -> (usize, usize) {
    (length, EARLY_LAGS)
}

impl Identification {
    /// Creates the estimate of a response with `length` values, without windows.
    pub(super) fn new(length: usize) -> Self {
        Self { parts: vec![NormalEquations::new(length); PARTS], windows: 0 }
    }

    /// Adds a window, in the order of time: `output` has a value for each value of `input` but the
    /// [`margins`].
    pub(super) fn add(&mut self, input: &[f64], output: &[f64]) {
        let part = (self.windows / WINDOWS_TOGETHER) as usize % PARTS;
        if let Some(part) = self.parts.get_mut(part) {
            part.add(input, output);
        }
        self.windows += 1;
    }

    /// Returns the number of windows.
    pub(super) fn windows(&self) -> u32 {
        self.windows
    }

    /// Returns the response of all windows. `None` if they are too few, or if the responses without each
    /// of the parts differ so much that the response is not known (the jackknife of B. Efron, "The
    /// Jackknife, the Bootstrap and Other Resampling Plans", 1982).
    pub(super) fn estimate(&self) -> Option<Estimate> {
        if self.windows < MIN_WINDOWS {
            return None;
        }
        let response = NormalEquations::sum(&self.parts)?.step_response()?;
        let parts = self.windows.div_ceil(WINDOWS_TOGETHER) as usize;
        let used = self.parts.get(..parts.min(PARTS))?;
        let without = |part: usize| {
            let others = used.iter().enumerate().filter(|(other, _)| *other != part);
            NormalEquations::sum(others.map(|(_, own)| own))?.step_response()
        };
        let partial: Vec<Vec<f64>> =
            (0..used.len()).map(without).collect::<Option<_>>()?;
        let student = STUDENT.get(used.len().checked_sub(2)?)?;
        let count = used.len() as f64;
        let deviation_at = |index: usize| {
            let values = || partial.iter().filter_map(|values| values.get(index));
            let mean = values().sum::<f64>() / count;
            let squares: f64 = values().map(|value| (value - mean).powi(2)).sum();
            student * ((count - 1.0) / count * squares).sqrt()
        };
        let deviation: Vec<f64> = (0..response.len()).map(deviation_at).collect();
        let squares: f64 = deviation.iter().map(|value| value * value).sum();
        let root_mean_square = (squares / response.len() as f64).sqrt();
        (root_mean_square <= MAX_DEVIATION).then_some(Estimate { response, deviation })
    }
}

impl NormalEquations {
    /// Creates the equations of a response with `length` values, without signals.
    fn new(length: usize) -> Self {
        let lags = length + EARLY_LAGS;
        Self { products: vec![0.0; lags * lags], outputs: vec![0.0; lags] }
    }

    /// Adds a window. Only the deviations from their means are used, so that constant disturbances do
    /// not matter.
    fn add(&mut self, input: &[f64], output: &[f64]) {
        let (lags, count) = (self.outputs.len(), output.len());
        let centred = |values: &[f64]| -> Vec<f64> {
            let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
            values.iter().map(|value| value - mean).collect()
        };
        let output = centred(output);
        let delayed = |lag: usize| input.get(lags - lag..lags - lag + count);
        let inputs: Vec<Vec<f64>> =
            (0..lags).map(|lag| centred(delayed(lag).unwrap_or_default())).collect();
        let product =
            |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let rows = self.products.chunks_exact_mut(lags).zip(&mut self.outputs);
        for (lag, ((row, sum), own)) in rows.zip(&inputs).enumerate() {
            *sum += product(own, &output);
            for (sum, other) in row.iter_mut().zip(&inputs).take(lag + 1) {
                *sum += product(own, other);
            }
        }
    }

    /// Returns the equations of all windows of `parts`; `None` without parts.
    fn sum<'e>(parts: impl IntoIterator<Item = &'e Self>) -> Option<Self> {
        let add = |own: &mut [f64], others: &[f64]| {
            own.iter_mut().zip(others).for_each(|(own, other)| *own += other);
        };
        parts.into_iter().cloned().reduce(|mut sum, part| {
            add(&mut sum.products, &part.products);
            add(&mut sum.outputs, &part.outputs);
            sum
        })
    }

    /// Returns the response to a step from 0 to 1, the sum of the impulse response. `None` if the input
    /// never changed.
    fn step_response(&self) -> Option<Vec<f64>> {
        let impulse = self.impulse_response()?;
        let mut sum = 0.0;
        let values = impulse.iter().map(|value| {
            // Half of an impulse precedes its time.
            let at_its_time = sum + value / 2.0;
            sum += value;
            at_its_time
        });
        Some(values.skip(EARLY_LAGS).collect())
    }

    fn impulse_response(&self) -> Option<Vec<f64>> {
        let lags = self.outputs.len();
        let mut matrix = self.products.clone();
        let trace: f64 = matrix.iter().step_by(lags + 1).sum();
        let weight = SMOOTHNESS * trace / lags as f64;
        let mut add = |row: usize, column: usize, value: f64| {
            if let Some(entry) = matrix.get_mut(row * lags + column) {
                *entry += value;
            }
        };
        for lag in 1..lags {
            add(lag - 1, lag - 1, weight);
            add(lag, lag, weight);
            add(lag, lag - 1, -weight);
        }
        solve(matrix, self.outputs.clone())
    }
}

/// Solves `matrix * x = right` for a symmetric positive definite matrix by Cholesky's method. `matrix` has the
/// half up to the diagonal. Returns `None` if the matrix is not positive definite.
fn solve(mut matrix: Vec<f64>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let count = right.len();
    // This half becomes the factor, row by row.
    for row in 0..count {
        let (above, own) = matrix.split_at_mut(row * count);
        let own = own.get_mut(..count)?;
        for column in 0..row {
            let other = above.get(column * count..(column + 1) * count)?;
            let sum: f64 = own.iter().zip(other).take(column).map(|(a, b)| a * b).sum();
            let value = (own.get(column)? - sum) / other.get(column)?;
            *own.get_mut(column)? = value;
        }
        let squares: f64 = own.iter().take(row).map(|value| value * value).sum();
        let pivot = own.get(row)? - squares;
        if pivot.is_nan() || pivot <= 0.0 {
            return None;
        }
        *own.get_mut(row)? = pivot.sqrt();
        let sum: f64 = own.iter().zip(&right).take(row).map(|(a, b)| a * b).sum();
        *right.get_mut(row)? = (right.get(row)? - sum) / own.get(row)?;
    }
    for row in (0..count).rev() {
        let below = (row + 1..count)
            .map(|other| Some(matrix.get(other * count + row)? * right.get(other)?));
        let sum: f64 = below.sum::<Option<f64>>()?;
        *right.get_mut(row)? =
            (right.get(row)? - sum) / matrix.get(row * count + row)?;
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_solved() {
        // numpy.linalg.solve([[4, 1, 0.5], [1, 3, -1], [0.5, -1, 2]], [1, 2, 3])
        let matrix = vec![4.0, 1.0, 0.5, 1.0, 3.0, -1.0, 0.5, -1.0, 2.0];
        let found = solve(matrix, vec![1.0, 2.0, 3.0]).unwrap();
        let expected = [-0.461_538_46, 1.630_769_23, 2.430_769_23];
        assert!(
            found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-8),
            "{found:?}"
        );
        assert_eq!(solve(vec![0.0; 4], vec![1.0, 1.0]), None);
        assert_eq!(solve(vec![1.0, 2.0, 2.0, 1.0], vec![1.0, 1.0]), None);
    }
}
