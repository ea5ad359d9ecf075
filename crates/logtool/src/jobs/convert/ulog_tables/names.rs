//! Names that ULog allows: letters, digits and underscores.

use std::collections::{BTreeMap, BTreeSet};

/// Names that differ from each other.
pub(super) struct UniqueNames {
    used: BTreeSet<String>,
    /// The number that was last added to a name, so that many equal names take linear time.
    last: BTreeMap<String, u64>,
    /// The name of something without a letter or digit in its name.
    otherwise: &'static str,
}

impl UniqueNames {
    /// Creates an empty set, in which a name without letters and digits becomes `otherwise`.
    pub(super) fn new(otherwise: &'static str) -> Self {
        Self { used: BTreeSet::new(), last: BTreeMap::new(), otherwise }
    }

    /// Returns `name` with only letters, digits and single underscores, and with a number if that is
    /// used already: `/imu/data` becomes `imu_data`.
    pub(super) fn add(&mut self, name: &str) -> String {
        let words = name.split(|c: char| !c.is_ascii_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let plain = match words.join("_") {
            empty if empty.is_empty() => self.otherwise.to_owned(),
            plain => plain,
        };
        if self.used.insert(plain.clone()) {
            return plain;
        }
        let last = self.last.entry(plain.clone()).or_insert(1);
        loop {
            *last += 1;
            let unique = format!("{plain}_{last}");
            if self.used.insert(unique.clone()) {
                return unique;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_unique() {
        let mut names = UniqueNames::new("topic");
        let all = ["/imu/data", "imu.data", "imu_data_2", "__x", "größe", "//", "?"];
        let found = all.map(|name| names.add(name));
        let want =
            ["imu_data", "imu_data_2", "imu_data_2_2", "x", "gr_e", "topic", "topic_2"];
        assert_eq!(found, want);
    }
}
