//! Finds the shortest decimal number that reads back as the same `f32`.
//!
//! This is the algorithm of Raffaello Giulietti, "The Schubfach way to render doubles" (2022),
//! for 32-bit floats. Among the decimals with the fewest digits between the midpoints to the
//! neighbours of a float, it finds the nearest. It needs a few multiplications and no loop;
//! this matters because it is the most expensive step of writing a log as text.

/// The number `digits × 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    /// Less than 10^9; may end in zeros.
    pub(crate) digits: u32,
    /// The exponent of ten.
    pub(crate) exponent: i32,
}

/// Returns the shortest decimal for the positive, finite `value`.
#[inline]
pub(crate) fn shortest_decimal(value: f32) -> Decimal {
    let bits = value.to_bits();
    let (fraction, biased_exponent) = (bits & 0x7f_ffff, ((bits >> 23) & 0xff) as i32);
    // The names c, q and k are those of the paper: value = c × 2^q, and the result is a multiple
    // of 10^k.
    let (c, q) = match biased_exponent {
        0 => (fraction, -149),
        _ => (fraction | 0x80_0000, biased_exponent - 150),
    };
    if (-23..=0).contains(&q) && c & ((1 << -q) - 1) == 0 {
        return Decimal { digits: c >> -q, exponent: 0 }; // an integer
    }
    // At a power of two the spacing of floats changes; the lower midpoint is nearer.
    let is_power_of_two = fraction == 0 && biased_exponent > 1;
    let is_odd = c & 1; // then the midpoints themselves read back as a neighbour
    let k = (q * 1_262_611 - if is_power_of_two { 524_031 } else { 0 }) >> 22;
    let shift = q + ((-k * 1_741_647) >> 19) + 1;
    let Some(power) = usize::try_from(31 - k).ok().and_then(|k| POWERS_OF_TEN.get(k))
    else {
        return Decimal { digits: 0, exponent: 0 }; // unreachable: no float has this exponent
    };
    // Four times the float and its midpoints, in units of 10^k.
    let scaled = |quarters: u32| {
        let product = u128::from(*power) * u128::from(quarters << shift);
        let (integer, fraction) = ((product >> 64) as u32, (product >> 32) as u32);
        integer | u32::from(fraction > 1)
    };
    let lower = scaled(4 * c - 2 + u32::from(is_power_of_two)) + is_odd;
    let middle = scaled(4 * c);
    let upper = scaled(4 * c + 2) - is_odd;

    // The candidates are the multiples of 10^k below and above the float, and then those of
    // 10^(k + 1), which have one digit fewer. Each condition is unpredictable, so it is computed
    // without a branch.
    let floor = middle / 4;
    let is_floor_inside = lower <= 4 * floor;
    let is_ceiling_inside = 4 * floor + 4 <= upper;
    let (half, is_floor_odd) = (4 * floor + 2, floor & 1 == 1);
    let is_ceiling_nearer = (middle > half) | ((middle == half) & is_floor_odd);
    let is_one_inside = is_floor_inside != is_ceiling_inside;
    let rounds_up =
        (is_one_inside & is_ceiling_inside) | (!is_one_inside & is_ceiling_nearer);
    let long = floor + u32::from(rounds_up);

    let short_floor = floor / 10;
    let is_short_floor_inside = lower <= 40 * short_floor;
    let is_short_ceiling_inside = 40 * short_floor + 40 <= upper;
    let is_short = (floor >= 10) & (is_short_floor_inside != is_short_ceiling_inside);
    let short = short_floor + u32::from(is_short_ceiling_inside);
    let digits = if is_short { short } else { long };
    Decimal { digits, exponent: k + i32::from(is_short) }
}

/// The powers of ten from 10^-31 to 10^45, each scaled by a power of two to 64 bits and rounded up.
#[rustfmt::skip]
const POWERS_OF_TEN: [u64; 77] = [
    0x81ceb32c4b43fcf5, 0xa2425ff75e14fc32, 0xcad2f7f5359a3b3f, 0xfd87b5f28300ca0e,
    0x9e74d1b791e07e49, 0xc612062576589ddb, 0xf79687aed3eec552, 0x9abe14cd44753b53,
    0xc16d9a0095928a28, 0xf1c90080baf72cb2, 0x971da05074da7bef, 0xbce5086492111aeb,
    0xec1e4a7db69561a6, 0x9392ee8e921d5d08, 0xb877aa3236a4b44a, 0xe69594bec44de15c,
    0x901d7cf73ab0acda, 0xb424dc35095cd810, 0xe12e13424bb40e14, 0x8cbccc096f5088cc,
    0xafebff0bcb24aaff, 0xdbe6fecebdedd5bf, 0x89705f4136b4a598, 0xabcc77118461cefd,
    0xd6bf94d5e57a42bd, 0x8637bd05af6c69b6, 0xa7c5ac471b478424, 0xd1b71758e219652c,
    0x83126e978d4fdf3c, 0xa3d70a3d70a3d70b, 0xcccccccccccccccd, 0x8000000000000000,
    0xa000000000000000, 0xc800000000000000, 0xfa00000000000000, 0x9c40000000000000,
    0xc350000000000000, 0xf424000000000000, 0x9896800000000000, 0xbebc200000000000,
    0xee6b280000000000, 0x9502f90000000000, 0xba43b74000000000, 0xe8d4a51000000000,
    0x9184e72a00000000, 0xb5e620f480000000, 0xe35fa931a0000000, 0x8e1bc9bf04000000,
    0xb1a2bc2ec5000000, 0xde0b6b3a76400000, 0x8ac7230489e80000, 0xad78ebc5ac620000,
    0xd8d726b7177a8000, 0x878678326eac9000, 0xa968163f0a57b400, 0xd3c21bcecceda100,
    0x84595161401484a0, 0xa56fa5b99019a5c8, 0xcecb8f27f4200f3a, 0x813f3978f8940985,
    0xa18f07d736b90be6, 0xc9f2c9cd04674edf, 0xfc6f7c4045812297, 0x9dc5ada82b70b59e,
    0xc5371912364ce306, 0xf684df56c3e01bc7, 0x9a130b963a6c115d, 0xc097ce7bc90715b4,
    0xf0bdc21abb48db21, 0x96769950b50d88f5, 0xbc143fa4e250eb32, 0xeb194f8e1ae525fe,
    0x92efd1b8d0cf37bf, 0xb7abc627050305ae, 0xe596b7b0c643c71a, 0x8f7e32ce7bea5c70,
    0xb35dbf821ae4f38c,
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with zmij, an independent implementation.
    #[test]
    fn digits_agree_with_zmij() {
        let check = |bits: u32| {
            let value = f32::from_bits(bits);
            let decimal = shortest_decimal(value);
            let text = format!("{}e{}", decimal.digits, decimal.exponent);
            assert_eq!(text.parse::<f32>().unwrap().to_bits(), bits, "{text}");
            let digits = |text: &str| -> String {
                let digits = text.split('e').next().unwrap().replace('.', "");
                digits.trim_matches('0').to_owned()
            };
            let zmij_text = zmij::Buffer::new().format_finite(value).to_owned();
            assert_eq!(digits(&text), digits(&zmij_text), "{value:?}");
        };
        for exponent in 0..255_u32 {
            for fraction in [0, 1, 2, 3, 0x3f_ffff, 0x40_0000, 0x7f_fffe, 0x7f_ffff] {
                check(((exponent << 23) | fraction).max(1));
            }
        }
        let mut bits = 1_u32;
        for _ in 0..200_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let positive = bits & 0x7fff_ffff;
            if f32::from_bits(positive).is_finite() && positive != 0 {
                check(positive);
            }
        }
    }
}
