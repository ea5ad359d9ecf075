//! Sums the lengths of the strings and bytes of a column before they are decoded.
//!
//! Some encodings share the bytes of values, so that a few bytes in the file can become gigabytes
//! in memory:
//!
//! ```text
//! dictionary page        u32 length, bytes; ... (encoding PLAIN)
//! RLE_DICTIONARY         bit width u8 | runs: varint count << 1, value
//!                                           | varint groups << 1 | 1, packed groups of 8 values
//! DELTA_BYTE_ARRAY       prefix lengths | suffix lengths | suffixes
//! DELTA_LENGTH_BYTE_ARRAY  lengths | bytes
//! lengths                DELTA_BINARY_PACKED: varint values in a block | varint miniblocks in a
//!                        block | varint count | zigzag first value
//!                        | blocks: zigzag least delta | a bit width for each miniblock | deltas
//! ```
//!
//! (Parquet, "Encodings".)

use logtool_core::ByteReader;
use parquet::{basic::Encoding, column::page::Page};

/// The sum of the lengths of the values of a column, and the length of the longest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ValueSizes {
    pub(super) total: u64,
    pub(super) longest: u64,
}

/// Sums the lengths of the values in the pages of a column of byte arrays.
#[derive(Default)]
pub(super) struct ValueSizeSum {
    dictionary: Vec<u32>,
    pub(super) sizes: ValueSizes,
}

/// The maximum definition level and repetition level of a column.
#[derive(Clone, Copy)]
pub(super) struct MaxLevels {
    pub(super) definition: i16,
    pub(super) repetition: i16,
}

impl ValueSizeSum {
    /// Adds the values of `page`. Returns `None` if the page is damaged: it must not be decoded.
    pub(super) fn add(&mut self, page: &Page, levels: MaxLevels) -> Option<()> {
        if let Page::DictionaryPage { buf, .. } = page {
            let mut reader = ByteReader::new(buf);
            while !reader.remaining().is_empty() {
                let len = reader.u32()?;
                reader.bytes(len as usize)?;
                self.dictionary.push(len);
            }
            return Some(());
        }
        let values = encoded_values(page, levels)?;
        let sizes = match page.encoding() {
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => {
                self.dictionary_sizes(values, page.num_values().into())?
            }
            Encoding::DELTA_BYTE_ARRAY => {
                let (prefixes, remaining) = delta_lengths(values, page.num_values())?;
                let (suffixes, _) = delta_lengths(remaining, page.num_values())?;
                let lengths = prefixes.iter().zip(&suffixes);
                sizes_of(lengths.map(|(prefix, suffix)| prefix.saturating_add(*suffix)))
            }
            Encoding::DELTA_LENGTH_BYTE_ARRAY => {
                sizes_of(delta_lengths(values, page.num_values())?.0.into_iter())
            }
            // Each value has its own bytes in the page.
            _ => {
                let len = values.len() as u64;
                ValueSizes { total: len, longest: len }
            }
        };
        self.sizes.total = self.sizes.total.saturating_add(sizes.total);
        self.sizes.longest = self.sizes.longest.max(sizes.longest);
        Some(())
    }

    /// Returns the sizes of up to `count` values, which are indices into the dictionary.
    fn dictionary_sizes(&self, values: &[u8], mut count: u64) -> Option<ValueSizes> {
        let mut sizes = ValueSizes::default();
        let mut add = |index: u64, count: u64| {
            let len = usize::try_from(index).ok().and_then(|i| self.dictionary.get(i));
            let len = u64::from(len.copied().unwrap_or_default());
            sizes.total = sizes.total.saturating_add(len.saturating_mul(count));
            sizes.longest = sizes.longest.max(len);
        };
        let Some((width, mut runs)) = values.split_first() else {
            return Some(sizes);
        };
        let width = u32::from(*width).min(32);
        while count > 0 && !runs.is_empty() {
            let header = varint(&mut runs)?;
            if header & 1 == 0 {
                let mut value = [0; 4];
                let bytes = runs.get(..width.div_ceil(8) as usize)?;
                value.get_mut(..bytes.len())?.copy_from_slice(bytes);
                runs = runs.get(bytes.len()..)?;
                let len = (header >> 1).min(count);
                add(u32::from_le_bytes(value).into(), len);
                count -= len;
            } else {
                let len = (header >> 1).saturating_mul(8).min(count);
                (0..len)
                    .for_each(|at| add(bits(runs, at * u64::from(width), width), 1));
                let packed = (header >> 1).saturating_mul(width.into());
                let packed = usize::try_from(packed).unwrap_or(usize::MAX);
                // The last groups may be incomplete.
                runs = runs.get(packed..).unwrap_or_default();
                count -= len;
            }
        }
        Some(sizes)
    }
}

fn sizes_of(lengths: impl Iterator<Item = u64>) -> ValueSizes {
    lengths.fold(ValueSizes::default(), |sizes, len| ValueSizes {
        total: sizes.total.saturating_add(len),
        longest: sizes.longest.max(len),
    })
}

/// Returns the bytes of a data page after its levels.
fn encoded_values(page: &Page, levels: MaxLevels) -> Option<&[u8]> {
    match page {
        Page::DataPage { buf, .. } => {
            let mut reader = ByteReader::new(buf);
            for max_level in [levels.repetition, levels.definition] {
                if max_level > 0 {
                    let len = reader.u32()?;
                    reader.bytes(len as usize)?;
                }
            }
            Some(reader.remaining())
        }
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            let len = def_levels_byte_len.checked_add(*rep_levels_byte_len)?;
            buf.get(len as usize..)
        }
        Page::DictionaryPage { .. } => None,
    }
}

/// Parses up to `max_count` lengths at the start of `bytes`, and returns them and the bytes after
/// them. Returns `None` if there are more, or if they are damaged.
fn delta_lengths(mut bytes: &[u8], max_count: u32) -> Option<(Vec<u64>, &[u8])> {
    let (block_len, miniblocks) = (varint(&mut bytes)?, varint(&mut bytes)?);
    let count = varint(&mut bytes)?;
    let mut last = zigzag(varint(&mut bytes)?);
    if count > max_count.into() || miniblocks == 0 || block_len % miniblocks != 0 {
        return None;
    }
    let miniblock_len = block_len / miniblocks;
    let mut lengths = Vec::new();
    if count > 0 {
        lengths.push(u64::try_from(last).ok()?);
    }
    while (lengths.len() as u64) < count {
        let least = zigzag(varint(&mut bytes)?);
        let (widths, remaining) =
            bytes.split_at_checked(usize::try_from(miniblocks).ok()?)?;
        bytes = remaining;
        for width in widths {
            let missing = count - lengths.len() as u64;
            if missing == 0 {
                break;
            }
            let width = u32::from(*width).min(64);
            for at in 0..miniblock_len.min(missing) {
                let delta = bits(bytes, at.checked_mul(width.into())?, width) as i64;
                last = last.wrapping_add(least).wrapping_add(delta);
                lengths.push(u64::try_from(last).ok()?);
            }
            let len = miniblock_len.checked_mul(width.into())? / 8;
            // The last miniblock may be incomplete.
            bytes = bytes.get(usize::try_from(len).ok()?..).unwrap_or_default();
        }
        if miniblock_len == 0 {
            return None;
        }
    }
    Some((lengths, bytes))
}

/// Returns the number in the `width` bits of `bytes` from the bit `start` on, the lowest bits
/// first. Missing bytes are zero.
fn bits(bytes: &[u8], start: u64, width: u32) -> u64 {
    let first = usize::try_from(start / 8).unwrap_or(usize::MAX);
    let mut window = [0; 16];
    let available = bytes.get(first..).unwrap_or_default();
    for (target, byte) in window.iter_mut().zip(available.iter().take(9)) {
        *target = *byte;
    }
    let number = u128::from_le_bytes(window) >> (start % 8);
    (number & ((1 << width) - 1)) as u64
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, remaining) = bytes.split_first()?;
        *bytes = remaining;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const FLAT: MaxLevels = MaxLevels { definition: 0, repetition: 0 };

    fn data_page(encoding: Encoding, num_values: u32, values: &[u8]) -> Page {
        Page::DataPage {
            buf: Bytes::copy_from_slice(values),
            num_values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        }
    }

    fn dictionary(lengths: &[u32]) -> Page {
        let value =
            |len: &u32| [&len.to_le_bytes()[..], &vec![b'x'; *len as usize]].concat();
        Page::DictionaryPage {
            buf: lengths.iter().flat_map(value).collect::<Vec<u8>>().into(),
            num_values: lengths.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        }
    }

    #[test]
    fn runs_of_a_dictionary_are_summed_without_decoding_them() {
        let mut sum = ValueSizeSum::default();
        sum.add(&dictionary(&[3, 1000]), FLAT).unwrap();
        // A bit for each index; a run of 100,000 times index 1; then a group of eight packed
        // indices, four of them 1: 0b01010101.
        let run = 100_000_u32 << 1;
        let varint = [
            0x80 | (run & 0x7f) as u8,
            0x80 | (run >> 7 & 0x7f) as u8,
            (run >> 14) as u8,
        ];
        let values = [&[1][..], &varint, &[1, 1 << 1 | 1, 0x55]].concat();
        let page = data_page(Encoding::RLE_DICTIONARY, 100_008, &values);
        sum.add(&page, FLAT).unwrap();
        let total = 100_004 * 1000 + 4 * 3;
        assert_eq!(sum.sizes, ValueSizes { total, longest: 1000 });
        // Levels come first, with their lengths.
        let values = [&[2, 0, 0, 0, 9, 9][..], &[1, 2 << 1, 1]].concat();
        let page = data_page(Encoding::PLAIN_DICTIONARY, 2, &values);
        sum.add(&page, MaxLevels { definition: 1, repetition: 0 }).unwrap();
        assert_eq!(sum.sizes.total, total + 2000);
    }

    #[test]
    fn prefixes_count_for_each_value_that_shares_them() {
        // By the specification: 128 values in a block, 4 miniblocks. The prefix lengths are
        // 0, 5, 5: the deltas are 5 and 0, the least is 0, and they have 3 bits.
        let prefixes =
            [&[0x80, 1, 4, 3, 0, 0, 3, 0, 0, 0][..], &[5], &[0; 11]].concat();
        // The suffix lengths are 5, 1, 1: the deltas are -4 and 0, and the least is -4.
        let suffixes =
            [&[0x80, 1, 4, 3, 10, 7, 3, 0, 0, 0][..], &[4 << 3], &[0; 11]].concat();
        let values = [&prefixes, &suffixes, &b"helloab"[..]].concat();
        let page = data_page(Encoding::DELTA_BYTE_ARRAY, 3, &values);
        let mut sum = ValueSizeSum::default();
        sum.add(&page, FLAT).unwrap();
        assert_eq!(sum.sizes, ValueSizes { total: 5 + 6 + 6, longest: 6 });
    }

    #[test]
    fn lengths_that_the_page_does_not_have_are_damage() {
        // A header that declares 2^35 lengths for a page of 3 values.
        let values = [0x80, 1, 4, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 0];
        for encoding in [Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY]
        {
            let page = data_page(encoding, 3, &values);
            assert!(ValueSizeSum::default().add(&page, FLAT).is_none());
        }
    }
}
