//! The units of values, and rules for the units of results.

/// The unit of a value: `None` if it is unknown, and an empty string for a plain number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unit(Option<String>);

/// Units, and the units of their derivatives.
const DERIVATIVES: [(&str, &str); 9] = [
    ("m", "m/s"),
    ("m/s", "m/s²"),
    ("m/s²", "m/s³"),
    ("rad", "rad/s"),
    ("rad/s", "rad/s²"),
    ("°", "°/s"),
    ("°/s", "°/s²"),
    ("J", "W"),
    ("s", ""),
];

/// Units with radians, and the corresponding units with degrees.
const ANGLES: [(&str, &str); 3] = [("rad", "°"), ("rad/s", "°/s"), ("rad/s²", "°/s²")];

/// Pairs of units whose product has a name.
const PRODUCTS: [(&str, &str, &str); 3] =
    [("V", "A", "W"), ("m", "m", "m²"), ("m/s", "m/s", "m²/s²")];

impl Unit {
    /// An unknown unit.
    pub(crate) const UNKNOWN: Self = Self(None);

    /// Returns the unit with the name `name`; unknown if the name is empty.
    pub(crate) fn from_name(name: &str) -> Self {
        Self((!name.is_empty()).then(|| name.to_owned()))
    }

    /// Returns the known unit `name`. The unit of a plain number has an empty name.
    pub(crate) fn with_name(name: &str) -> Self {
        Self(Some(name.to_owned()))
    }

    /// Returns the name; empty if the unit is unknown.
    pub(crate) fn name(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    fn map(&self, change: impl FnOnce(&str) -> Option<String>) -> Self {
        Self(self.0.as_deref().and_then(change))
    }

    pub(crate) fn derivative(&self) -> Self {
        self.map(|unit| {
            if let Some((_, derivative)) =
                DERIVATIVES.iter().find(|(base_unit, _)| *base_unit == unit)
            {
                return Some((*derivative).to_owned());
            }
            let base = if unit.is_empty() { "1" } else { unit };
            (!unit.contains('/')).then(|| format!("{base}/s"))
        })
    }

    pub(crate) fn integral(&self) -> Self {
        self.map(|unit| {
            if let Some((base_unit, _)) =
                DERIVATIVES.iter().find(|(_, derived)| *derived == unit)
            {
                return Some((*base_unit).to_owned());
            }
            let is_simple = !unit.contains('/');
            unit.strip_suffix("/s")
                .map(str::to_owned)
                .or_else(|| is_simple.then(|| format!("{unit}·s")))
        })
    }

    pub(crate) fn degrees(&self) -> Self {
        self.map(|unit| {
            let entry = ANGLES.iter().find(|(radians, _)| *radians == unit);
            entry.map(|(_, degrees)| (*degrees).to_owned())
        })
    }

    pub(crate) fn radians(&self) -> Self {
        self.map(|unit| {
            let entry = ANGLES.iter().find(|(_, degrees)| *degrees == unit);
            entry.map(|(radians, _)| (*radians).to_owned())
        })
    }

    pub(crate) fn square_root(&self) -> Self {
        self.map(|unit| match unit {
            "" => Some(String::new()),
            "m²" => Some("m".to_owned()),
            "m²/s²" => Some("m/s".to_owned()),
            _ => None,
        })
    }

    pub(crate) fn product(&self, other: &Self) -> Self {
        let (Some(first), Some(second)) = (&self.0, &other.0) else {
            return Self(None);
        };
        let named = PRODUCTS.iter().find(|(a, b, _)| {
            (first == a && second == b) || (first == b && second == a)
        });
        Self(match (first.as_str(), second.as_str()) {
            ("", unit) | (unit, "") => Some(unit.to_owned()),
            _ => named.map(|(.., product)| (*product).to_owned()),
        })
    }

    pub(crate) fn quotient(&self, other: &Self) -> Self {
        let (Some(first), Some(second)) = (&self.0, &other.0) else {
            return Self(None);
        };
        Self(match (first.as_str(), second.as_str()) {
            (first, second) if first == second => Some(String::new()),
            (unit, "") => Some(unit.to_owned()),
            ("m", "s") => Some("m/s".to_owned()),
            ("W", "V") => Some("A".to_owned()),
            ("W", "A") => Some("V".to_owned()),
            _ => None,
        })
    }

    /// Returns the unit of a sum. A plain number has the unit of the other operand: `x + 1`.
    pub(crate) fn common(&self, other: &Self) -> Self {
        match (self.name(), other.name()) {
            _ if self == other => self.clone(),
            (_, "") if other.0.is_some() => self.clone(),
            ("", _) if self.0.is_some() => other.clone(),
            _ => Self(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_derivatives_and_integrals() {
        for (unit, derivative) in [("m", "m/s"), ("°/s", "°/s²"), ("V", "V/s")] {
            assert_eq!(Unit::with_name(unit).derivative(), Unit::with_name(derivative));
            assert_eq!(Unit::with_name(derivative).integral(), Unit::with_name(unit));
        }
        assert_eq!(Unit::with_name("A").integral().name(), "A·s");
        assert_eq!(Unit::UNKNOWN.derivative(), Unit::UNKNOWN);
    }

    #[test]
    fn unknown_unit_spreads_and_number_does_not() {
        let (metre, number) = (Unit::with_name("m"), Unit::with_name(""));
        assert_eq!(metre.product(&number), metre);
        assert_eq!(metre.product(&Unit::UNKNOWN), Unit::UNKNOWN);
        assert_eq!(metre.common(&number), metre);
        assert_eq!(metre.common(&Unit::with_name("s")), Unit::UNKNOWN);
        assert_eq!(metre.quotient(&metre), number);
        assert_eq!(Unit::with_name("V").product(&Unit::with_name("A")).name(), "W");
    }
}
