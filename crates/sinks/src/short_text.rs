//! Short texts of numbers: made once, copied often.

/// The text of one number or time, of at most 32 bytes: the longest is
/// `2024-05-01T12:00:00.123456789Z` with a comma, 31.
///
/// It is copied whole, wherever it goes: 32 bytes are two stores, and a copy of as many
/// bytes as there happen to be is a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortText {
    bytes: [u8; ShortText::MAX],
    len: usize,
}

/// Text that grows at the end, in memory that is used again and again.
#[derive(Debug, Default)]
pub(crate) struct TextBuffer {
    /// All zeroed or written once; the text is the first `len` bytes.
    bytes: Vec<u8>,
    len: usize,
}

impl ShortText {
    /// The most bytes.
    pub(crate) const MAX: usize = 32;

    /// No text.
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; Self::MAX], len: 0 }
    }

    /// The text `text`, which is cut after [`MAX`](Self::MAX) bytes.
    pub(crate) fn set(&mut self, text: &[u8]) {
        self.len = text.len().min(Self::MAX);
        self.bytes[..self.len].copy_from_slice(&text[..self.len]);
    }

    /// Adds `byte`, if there is room.
    pub(crate) fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl TextBuffer {
    /// Makes room for `bytes` more.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        let need = self.len + bytes;
        if self.bytes.len() < need {
            self.bytes.resize(need.next_power_of_two(), 0);
        }
    }

    /// Adds a short text; quickly, if there is room for [`ShortText::MAX`] bytes.
    #[inline]
    pub(crate) fn push_short(&mut self, text: &ShortText) {
        let rest = self.bytes.get_mut(self.len..).unwrap_or_default();
        if let Some(place) = rest.first_chunk_mut::<{ ShortText::MAX }>() {
            *place = text.bytes;
            self.len += text.len;
        } else {
            self.extend(text.as_bytes());
        }
    }

    /// Adds a text of any length, making room for it.
    pub(crate) fn extend(&mut self, text: &[u8]) {
        self.reserve(text.len());
        self.bytes[self.len..self.len + text.len()].copy_from_slice(text);
        self.len += text.len();
    }

    pub(crate) fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }
}
