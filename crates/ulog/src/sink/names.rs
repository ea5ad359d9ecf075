//! The names that topics have in the new log.

use std::collections::HashMap;

use logtool_core::{Error, ErrorKind, Result, Topic, TopicId, WriteOptions};

/// The longest name.
const MAX_NAME: usize = 255;

/// What a topic is called in the new log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) name: String,
    pub(super) instance: u8,
}

/// The topics of one log by their new names.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashMap<Name, (TopicId, bool)>,
}

/// The name that `options` give to `topic`, if they give it one. A number after a dot
/// is the instance, which else stays.
pub(super) fn renamed(topic: &Topic, options: &WriteOptions) -> Result<Option<Name>> {
    let Some(text) = options.rename.get(&*topic.label()) else { return Ok(None) };
    let own = u8::try_from(topic.instance).unwrap_or(u8::MAX);
    let numbered = text
        .rsplit_once('.')
        .and_then(|(name, instance)| Some((name, instance.parse::<u8>().ok()?)));
    let (name, instance) = numbered.unwrap_or((text, own));
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_fine) {
        let what = format!(
            "a topic called {text:?}: in a ULog a name is of letters, digits, `_`, `-` \
             and `/`, and an instance a number up to 255 after a dot"
        );
        return Err(Error::new(ErrorKind::Unsupported, what));
    }
    Ok(Some(Name { name: name.to_owned(), instance }))
}

impl Names {
    /// Gives `name` to `topic`.
    ///
    /// # Errors
    /// `Unsupported` if another has it, and one of them is renamed.
    pub(super) fn give(
        &mut self,
        name: &Name,
        topic: TopicId,
        is_renamed: bool,
    ) -> Result<()> {
        match self.taken.insert(name.clone(), (topic, is_renamed)) {
            Some((other, was_renamed))
                if other != topic && (is_renamed || was_renamed) =>
            {
                let Name { name, instance } = name;
                let what = format!(
                    "two topics would be the instance {instance} of {name:?} \
                     (`{name}.N` names instance N)"
                );
                Err(Error::new(ErrorKind::Unsupported, what))
            }
            _ => Ok(()),
        }
    }
}
