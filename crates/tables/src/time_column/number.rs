//! Converts numbers to nanoseconds.

use crate::time_column::TimeUnit;

/// Converts the integer `value` in `unit` to nanoseconds, if they fit into 64 bits.
pub(crate) fn integer_nanos(value: i128, unit: TimeUnit) -> Option<i64> {
    let nanos = value.checked_mul(10_i128.pow(unit.exponent()))?;
    usable(i64::try_from(nanos).ok()?)
}

/// Converts `value` in `unit` to rounded nanoseconds, if they fit into 64 bits.
pub(crate) fn float_nanos(value: f64, unit: TimeUnit) -> Option<i64> {
    let nanos = (value * 10_f64.powi(i32::try_from(unit.exponent()).ok()?)).round();
    // 2^63 is a float, and the greatest integer is not.
    let is_inside = (-(2_f64.powi(63))..2_f64.powi(63)).contains(&nanos);
    usable(is_inside.then_some(nanos as i64)?)
}

/// Converts the decimal number `text` in `unit` to nanoseconds. Digits below a nanosecond are
/// dropped. All other digits are exact, unlike in a float.
pub(super) fn decimal_nanos(text: &str, unit: TimeUnit) -> Option<i64> {
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_decimal = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || whole.len() > 20 {
        return None;
    }
    if !is_decimal(whole) || !is_decimal(fraction) {
        return float_nanos(text.parse().ok()?, unit);
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = whole;
    let mut digits = fraction.bytes();
    for _ in 0..unit.exponent() {
        let digit = digits.next().map_or(0, |digit| digit - b'0');
        nanos = nanos.checked_mul(10)?.checked_add(i128::from(digit))?;
    }
    usable(i64::try_from(if is_negative { -nanos } else { nanos }).ok()?)
}

/// Returns `nanos` unless it stands for an unknown time.
fn usable(nanos: i64) -> Option<i64> {
    (nanos != i64::MAX && nanos != i64::MIN).then_some(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_numbers_keep_every_nanosecond() {
        let seconds = |text| decimal_nanos(text, TimeUnit::Seconds);
        assert_eq!(seconds("1717230480.123456789"), Some(1_717_230_480_123_456_789));
        assert_eq!(seconds("-0.5"), Some(-500_000_000));
        assert_eq!(seconds("+1.0000000019"), Some(1_000_000_001));
        assert_eq!(seconds(".25"), Some(250_000_000));
        assert_eq!(seconds("1.5e3"), Some(1_500_000_000_000));
        for text in ["", "-", ".", "1.2.3", "nan", "inf", "1e300", "9223372037", "x"] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert_eq!(decimal_nanos("9223372036854775807", TimeUnit::Nanos), None);
        assert_eq!(decimal_nanos("17.5", TimeUnit::Micros), Some(17_500));
    }

    #[test]
    fn numbers_beyond_64_bits_have_no_nanoseconds() {
        assert_eq!(integer_nanos(1 << 62, TimeUnit::Micros), None);
        assert_eq!(float_nanos(f64::NAN, TimeUnit::Nanos), None);
        assert_eq!(float_nanos(9.3e18, TimeUnit::Nanos), None);
        assert_eq!(float_nanos(1.5, TimeUnit::Millis), Some(1_500_000));
    }
}
