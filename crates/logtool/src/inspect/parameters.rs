//! The parameters of a ULog, and how those of two logs differ.

mod diff;
mod value;

use std::path::{Path, PathBuf};

use logtool_core::{Log as _, Timestamp};
use logtool_ulog::UlogLog;
use serde::{Serialize, Serializer};

use crate::{
    error::{Context as _, Error, Result},
    source::{
        input::open,
        losses::{Findings, Strictness},
        selection::Pattern,
        session::Session,
    },
    text::suggest,
    time::clock::{JsonTime, ShownClock, TimeChoice},
};

pub use self::{
    diff::{ParameterDiff, ParameterDiffRequest, ParameterDifference},
    value::ShownValue,
};
pub use logtool_ulog::{Parameter, ParameterChange, ParameterValue};

/// A request for the parameters of a ULog.
///
/// ```no_run
/// use logtool::{Session, parameters::{ParametersRequest, ShownValue}};
///
/// let request = ParametersRequest::new("flight.ulg").with_names(["MPC_*"]);
/// for parameter in request.run(&Session::new())?.list {
///     println!("{} {}", parameter.name, ShownValue(parameter.value));
/// }
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ParametersRequest {
    path: PathBuf,
    names: Vec<String>,
    state: ParameterTime,
    has_non_default_only: bool,
    clock: TimeChoice,
    strictness: Strictness,
}

/// The time at which parameters are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ParameterTime {
    /// When logging started.
    Initial,
    /// At the end of the log.
    #[default]
    Final,
}

/// The result of a [`ParametersRequest`].
///
/// It serialises as the JSON object that `logtool params --json` prints.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Parameters {
    /// The name of the log.
    pub log: String,
    /// The selected parameters, sorted by name.
    pub list: Vec<ListedParameter>,
    /// The number of parameters in the log.
    pub total: usize,
    /// Whether the log states the defaults of its parameters. PX4 does since version 1.12.
    pub has_defaults: bool,
    /// The clock that the request names, which writes the times of changes.
    pub clock: ShownClock,
    /// The losses and the damage of the log.
    pub losses: Findings,
}

/// A parameter of a log.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ListedParameter {
    /// The name.
    pub name: String,
    /// The value at the time that the request names.
    pub value: ParameterValue,
    /// All that the log states about the parameter.
    pub parameter: Parameter,
}

/// A change of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct NamedChange<'p> {
    /// The latest time of the records before the change, on the clock of the log.
    pub time: Timestamp,
    /// The name of the parameter.
    pub name: &'p str,
    /// The value before, if the log states it.
    pub old: Option<ParameterValue>,
    /// The value after.
    pub new: ParameterValue,
}

impl ParametersRequest {
    /// Creates a request for the log at `path`: a path, a URL, or `-` for standard input.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            names: Vec::new(),
            state: ParameterTime::default(),
            has_non_default_only: false,
            clock: TimeChoice::default(),
            strictness: Strictness::default(),
        }
    }

    /// Selects the parameters whose names match one of `patterns`, ignoring case. `*` and `?`
    /// match anything. Without patterns, all parameters are selected.
    pub fn with_names(
        mut self,
        patterns: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.names = patterns.into_iter().map(Into::into).collect();
        self
    }

    /// Lists the values at the start of logging. The default is the values at the end.
    pub fn with_initial_values(mut self) -> Self {
        self.state = ParameterTime::Initial;
        self
    }

    /// Leaves out the parameters that have their default value, or whose default the log does
    /// not state.
    pub fn with_non_default_only(mut self) -> Self {
        self.has_non_default_only = true;
        self
    }

    /// Sets the clock of the times of changes. The default is the clock of the log.
    pub fn with_clock(mut self, clock: TimeChoice) -> Self {
        self.clock = clock;
        self
    }

    /// Sets whether damage is an error. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Reads the parameters.
    ///
    /// # Errors
    /// `NotFound` if a pattern matches no parameter; others if the input is not a ULog, if the
    /// log does not state its times on the chosen clock, or, of the kind `Damaged`, if
    /// something is lost in a strict request.
    pub fn run(&self, session: &Session) -> Result<Parameters> {
        let (name, log, losses) = open_ulog(&self.path, self.strictness, session)?;
        let clock = ShownClock::new(log.manifest(), self.clock);
        let clock = clock.with_context(|| self.path.display().to_string())?;
        let parameters = &log.metadata().parameters;
        let names =
            NamePatterns::new(&self.names, parameters.keys().map(String::as_str))?;
        let is_selected = |name: &str, parameter: &Parameter| {
            names.matches(name)
                && (!self.has_non_default_only || is_non_default(parameter, self.state))
        };
        let selected =
            parameters.iter().filter(|(name, parameter)| is_selected(name, parameter));
        let list = selected.filter_map(|(name, parameter)| {
            Some(ListedParameter {
                name: name.clone(),
                value: value_at(parameter, self.state)?,
                parameter: parameter.clone(),
            })
        });
        Ok(Parameters {
            log: name,
            list: list.collect(),
            total: parameters.len(),
            has_defaults: parameters.values().any(has_default),
            clock,
            losses,
        })
    }
}

impl Parameters {
    /// Returns the parameters of `log` that do not have their default value, the others, and
    /// whether the log states defaults. If it does not, all parameters are in the first list.
    #[cfg(feature = "plot")]
    pub(crate) fn by_default(
        log: &UlogLog,
    ) -> (Vec<ListedParameter>, Vec<ListedParameter>, bool) {
        let parameters = &log.metadata().parameters;
        let has_defaults = parameters.values().any(has_default);
        let listed = parameters.iter().map(|(name, parameter)| ListedParameter {
            name: name.clone(),
            value: parameter.value,
            parameter: parameter.clone(),
        });
        let (first, others) = listed.partition(|listed| {
            !has_defaults || is_non_default(&listed.parameter, ParameterTime::Final)
        });
        (first, others, has_defaults)
    }

    /// Returns the changes of the parameters, in the order of the file.
    pub fn changes(&self) -> Vec<NamedChange<'_>> {
        let listed = self.list.iter();
        changes_of(listed.map(|listed| (listed.name.as_str(), &listed.parameter)))
    }
}

/// Returns the changes of `parameters`, in the order of the file.
pub(crate) fn changes_of<'p>(
    parameters: impl Iterator<Item = (&'p str, &'p Parameter)>,
) -> Vec<NamedChange<'p>> {
    let mut changes = Vec::new();
    for (name, parameter) in parameters {
        let mut before = parameter.initial;
        for change in &parameter.changes {
            let (time, new) = (change.time, change.value);
            let old = before.replace(new);
            changes.push((change.offset, NamedChange { time, name, old, new }));
        }
    }
    changes.sort_by_key(|(offset, _)| *offset);
    changes.into_iter().map(|(_, change)| change).collect()
}

impl ListedParameter {
    /// Returns the default: that of the configuration of the vehicle, or else of the firmware.
    /// `None` if the log states neither.
    pub fn default_value(&self) -> Option<ParameterValue> {
        self.parameter.setup_default.or(self.parameter.system_default)
    }
}

/// The JSON object of a parameter.
#[derive(Serialize)]
struct JsonParameter {
    value: ShownValue,
    r#type: &'static str,
    initial: Option<ShownValue>,
    system_default: Option<ShownValue>,
    setup_default: Option<ShownValue>,
    changes: Vec<JsonChange>,
}

/// The JSON object of a change.
#[derive(Serialize)]
struct JsonChange {
    time: JsonTime,
    value: ShownValue,
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, out: S) -> std::result::Result<S::Ok, S::Error> {
        out.collect_map(self.list.iter().map(|listed| {
            let Parameter { initial, system_default, setup_default, changes, .. } =
                &listed.parameter;
            let change = |change: &ParameterChange| JsonChange {
                time: self.clock.json(change.time),
                value: ShownValue(change.value),
            };
            let json = JsonParameter {
                value: ShownValue(listed.value),
                r#type: ShownValue(listed.value).type_name(),
                initial: initial.map(ShownValue),
                system_default: system_default.map(ShownValue),
                setup_default: setup_default.map(ShownValue),
                changes: changes.iter().map(change).collect(),
            };
            (&listed.name, json)
        }))
    }
}

/// The patterns of names that a request selects.
struct NamePatterns(Vec<Pattern>);

impl NamePatterns {
    /// Parses `patterns`.
    ///
    /// # Errors
    /// `NotFound` if a pattern matches none of `names`.
    fn new<'n>(
        patterns: &[String],
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<Self> {
        let mut parsed = Vec::new();
        for text in patterns {
            let pattern = Pattern::new(&text.to_uppercase())?;
            if !names.clone().any(|name| pattern.is_match(&name.to_uppercase())) {
                let hint = "`logtool params` without names lists all";
                let hint = suggest::hint(text, names, hint);
                let message = format!("the log has no parameter `{text}`");
                return Err(Error::not_found(message).with_hint(hint));
            }
            parsed.push(pattern);
        }
        Ok(Self(parsed))
    }

    fn matches(&self, name: &str) -> bool {
        let name = name.to_uppercase();
        self.0.is_empty() || self.0.iter().any(|pattern| pattern.is_match(&name))
    }
}

/// Opens the ULog at `path`. Returns its name, the log, and its losses.
fn open_ulog(
    path: &Path,
    strictness: Strictness,
    session: &Session,
) -> Result<(String, UlogLog, Findings)> {
    let (input, log) = open::open_ulog(path, session, "have parameters")?;
    let mut losses = input.findings(log.manifest());
    losses.check(strictness)?;
    Ok((input.name, log, losses))
}

fn value_at(parameter: &Parameter, state: ParameterTime) -> Option<ParameterValue> {
    match state {
        ParameterTime::Initial => parameter.initial,
        ParameterTime::Final => Some(parameter.value),
    }
}

fn has_default(parameter: &Parameter) -> bool {
    parameter.setup_default.or(parameter.system_default).is_some()
}

/// Returns whether the value differs from the default that the log states.
fn is_non_default(parameter: &Parameter, state: ParameterTime) -> bool {
    let default = parameter.setup_default.or(parameter.system_default);
    default.is_some() && default != value_at(parameter, state)
}
