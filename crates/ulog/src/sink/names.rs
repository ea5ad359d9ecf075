//! The names of topics in the new log.

use std::collections::HashMap;

use logtool_core::{Error, ErrorKind, Result, Topic, TopicId, WriteOptions};

/// The maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// The name and the instance of a topic in the new log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) name: String,
    pub(super) instance: u8,
}

/// The topics of one log by their new names.
#[derive(Debug, Default)]
pub(super) struct TopicNames {
    assigned: HashMap<Name, (TopicId, bool)>,
}

/// Returns the new name of `topic` if `options` rename it. A number after a dot is the
/// instance; without it, the instance is unchanged.
pub(super) fn new_name(topic: &Topic, options: &WriteOptions) -> Result<Option<Name>> {
    let Some(text) = options.rename.get(&*topic.label()) else { return Ok(None) };
    let original = u8::try_from(topic.instance).unwrap_or(u8::MAX);
    let numbered = text
        .rsplit_once('.')
        .and_then(|(name, instance)| Some((name, instance.parse::<u8>().ok()?)));
    let (name, instance) = numbered.unwrap_or((text, original));
    let is_valid_char =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/');
    if name.is_empty()
        || name.len() > MAX_NAME_BYTES
        || !name.chars().all(is_valid_char)
    {
        let message = format!(
            "invalid topic name {text:?}: a ULog topic name consists of letters, digits, \
             `_`, `-` and `/`, optionally followed by a dot and an instance up to 255"
        );
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(Some(Name { name: name.to_owned(), instance }))
}

impl TopicNames {
    /// Assigns `name` to `topic`.
    ///
    /// # Errors
    /// `Unsupported` if another topic has the name, and one of the two is renamed.
    pub(super) fn assign(
        &mut self,
        name: &Name,
        topic: TopicId,
        is_renamed: bool,
    ) -> Result<()> {
        match self.assigned.insert(name.clone(), (topic, is_renamed)) {
            Some((other, was_renamed))
                if other != topic && (is_renamed || was_renamed) =>
            {
                let Name { name, instance } = name;
                let message = format!(
                    "two topics would be instance {instance} of {name:?} (`{name}.N` \
                     selects instance N)"
                );
                Err(Error::new(ErrorKind::Unsupported, message))
            }
            _ => Ok(()),
        }
    }
}
