//! Remarks about a bag, and its metadata.

use std::collections::{BTreeMap, BTreeSet};

use logtool_core::{MetadataKey, Value, decode_text};

use crate::{
    codec::encryption_info::EncryptionInfo,
    connections::connection_trust::differing_header_topic,
    file::file_header::FileHeader, manifest::manifest_builder::ManifestBuilder,
};

/// The maximum number of connections that a remark lists, or that have a remark.
const MAX_LISTED: usize = 8;

impl ManifestBuilder {
    /// Adds remarks about anomalies. `undeclared_ids` are the ids in messages for which no
    /// connection is declared.
    pub(super) fn add_warnings(&mut self, undeclared_ids: &BTreeSet<u32>) {
        for name in self.compression.unsupported() {
            self.remarks.push(format!(
                "chunks that are compressed with {name:?} cannot be read: only \"none\", \
                 \"bz2\" and \"lz4\" are supported"
            ));
        }
        // The declarations may lie in chunks that cannot be read.
        let is_complete = !self.is_locked && self.unreadable_reason.is_none();
        if !undeclared_ids.is_empty() && is_complete {
            let ids: Vec<String> =
                undeclared_ids.iter().take(MAX_LISTED).map(u32::to_string).collect();
            let ids = ids.join(", ");
            self.remarks.push(format!(
                "messages of undeclared connections cannot be read: {ids}"
            ));
        }
        if self.conflicts.reused > 0 {
            self.remarks.push(format!(
                "connection ids that were reused for other connections: {}",
                self.conflicts.reused
            ));
        }
        let connections = self.table.entries.iter().map(|entry| &entry.connection);
        let renamed = connections.filter_map(|connection| {
            Some((connection, differing_header_topic(connection)?))
        });
        for (connection, inner) in renamed.take(MAX_LISTED) {
            let (id, topic, inner) =
                (connection.id, &connection.topic, decode_text(inner));
            self.remarks.push(format!(
                "the connection {id} has the topic {topic:?}, but its header names \
                 {inner:?}: it was renamed, or one of the two is wrong"
            ));
        }
        if self.conflicts.misnamed > 0 {
            self.remarks.push(format!(
                "connections whose topic differs between the index, a chunk and their own \
                 header; the name in the header is used: {}",
                self.conflicts.misnamed
            ));
        }
    }

    /// Returns the metadata of the bag.
    pub(super) fn metadata(&self, file_header: &FileHeader) -> BTreeMap<String, Value> {
        let (major, minor) = file_header.version.unwrap_or((2, 0));
        let mut metadata = BTreeMap::from([
            (MetadataKey::BagVersion.into(), Value::Text(format!("{major}.{minor}"))),
            (MetadataKey::Chunks.into(), self.compression.to_value()),
        ]);
        if !file_header.encryptor.is_empty() {
            let info = EncryptionInfo {
                plugin: file_header.encryptor.clone(),
                user: file_header.user.clone(),
                encrypted_key: file_header.encrypted_key.clone(),
                is_locked: self.is_locked,
            };
            info.add_to(&mut metadata);
        }
        metadata
    }
}
