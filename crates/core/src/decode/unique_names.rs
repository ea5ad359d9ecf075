//! Unique names that other formats accept.

use std::collections::HashSet;

/// A set of names that makes each new name valid and unique.
///
/// ```
/// let mut names = logtool_core::UniqueNames::default();
/// let unique = ["a b", "a_b", "1st"].map(|name| names.make_unique(name));
/// assert_eq!(unique, ["a_b", "a_b_x2", "x1st"]);
/// ```
#[derive(Debug, Default)]
pub struct UniqueNames {
    /// The [comparison keys](comparison_key) of the names that were returned.
    returned_keys: HashSet<String>,
}

impl UniqueNames {
    /// Returns `name`, or a similar name that is valid and was not returned before. Valid
    /// names consist of letters, digits and `_`, and start with a letter, as in ROS.
    ///
    /// Names that differ only in case and underscores count as equal, because protobuf
    /// maps them to the same JSON name and rejects them.
    pub fn make_unique(&mut self, name: &str) -> String {
        let mut name =
            name.replace(|character: char| !character.is_ascii_alphanumeric(), "_");
        if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            name.insert(0, 'x');
        }
        let (stem, mut number) = (name.clone(), 1);
        while !self.returned_keys.insert(comparison_key(&name)) {
            number += 1;
            name = format!("{stem}_x{number}");
        }
        name
    }
}

/// Returns the string that two names have in common if they count as equal.
fn comparison_key(name: &str) -> String {
    name.replace('_', "").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_unique() {
        let mut names = UniqueNames::default();
        let unique =
            ["a b", "a_b", "AB", "1st", "", "_c"].map(|name| names.make_unique(name));
        assert_eq!(unique, ["a_b", "a_b_x2", "AB_x3", "x1st", "x", "x_c"]);
    }
}
