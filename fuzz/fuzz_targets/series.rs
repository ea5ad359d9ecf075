//! Any text as an expression, with fields of any values at any times.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use logtool_series::{Expression, FieldType, FieldValues, excerpt};

#[derive(Arbitrary, Debug)]
struct Input {
    text: String,
    /// The number of components of each field, and whether they have names.
    shapes: Vec<(u8, bool)>,
    rows: Vec<(i64, f64)>,
}

fuzz_target!(|input: Input| {
    let expression = match Expression::parse(&input.text) {
        Ok(expression) => expression,
        Err(error) => {
            assert!(error.span().end <= input.text.len());
            assert_eq!(excerpt(&input.text, error.span()).lines().count(), 3);
            return;
        }
    };
    let (mut types, mut values) = (Vec::new(), Vec::new());
    for index in 0..expression.fields().len() {
        let (count, has_names) = input.shapes.get(index).copied().unwrap_or_default();
        let count = usize::from(count % 5).max(1);
        let names = |place: usize| match has_names {
            true => ["x", "y", "z", "w"].get(place).copied().unwrap_or("v").to_owned(),
            false => place.to_string(),
        };
        types.push(FieldType::vector((0..count).map(|place| (names(place), "m"))));
        let rows = input.rows.iter().skip(index);
        let (times, column): (Vec<i64>, Vec<f64>) = rows.copied().unzip();
        let columns = vec![column; count];
        values.push(FieldValues::new(times, columns).expect("as many values as times"));
    }
    match expression.check(&types).and_then(|checked| checked.evaluate(&values)) {
        Ok(series) => {
            assert!(series.times.is_sorted());
            let len = series.times.len();
            assert!(series.components.iter().all(|own| own.values.len() == len));
        }
        Err(error) => assert!(error.span().end <= input.text.len()),
    }
});
