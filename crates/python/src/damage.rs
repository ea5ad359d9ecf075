//! Damage of logs.

use logtool::losses::loss::Finding;
use logtool_core::{DamageKind, Manifest};
use pyo3::{prelude::*, types::PyDict};

/// A place of a log that could not be read, or whose content is doubtful.
#[pyclass(frozen, module = "logtool", get_all, eq)]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Damage {
    /// The kind, e.g. `"garbled"` or `"truncated"`.
    kind: String,
    /// A description.
    message: String,
    /// The byte offset in the log.
    offset: u64,
    /// The number of affected bytes from there on.
    length: u64,
    /// The number of bytes that are lost.
    lost_bytes: u64,
    /// The number of records that are lost or wrong; 0 if they cannot be counted.
    count: u64,
    /// The topic, if the damage is of one.
    topic: Option<String>,
    /// Whether data is lost, or may be wrong.
    is_harmful: bool,
}

impl Damage {
    /// Describes `damage` of the log with `manifest`.
    pub(crate) fn new(damage: &logtool_core::Damage, manifest: &Manifest) -> Self {
        let topic = damage.topic.and_then(|id| manifest.topic(id).ok());
        Self {
            kind: name(damage.kind),
            message: damage.to_string(),
            offset: damage.bytes.start,
            length: damage.bytes.end.saturating_sub(damage.bytes.start),
            lost_bytes: damage.lost_bytes,
            count: damage.records,
            topic: topic.map(|topic| topic.label().into_owned()),
            is_harmful: damage.kind.is_harmful(),
        }
    }

    /// Describes `finding`.
    pub(crate) fn from_finding(finding: &Finding) -> Self {
        let mut damage = Self::new(&finding.damage, &Manifest::default());
        damage.message.clone_from(&finding.text);
        damage.topic.clone_from(&finding.topic);
        damage
    }

    /// Returns a description of each item of `damage`.
    pub(crate) fn from_list(
        damage: &[logtool_core::Damage],
        manifest: &Manifest,
    ) -> Vec<Self> {
        damage.iter().map(|damage| Self::new(damage, manifest)).collect()
    }
}

/// Returns the name of `kind` in JSON.
fn name(kind: DamageKind) -> String {
    let name = serde_json::to_value(kind).ok();
    name.and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

#[pymethods]
impl Damage {
    fn __repr__(&self) -> String {
        format!("<logtool.Damage {}: {}>", self.kind, self.message)
    }

    fn __str__(&self) -> &str {
        &self.message
    }
}

/// Issues a `DamageWarning` if some of `damage`, of the log called `name`, is harmful.
pub(crate) fn warn(py: Python<'_>, name: &str, damage: &[Damage]) -> PyResult<()> {
    let harmful = damage.iter().filter(|damage| damage.is_harmful);
    let Some(first) = harmful.clone().next() else { return Ok(()) };
    let text = match harmful.count() - 1 {
        0 => format!("{name}: {}", first.message),
        more => format!("{name}: {}; and {more} more, see .damage", first.message),
    };
    let category = py.import("logtool._errors")?.getattr("DamageWarning")?;
    let options = PyDict::new(py);
    options.set_item("stacklevel", 2)?;
    py.import("warnings")?.call_method("warn", (text, category), Some(&options))?;
    Ok(())
}
