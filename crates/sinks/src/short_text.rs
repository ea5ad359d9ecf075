//! Short texts of numbers: made once, copied often.
//!
//! A copy of as many bytes as there happen to be is a call. What is copied here are
//! pieces of as many bytes as the compiler knows, which may overlap or hold more than
//! the text: a few instructions. What was just written in small pieces is not read back
//! in larger ones, for which a processor would have to wait.

/// The text of one number or time, of at most 32 bytes: the longest is
/// `2024-05-01T12:00:00.123456789Z` with a comma, 31.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortText {
    bytes: [u8; ShortText::MAX],
    len: usize,
}

/// Text that grows at the end, in memory that is used again and again.
#[derive(Debug, Default)]
pub(crate) struct TextBuffer {
    /// The text, and whatever bytes behind it.
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

    /// Makes it `text` and `end`, if that is not too long.
    #[inline]
    pub(crate) fn set(&mut self, text: &[u8], end: u8) {
        if let Some(place) = self.bytes.get_mut(text.len()) {
            *place = end;
            self.len = text.len() + 1;
            copy(text, &mut self.bytes);
        }
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
            self.extend(&text.bytes[..text.len]);
        }
    }

    /// Adds `text` and `end`; quickly, if there is room and the text is short.
    #[inline]
    pub(crate) fn push_with_end(&mut self, text: &[u8], end: u8) {
        let rest = self.bytes.get_mut(self.len..).unwrap_or_default();
        if let Some(place) = rest.get_mut(text.len()) {
            *place = end;
            copy(text, rest);
            self.len += text.len() + 1;
        } else {
            self.extend(text);
            self.extend(&[end]);
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

/// Copies `text` to the beginning of `place`, which is not shorter.
#[inline(always)]
fn copy(text: &[u8], place: &mut [u8]) {
    let is_copied = match text.len() {
        16..=32 => copy_ends::<16>(text, place),
        8..=15 => copy_ends::<8>(text, place),
        4..=7 => copy_ends::<4>(text, place),
        0..=3 => None,
        len => place.get_mut(..len).map(|place| place.copy_from_slice(text)),
    };
    if is_copied.is_none() {
        place.iter_mut().zip(text).for_each(|(place, byte)| *place = *byte);
    }
}

/// Copies the first and the last `N` bytes of `text`.
#[inline(always)]
fn copy_ends<const N: usize>(text: &[u8], place: &mut [u8]) -> Option<()> {
    let (first, last) = (text.first_chunk::<N>()?, text.last_chunk::<N>()?);
    let place = place.get_mut(..text.len())?;
    *place.first_chunk_mut()? = *first;
    *place.last_chunk_mut()? = *last;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_every_length_are_copied_whole() {
        let letters: Vec<u8> = (b'0'..b'z').collect();
        for len in 0..letters.len() {
            let text = &letters[..len];
            let mut buffer = TextBuffer::default();
            buffer.reserve(if len % 2 == 0 { 100 } else { 0 });
            buffer.push_with_end(text, b',');
            let mut short = ShortText::new();
            if len < ShortText::MAX {
                short.set(text, b';');
                buffer.push_short(&short);
            }
            buffer.push(b'!');
            let mut expected = [text, b","].concat();
            if len < ShortText::MAX {
                expected.extend([text, b";"].concat());
            }
            expected.push(b'!');
            assert_eq!(buffer.as_bytes(), expected);
        }
    }
}
