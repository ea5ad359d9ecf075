//! Writes numbers as text directly into the output buffer.
//!
//! Eight digits are computed at once in the bytes of a 64-bit integer; the lowest byte is the
//! first digit. They are stored with overlapping 8-byte stores that may extend past the end of
//! the text. Nothing is read back, because the processor would have to wait for the stores.
//! Formatting numbers takes most of the time of writing a log as text.

use crate::text::shortest_decimal::shortest_decimal;

/// The buffer that a number is written to; it is larger than the longest number.
pub(crate) type NumberBuffer = [u8; 32];

/// Writes `text` to the start of `buffer` and returns its length.
pub(crate) fn write_text(text: &[u8], buffer: &mut NumberBuffer) -> usize {
    buffer.iter_mut().zip(text).for_each(|(target, byte)| *target = *byte);
    text.len().min(buffer.len())
}

/// Added to eight digits from 0 to 9, this makes them ASCII characters.
const ASCII: u64 = u64::from_le_bytes([b'0'; 8]);

/// Writes an integer to the start of `buffer` and returns its length, or `None` if it has more
/// than 16 digits.
#[inline]
pub(crate) fn write_integer(
    magnitude: u64,
    is_negative: bool,
    buffer: &mut NumberBuffer,
) -> Option<usize> {
    // The digits overwrite the minus sign of a number that is not negative.
    buffer[0] = b'-';
    let sign_len = usize::from(is_negative);
    let Ok(short) = u32::try_from(magnitude) else {
        return write_long_integer(magnitude, sign_len, buffer);
    };
    if short >= 100_000_000 {
        return write_long_integer(magnitude, sign_len, buffer);
    }
    let digits = digits8(short);
    let leading_zeros = (digits.trailing_zeros() / 8).min(7); // zero has one digit, too
    store8(buffer, sign_len, (digits | ASCII) >> (8 * leading_zeros));
    Some(sign_len + 8 - leading_zeros as usize)
}

/// Writes the digits of an integer of 9 to 16 digits after a sign of length `sign_len`, and returns
/// the length of the text. Returns `None` if the integer has more digits.
fn write_long_integer(
    magnitude: u64,
    sign_len: usize,
    buffer: &mut NumberBuffer,
) -> Option<usize> {
    if magnitude >= 10_000_000_000_000_000 {
        return None;
    }
    let high_digits = digits8((magnitude / 100_000_000) as u32);
    let low_digits = digits8((magnitude % 100_000_000) as u32);
    let leading_zeros = high_digits.trailing_zeros() / 8;
    let low_offset = sign_len + 8 - leading_zeros as usize;
    store8(buffer, sign_len, (high_digits | ASCII) >> (8 * leading_zeros));
    store8(buffer, low_offset, low_digits | ASCII);
    Some(low_offset + 8)
}

/// Writes a float to the start of `buffer`, e.g. as `0.25` or `1.0`, and returns its length.
/// Returns `None` for numbers that need an exponent, and for NaN and infinities.
#[inline]
pub(crate) fn write_float(value: f32, buffer: &mut NumberBuffer) -> Option<usize> {
    let magnitude = value.abs();
    if !(1e-4..1e8).contains(&magnitude) {
        return None;
    }
    let decimal = shortest_decimal(magnitude);
    // Scaled to nine digits: 10^8 ≤ nine_digits < 10^9.
    let len = decimal_len(decimal.digits);
    let scale = POWERS_OF_TEN.get(9 - len as usize).copied().unwrap_or(0);
    let nine_digits = decimal.digits * scale;
    let first_digit = b'0' + (nine_digits / 100_000_000) as u8;
    let other_digits = digits8(nine_digits % 100_000_000);
    let significant_len = 9 - other_digits.leading_zeros() as usize / 8; // no trailing zeros
    let other_digits = other_digits | ASCII;

    // The digits overwrite the minus sign of a number that is not negative.
    buffer[0] = b'-';
    let sign_len = usize::from(value < 0.0);
    let integer_len = len as i32 + decimal.exponent; // the digits before the decimal point
    if integer_len > 0 {
        let integer_len = integer_len as usize & 15;
        // All digits are stored without a point, and those after the point again one byte later.
        store8(buffer, sign_len + 1, other_digits);
        buffer[sign_len] = first_digit;
        store8(
            buffer,
            sign_len + integer_len + 1,
            other_digits >> (8 * (integer_len - 1)),
        );
        buffer[sign_len + integer_len] = b'.';
        Some(sign_len + significant_len.max(integer_len + 1) + 1)
    } else {
        let prefix_len = (2 + integer_len.unsigned_abs() as usize) & 15; // e.g. of `0.00`
        store8(buffer, sign_len, u64::from_le_bytes(*b"0.000000"));
        store8(buffer, sign_len + prefix_len + 1, other_digits);
        buffer[sign_len + prefix_len] = first_digit;
        Some(sign_len + prefix_len + significant_len)
    }
}

/// Stores eight bytes at `offset`, which must be less than 16.
#[inline(always)]
fn store8(buffer: &mut NumberBuffer, offset: usize, bytes: u64) {
    if let Some(target) = buffer[offset & 15..].first_chunk_mut() {
        *target = bytes.to_le_bytes();
    }
}

/// Returns the number of digits of `value`, which must be 1 to 10^9 - 1.
#[inline(always)]
fn decimal_len(value: u32) -> u32 {
    // The number of bits times log10(2), or one more.
    let estimate = ((32 - value.leading_zeros()) * 1_233) >> 12;
    let next_power = POWERS_OF_TEN.get(estimate as usize).copied().unwrap_or(u32::MAX);
    estimate + u32::from(value >= next_power)
}

const POWERS_OF_TEN: [u32; 10] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
];

/// Returns the eight decimal digits of `value` as bytes from 0 to 9; the lowest byte is the
/// first digit.
#[inline(always)]
fn digits8(value: u32) -> u64 {
    let value = u64::from(value);
    // Split into two numbers of four digits, then four of two, then eight of one:
    // x / 100 is x × 10486 / 2^20 for all x below 10^4, x / 10 is x × 103 / 2^10 for all x
    // below 100.
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - 10 * tens) << 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(
        write_to: impl FnOnce(&mut NumberBuffer) -> Option<usize>,
    ) -> Option<String> {
        let mut buffer = [b'?'; 32];
        let len = write_to(&mut buffer)?;
        Some(std::str::from_utf8(&buffer[..len]).unwrap().to_owned())
    }

    #[test]
    fn integers_are_written_with_all_digits() {
        let numbers = (0..20_000).chain((0..62).map(|bit| (1 << bit) - 1));
        let powers_of_ten = (0..18).flat_map(|n| [10_u64.pow(n) - 1, 10_u64.pow(n)]);
        for number in numbers.chain(powers_of_ten) {
            let expected = number.to_string();
            let is_short = expected.len() <= 16;
            let actual = text(|buffer| write_integer(number, true, buffer));
            assert_eq!(actual, is_short.then(|| format!("-{expected}")));
            let actual = text(|buffer| write_integer(number, false, buffer));
            assert_eq!(actual, is_short.then_some(expected));
        }
    }

    /// Compares with zmij, an independent implementation.
    #[test]
    fn floats_agree_with_zmij() {
        let mut unsupported = 0;
        let mut check = |value: f32| {
            let expected = zmij::Buffer::new().format(value).to_owned();
            match text(|buffer| write_float(value, buffer)) {
                Some(actual) => assert_eq!(actual, expected, "{value:?}"),
                None => unsupported += 1,
            }
        };
        for i in -2_000..2_000_i16 {
            let n = f32::from(i);
            for value in [n, n / 8.0, n / 10.0, n / 1e3, n / 1e6, n * 1e4, n * 1e9] {
                check(value);
            }
        }
        let mut bits = 1_u32;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            check(f32::from_bits(bits));
            check(f32::from_bits(
                (0x3c00_0000 + (bits & 0x07ff_ffff)) | (bits & (1 << 31)),
            ));
        }
        assert!(unsupported < 220_000, "{unsupported} of 428000");
    }
}
