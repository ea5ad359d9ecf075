//! The encryption of a bag in its metadata.

use std::collections::BTreeMap;

use logtool_core::{Manifest, Value};

// The keys of the metadata. They are part of the interface, because outputs contain them too.
const ENCRYPTION: &str = "encryption";
const PLUGIN: &str = "plugin";
const USER: &str = "user";
const ENCRYPTED_KEY: &str = "encrypted_key";
const LOCKED: &str = "locked";

/// How a bag is encrypted, and whether it was opened with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncryptionInfo {
    /// The name of the plugin that encrypted the bag.
    pub plugin: String,
    /// The user for whom it is encrypted, or an empty string.
    pub user: String,
    /// The encrypted key of the bag, or an empty string.
    pub encrypted_key: String,
    /// Whether the bag was opened without its key, so that no record can be read.
    pub is_locked: bool,
}

impl EncryptionInfo {
    /// Returns the encryption that `manifest` states, or `None` if its log is not encrypted.
    pub fn from_manifest(manifest: &Manifest) -> Option<Self> {
        let Some(Value::Map(entries)) = manifest.metadata.get(ENCRYPTION) else {
            return None;
        };
        let text = |key: &str| match entries.get(key) {
            Some(Value::Text(text)) => text.clone(),
            _ => String::new(),
        };
        Some(Self {
            plugin: text(PLUGIN),
            user: text(USER),
            encrypted_key: text(ENCRYPTED_KEY),
            is_locked: entries.get(LOCKED) == Some(&Value::Bool(true)),
        })
    }

    /// Adds the encryption to the `metadata` of a bag.
    pub(crate) fn add_to(self, metadata: &mut BTreeMap<String, Value>) {
        let entries = [
            (PLUGIN, Value::Text(self.plugin)),
            (USER, Value::Text(self.user)),
            (ENCRYPTED_KEY, Value::Text(self.encrypted_key)),
            (LOCKED, Value::Bool(self.is_locked)),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value));
        metadata.insert(ENCRYPTION.to_owned(), Value::Map(BTreeMap::from(entries)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encryption_in_metadata_reads_back() {
        let encryption = EncryptionInfo {
            plugin: "rosbag/AesCbcEncryptor".to_owned(),
            user: "*".to_owned(),
            encrypted_key: "key".to_owned(),
            is_locked: true,
        };
        let mut manifest = Manifest::default();
        assert_eq!(EncryptionInfo::from_manifest(&manifest), None);
        encryption.clone().add_to(&mut manifest.metadata);
        assert_eq!(EncryptionInfo::from_manifest(&manifest), Some(encryption));
    }
}
