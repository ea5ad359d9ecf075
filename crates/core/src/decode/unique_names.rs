//! Names that other formats allow, for what is called otherwise, or twice.

use std::collections::HashSet;

/// Gives each name once.
///
/// ```
/// let mut names = logtool_core::UniqueNames::default();
/// let given = ["a b", "a_b", "1st"].map(|name| names.make_unique(name));
/// assert_eq!(given, ["a_b", "a_b_x2", "x1st"]);
/// ```
#[derive(Debug, Default)]
pub struct UniqueNames {
    taken: HashSet<String>,
}

impl UniqueNames {
    /// `name`, or one like it that is allowed and not given yet: of letters, digits and
    /// `_`, beginning with a letter, as ROS wants it.
    ///
    /// Two names that differ in capitals and `_` only are one to JSON, which protocol
    /// buffers do not allow.
    pub fn make_unique(&mut self, name: &str) -> String {
        let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut name: String = name.chars().map(allowed).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            name.insert(0, 'x');
        }
        let (stem, mut number) = (name.clone(), 1);
        while !self.taken.insert(bare(&name)) {
            number += 1;
            name = format!("{stem}_x{number}");
        }
        name
    }
}

fn bare(name: &str) -> String {
    name.replace('_', "").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_allowed_and_differ() {
        let mut names = UniqueNames::default();
        let all = ["a b", "a_b", "AB", "1st", "", "_c"];
        let given = all.map(|name| names.make_unique(name));
        assert_eq!(given, ["a_b", "a_b_x2", "AB_x3", "x1st", "x", "x_c"]);
    }
}
