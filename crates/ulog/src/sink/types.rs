//! The types that the new log defines.

use std::collections::{HashMap, HashSet};

use logtool_core::{Error, ErrorKind, Result};

use crate::{
    formats::{array, primitive},
    registry::Declaration,
};

/// The types that are defined so far, and by which log.
#[derive(Debug, Default)]
pub(super) struct Types {
    defined: HashMap<String, (usize, String)>,
}

/// What to do about a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Defined {
    /// It is new: write it.
    New,
    /// It is there.
    Known,
    /// The same log defines it anew: write it, behind what it had before.
    Anew,
}

impl Types {
    /// Takes the definition of `name` that the log with the index `from` has, one of
    /// `logs`.
    ///
    /// # Errors
    /// `Unsupported` if another has it otherwise, or if a log that is merged with
    /// others has it twice.
    pub(super) fn define(
        &mut self,
        name: &str,
        fields: &str,
        from: usize,
        logs: usize,
    ) -> Result<Defined> {
        let Some((before, known)) = self.defined.get_mut(name) else {
            self.defined.insert(name.to_owned(), (from, fields.to_owned()));
            return Ok(Defined::New);
        };
        if known == fields {
            return Ok(Defined::Known);
        }
        if *before == from && logs == 1 {
            fields.clone_into(known);
            return Ok(Defined::Anew);
        }
        let what = format!(
            "log {} and log {} define {name:?} differently: {} and {}",
            *before + 1,
            from + 1,
            short(known, fields),
            short(fields, known),
        );
        Err(Error::new(ErrorKind::Unsupported, what))
    }
}

/// The fields of `text` that `other` does not have, some of them.
fn short(text: &str, other: &str) -> String {
    let of = |text: &str| -> Vec<String> {
        let fields = text.split(';').map(str::trim).filter(|field| !field.is_empty());
        fields.map(str::to_owned).collect()
    };
    let (fields, others) = (of(text), of(other));
    let own: Vec<String> = fields
        .into_iter()
        .filter(|field| !others.contains(field))
        .take(3)
        .map(|field| field.chars().take(40).collect())
        .collect();
    match own.as_slice() {
        [] => "the same fields in another order, or less".to_owned(),
        own => format!("`{}`", own.join("; ")),
    }
}

/// The types that the topics called `wanted` need, of those that a log declares.
pub(super) fn needed<'d>(
    declarations: &'d [Declaration],
    wanted: impl Iterator<Item = &'d str>,
) -> HashSet<&'d str> {
    let mut inner: HashMap<&str, Vec<&str>> = HashMap::new();
    for declaration in declarations {
        if let Declaration::Format(name, fields) = declaration {
            let types = fields.split(';').filter_map(|field| {
                let (type_name, _) = field.trim().split_once(char::is_whitespace)?;
                let (base, _) = array(type_name)?;
                primitive(base).is_none().then_some(base)
            });
            inner.entry(name).or_default().extend(types);
        }
    }
    let (mut needed, mut open) = (HashSet::new(), wanted.collect::<Vec<_>>());
    while let Some(name) = open.pop() {
        if needed.insert(name) {
            open.extend(inner.get(name).into_iter().flatten());
        }
    }
    needed
}
