//! Valid and unique MATLAB names.

use std::collections::BTreeSet;

use crate::arrays::mat::element::FIELD_NAME_BYTES;

/// The names used so far for the variables of a file or the fields of a struct.
#[derive(Debug, Default)]
pub(super) struct VariableNames {
    used: BTreeSet<String>,
}

impl VariableNames {
    /// Converts `name` to a valid MATLAB name that was not used before: at most 63 letters,
    /// digits and underscores, starting with a letter.
    pub(super) fn unique_name(&mut self, name: &str) -> String {
        let replacement = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let mut name: String =
            name.trim_matches('/').chars().map(replacement).collect();
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            name.insert(0, 'x');
        }
        name.truncate(FIELD_NAME_BYTES - 1);
        let mut unique = name.clone();
        for number in 1.. {
            if self.used.insert(unique.clone()) {
                break;
            }
            let suffix = format!("_{number}");
            unique = name.chars().take(FIELD_NAME_BYTES - 1 - suffix.len()).collect();
            unique.push_str(&suffix);
        }
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_in_matlab_and_unique() {
        let mut names = VariableNames::default();
        assert_eq!(names.unique_name("/camera/image_raw"), "camera_image_raw");
        assert_eq!(names.unique_name("camera.image_raw"), "camera_image_raw_1");
        assert_eq!(names.unique_name("2d"), "x2d");
        let long = names.unique_name(&"a".repeat(80));
        assert_eq!((long.len(), names.unique_name(&"a".repeat(80)).len()), (63, 63));
    }
}
