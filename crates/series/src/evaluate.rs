//! Computes the values of a checked expression.

use std::sync::Arc;

use crate::{
    error::{ExpressionError, Result},
    fields::FieldValues,
    functions::Table,
    plan::Plan,
    values::Values,
};

/// Computes the values of `plan`.
pub(crate) fn evaluate(plan: &Plan, fields: &[FieldValues]) -> Result<Values> {
    match plan {
        Plan::Number(number) => Ok(Values::constant(*number)),
        Plan::Field(index) => {
            let field = fields.get(*index);
            let values = field.map(|field| Values {
                times: Some(field.times.clone()),
                columns: field.columns.clone(),
            });
            values.ok_or_else(|| ExpressionError::new("a field is missing", 0..0))
        }
        Plan::Select { input, columns } => {
            let Values { times, columns: vector_columns } = evaluate(input, fields)?;
            let selected =
                columns.iter().filter_map(|index| vector_columns.get(*index).cloned());
            Ok(Values { times, columns: selected.collect() })
        }
        Plan::Map { compute, inputs, width } => {
            let inputs = align_inputs(inputs, fields)?;
            let component = |component: usize| {
                let input_column = |input: &Values| {
                    // A single value is combined with each component of a vector.
                    let column = input.columns.get(component).or(input.columns.first());
                    column.cloned().unwrap_or_default()
                };
                let columns: Vec<Arc<[f64]>> =
                    inputs.values.iter().map(input_column).collect();
                let mut row = vec![f64::NAN; columns.len()];
                let value = |index: usize| {
                    for (slot, column) in row.iter_mut().zip(&columns) {
                        *slot = column.get(index).copied().unwrap_or(f64::NAN);
                    }
                    compute(&row)
                };
                (0..inputs.rows).map(value).collect()
            };
            Ok(Values {
                columns: (0..*width).map(component).collect(),
                times: inputs.times,
            })
        }
        Plan::Column { compute, input, numbers, span } => {
            let Values { times, columns } = evaluate(input, fields)?;
            let clock = times.as_deref().unwrap_or_default();
            let computed = columns.iter().map(|column| {
                let values = compute(clock, column, numbers);
                values.map(Into::into).map_err(|message| error_at(message, span))
            });
            let columns = computed.collect::<Result<_>>()?;
            Ok(Values { times, columns })
        }
        Plan::Row { compute, inputs, width } => {
            let AlignedInputs { times, rows, values } = align_inputs(inputs, fields)?;
            let columns: Vec<Arc<[f64]>> =
                values.into_iter().flat_map(|values| values.columns).collect();
            let mut outputs = vec![Vec::with_capacity(rows); *width];
            let (mut row, mut results) =
                (vec![f64::NAN; columns.len()], vec![f64::NAN; *width]);
            for index in 0..rows {
                for (slot, column) in row.iter_mut().zip(&columns) {
                    *slot = column.get(index).copied().unwrap_or(f64::NAN);
                }
                results.fill(f64::NAN);
                compute(&row, &mut results);
                for (output, result) in outputs.iter_mut().zip(&results) {
                    output.push(*result);
                }
            }
            Ok(Values { times, columns: outputs.into_iter().map(Into::into).collect() })
        }
        Plan::Table { compute, inputs, numbers, span } => {
            let AlignedInputs { times, values, .. } = align_inputs(inputs, fields)?;
            let columns =
                values.into_iter().flat_map(|values| values.columns).collect();
            let clock = times.as_deref().unwrap_or_default();
            let table = Table { times: clock, columns, numbers };
            let computed =
                compute(&table).map_err(|message| error_at(message, span))?;
            Ok(Values {
                columns: computed.into_iter().map(Into::into).collect(),
                times,
            })
        }
        Plan::Times { compute, inputs, numbers, span } => {
            let inputs = inputs.iter().map(|input| evaluate(input, fields));
            let inputs = inputs.collect::<Result<Vec<Values>>>()?;
            compute(&inputs, numbers).map_err(|message| error_at(message, span))
        }
    }
}

fn error_at(message: String, span: &std::ops::Range<usize>) -> ExpressionError {
    ExpressionError::new(message, span.clone())
}

/// The values of several inputs, at the times of the first input that has times.
struct AlignedInputs {
    times: Option<Arc<[i64]>>,
    /// The number of times; 1 if there are only constants.
    rows: usize,
    values: Vec<Values>,
}

/// Evaluates `inputs`, and returns their values at the same times.
fn align_inputs(inputs: &[Plan], fields: &[FieldValues]) -> Result<AlignedInputs> {
    let values = inputs.iter().map(|input| evaluate(input, fields));
    let values = values.collect::<Result<Vec<Values>>>()?;
    let times = values.iter().find_map(|values| values.times.clone());
    let Some(clock) = &times else {
        return Ok(AlignedInputs { times, rows: 1, values });
    };
    let rows = clock.len();
    let values = values.iter().map(|values| values.held_at(clock)).collect();
    Ok(AlignedInputs { times, rows, values })
}
