//! The parameters that differ between two logs.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use logtool_ulog::{ParameterValue, UlogLog};
use serde::{Serialize, Serializer};

use crate::{
    error::Result,
    inspect::parameters::{
        NamePatterns, ParameterTime, ShownValue, open_ulog, value_at,
    },
    source::{
        losses::{Findings, Strictness},
        session::Session,
    },
};

/// A request to compare the parameters of two ULogs.
#[derive(Clone, Debug)]
#[must_use]
pub struct ParameterDiffRequest {
    first: PathBuf,
    second: PathBuf,
    names: Vec<String>,
    state: ParameterTime,
    strictness: Strictness,
}

/// The result of a [`ParameterDiffRequest`].
///
/// It serialises as the JSON object that `logtool params diff --json` prints.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ParameterDiff {
    /// The parameters whose values differ, or that only one log has, sorted by name.
    pub differences: Vec<ParameterDifference>,
    /// The number of parameters that were compared.
    pub compared: usize,
    /// The losses and the damage of the first log.
    pub first_losses: Findings,
    /// The losses and the damage of the second log.
    pub second_losses: Findings,
}

/// A parameter whose values differ.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ParameterDifference {
    /// The name.
    pub name: String,
    /// The value in the first log.
    pub first: Option<ParameterValue>,
    /// The value in the second log.
    pub second: Option<ParameterValue>,
}

impl ParameterDiffRequest {
    /// Creates a request to compare the logs `first` and `second`.
    pub fn new(first: impl AsRef<Path>, second: impl AsRef<Path>) -> Self {
        Self {
            first: first.as_ref().to_owned(),
            second: second.as_ref().to_owned(),
            names: Vec::new(),
            state: ParameterTime::default(),
            strictness: Strictness::default(),
        }
    }

    /// Selects the parameters whose names match one of `patterns`, ignoring case. `*` and `?`
    /// match anything. Without patterns, all parameters are compared.
    pub fn with_names(
        mut self,
        patterns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.names = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Compares the values at the start of logging. The default is the values at the end.
    pub fn with_initial_values(mut self) -> Self {
        self.state = ParameterTime::Initial;
        self
    }

    /// Sets whether damage is an error. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Reads and compares the parameters.
    ///
    /// # Errors
    /// `NotFound` if a pattern matches no parameter; others if an input is not a ULog, or, of
    /// the kind `Damaged`, if something is lost in a strict request.
    pub fn run(&self, session: &Session) -> Result<ParameterDiff> {
        let open = |path| open_ulog(path, self.strictness, session);
        let (_, first, first_losses) = open(&self.first)?;
        let (_, second, second_losses) = open(&self.second)?;
        let (first, second) = (self.values(&first), self.values(&second));
        let all_names: BTreeSet<&str> =
            first.keys().chain(second.keys()).copied().collect();
        let patterns = NamePatterns::new(&self.names, all_names.iter().copied())?;
        let selected: Vec<&str> =
            all_names.into_iter().filter(|name| patterns.matches(name)).collect();
        let differences = selected.iter().filter_map(|name| {
            let (first, second) = (first.get(name).copied(), second.get(name).copied());
            let name = (*name).to_owned();
            let difference = ParameterDifference { name, first, second };
            (!is_identical(first, second)).then_some(difference)
        });
        Ok(ParameterDiff {
            differences: differences.collect(),
            compared: selected.len(),
            first_losses,
            second_losses,
        })
    }

    fn values<'l>(&self, log: &'l UlogLog) -> BTreeMap<&'l str, ParameterValue> {
        let parameters = log.metadata().parameters.iter();
        let values = parameters.filter_map(|(name, parameter)| {
            Some((name.as_str(), value_at(parameter, self.state)?))
        });
        values.collect()
    }
}

/// Returns whether two values have the same bits. NaN is identical to itself.
fn is_identical(a: Option<ParameterValue>, b: Option<ParameterValue>) -> bool {
    match (a, b) {
        (Some(ParameterValue::Float(a)), Some(ParameterValue::Float(b))) => {
            a.to_bits() == b.to_bits()
        }
        (a, b) => a == b,
    }
}

/// The JSON object of a difference.
#[derive(Serialize)]
struct JsonDifference {
    a: Option<ShownValue>,
    b: Option<ShownValue>,
}

impl Serialize for ParameterDiff {
    fn serialize<S: Serializer>(&self, out: S) -> std::result::Result<S::Ok, S::Error> {
        out.collect_map(self.differences.iter().map(|difference| {
            let (a, b) = (difference.first, difference.second);
            let (a, b) = (a.map(ShownValue), b.map(ShownValue));
            (&difference.name, JsonDifference { a, b })
        }))
    }
}
