//! Unique names of columns.

use std::collections::HashMap;

/// Makes names unique, and different from `time`: the second `x` becomes `x_2`.
pub(crate) fn unique_names<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    // The number of the next column with each name, so that many equal names need linear time.
    let mut next_numbers: HashMap<String, u64> =
        HashMap::from([("time".to_owned(), 2)]);
    let unique = |name: &str| {
        let Some(next) = next_numbers.get(name) else {
            next_numbers.insert(name.to_owned(), 2);
            return name.to_owned();
        };
        let mut number = *next;
        let mut unique = format!("{name}_{number}");
        while next_numbers.contains_key(&unique) {
            number += 1;
            unique = format!("{name}_{number}");
        }
        next_numbers.insert(name.to_owned(), number + 1);
        next_numbers.insert(unique.clone(), 2);
        unique
    };
    names.map(unique).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_names_get_numbers() {
        let names = unique_names(["x", "time", "x_3", "x", "x", "x_2"].into_iter());
        assert_eq!(names, ["x", "time_2", "x_3", "x_2", "x_4", "x_2_2"]);
        let many = unique_names(std::iter::repeat_n("x", 65_536));
        assert_eq!(many[65_535], "x_65536");
    }
}
