//! The header of a new connection.

use std::collections::BTreeMap;

use logtool_core::{ByteReader, Error, ErrorKind, Result};

use crate::write::encode;

/// The header of a new connection: its topic, its type, and its publisher.
///
/// ```
/// use logtool_rosbag::ConnectionHeader;
///
/// let header = ConnectionHeader::new("/chatter", "std_msgs/String", "string data\n")
///     .with_caller("/talker")
///     .with_latching();
/// // The value of `rosmsg md5 std_msgs/String`.
/// assert_eq!(header.md5sum()?, "992ce8a1687cec8c8bd883ec73ca41d1");
/// # Ok::<(), logtool_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionHeader {
    topic: String,
    type_name: String,
    definition: String,
    md5sum: Option<String>,
    caller: Option<String>,
    latching: Option<String>,
    /// Fields that ROS does not define.
    other_fields: Vec<(String, String)>,
}

impl ConnectionHeader {
    /// Creates the header of a connection on `topic` whose messages have the type `type_name`.
    /// `definition` is the text of that type, followed by the types of its fields, each after
    /// a line of 80 `=` and a line `MSG: package/Type`.
    pub fn new(topic: &str, type_name: &str, definition: &str) -> Self {
        Self {
            topic: topic.to_owned(),
            type_name: type_name.to_owned(),
            definition: definition.to_owned(),
            md5sum: None,
            caller: None,
            latching: Some("0".to_owned()),
            other_fields: Vec::new(),
        }
    }

    /// Sets the name of the publishing node.
    #[must_use]
    pub fn with_caller(mut self, caller: &str) -> Self {
        self.caller = Some(caller.to_owned());
        self
    }

    /// Sets the MD5 sum, instead of computing it from the definition.
    #[must_use]
    pub fn with_md5sum(mut self, md5sum: &str) -> Self {
        self.md5sum = Some(md5sum.to_owned());
        self
    }

    /// Declares that late subscribers get the last message.
    #[must_use]
    pub fn with_latching(mut self) -> Self {
        self.latching = Some("1".to_owned());
        self
    }

    /// Sets the string in the field `latching`, or removes the field.
    #[must_use]
    pub(crate) fn with_latching_value(mut self, text: Option<&str>) -> Self {
        self.latching = text.map(str::to_owned);
        self
    }

    /// Adds a field that ROS does not define.
    #[must_use]
    pub(crate) fn with_field(mut self, name: &str, value: &str) -> Self {
        self.other_fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the topic.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Returns the MD5 sum.
    ///
    /// # Errors
    /// `Malformed` or `Unsupported` if no sum is set, and none can be computed from the
    /// definition.
    pub fn md5sum(&self) -> Result<String> {
        match &self.md5sum {
            Some(md5sum) => Ok(md5sum.clone()),
            None => logtool_rosmsg::md5sum(&self.type_name, &self.definition),
        }
    }

    /// Encodes the fields in the form of a bag.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let md5sum = self.md5sum()?;
        // In alphabetical order, as in ROS.
        let mut fields = BTreeMap::from([
            ("md5sum", &*md5sum),
            ("message_definition", &*self.definition),
            ("topic", &*self.topic),
            ("type", &*self.type_name),
        ]);
        fields.extend(self.caller.iter().map(|caller| ("callerid", &**caller)));
        fields.extend(self.latching.iter().map(|latching| ("latching", &**latching)));
        fields
            .extend(self.other_fields.iter().map(|(name, value)| (&**name, &**value)));
        let mut bytes = Vec::new();
        for (name, value) in fields {
            encode::field(&mut bytes, name.as_bytes(), value.as_bytes());
        }
        Ok(bytes)
    }
}

/// The lengths of a topic name and of a header that are too long for new bags: readers, including
/// this crate, treat them as invalid.
const TOO_LONG_TOPIC: usize = 1 << 19;
const TOO_LONG_HEADER: usize = 64 << 20;

/// Checks that readers accept the lengths of a topic name and of the header of a connection.
pub(crate) fn check_lengths(topic: &[u8], header: &[u8]) -> Result<()> {
    let message = match (topic.len(), header.len()) {
        (0, _) => "the topic of a connection is empty",
        (TOO_LONG_TOPIC.., _) => {
            "a topic name has 512 KiB or more, which readers reject"
        }
        (_, TOO_LONG_HEADER..) => {
            "the header of a connection, with its definition, has 64 MiB or more, which readers \
             reject"
        }
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::Limit, message))
}

/// Returns `header`, the fields of a connection, with `topic` in place of the topic, if it has one.
/// All other bytes are unchanged.
pub(crate) fn with_topic(header: &[u8], topic: &[u8]) -> Vec<u8> {
    let (mut reader, mut renamed) =
        (ByteReader::new(header), Vec::with_capacity(header.len()));
    loop {
        let rest = reader.remaining();
        match reader.u32().and_then(|len| reader.bytes(len as usize)) {
            Some(field) if field.starts_with(b"topic=") => {
                encode::field(&mut renamed, b"topic", topic);
            }
            Some(field) => {
                let field_bytes = rest.get(..4 + field.len());
                renamed.extend_from_slice(field_bytes.unwrap_or_default());
            }
            None => {
                renamed.extend_from_slice(rest);
                return renamed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_form_of_ros() {
        let header = ConnectionHeader::new("/t", "a/B", "int8 x").with_md5sum("0f");
        let expected = b"\x0a\0\0\0latching=0\x09\0\0\0md5sum=0f\x19\0\0\0\
                     message_definition=int8 x\x08\0\0\0topic=/t\x08\0\0\0type=a/B";
        assert_eq!(header.to_bytes().unwrap(), expected);
        let header = header.with_caller("/n").with_latching().to_bytes().unwrap();
        assert!(header.starts_with(b"\x0b\0\0\0callerid=/n\x0a\0\0\0latching=1"));
    }

    #[test]
    fn renaming_changes_only_the_topic_field() {
        let header = b"\x07\0\0\0topic=x\x09\0\0\0mytopic=y\x08\0\0\0\xff=topic=";
        let expected = b"\x0a\0\0\0topic=long\x09\0\0\0mytopic=y\x08\0\0\0\xff=topic=";
        assert_eq!(with_topic(header, b"long"), expected);
        // Bytes that are not a field are unchanged.
        assert_eq!(with_topic(b"\x09\0\0\0topic=x", b"y"), b"\x09\0\0\0topic=x");
        assert_eq!(with_topic(b"\x07\0\0\0topic=x\0", b"y"), b"\x07\0\0\0topic=y\0");
        assert_eq!(with_topic(b"", b"y"), b"");
    }
}
