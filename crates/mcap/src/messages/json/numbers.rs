//! Parses JSON numbers, and the special values NaN and infinity. JSON does not define the
//! special values, but Python's `json` writes them.

/// The names of the special values. Python writes them without quotation marks; the JSON
/// encoding of protobuf has them as strings.
const SPECIAL_VALUES: [(&str, f64); 3] =
    [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

/// Parses the JSON text `json` as a correctly rounded float: a number, or the name of a
/// special value, with or without quotation marks.
pub(super) fn float(json: &str) -> Option<f64> {
    let unquoted = json.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match unquoted {
        Some(text) => special_value(text),
        // Rust also parses `inf` and `nan`, which start with a letter.
        None => json.parse().ok().filter(|_| is_number(json)),
    }
}

/// Parses the JSON number `json` as an integer. It may be written as `2.0` or `1e3`.
pub(super) fn integer(json: &str) -> Option<i128> {
    if let Ok(value) = json.parse::<i64>() {
        return Some(value.into());
    }
    let (negative, digits) = match json.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, json),
    };
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let significant = format!("{integer}{fraction}");
    let significant = significant.trim_start_matches('0');
    if !is_number(json) || significant.is_empty() {
        return is_number(json).then_some(0);
    }
    // The value is `significant` times ten to the power of `shift`.
    let shift = exponent.parse::<i64>().ok()?.checked_sub(fraction.len() as i64)?;
    let digits = match usize::try_from(shift) {
        // An i128 has at most 39 digits.
        Ok(zeros) if zeros <= 39 => format!("{significant}{}", "0".repeat(zeros)),
        Ok(_) => return None,
        Err(_) => {
            // The last digits are after the decimal point. They must be zeros.
            let removed_len = usize::try_from(shift.checked_neg()?).ok()?;
            let len = significant.len().checked_sub(removed_len)?;
            let nonzero_len = significant.trim_end_matches('0').len();
            (len >= nonzero_len).then(|| significant[..len].to_owned())?
        }
    };
    let magnitude: i128 = digits.parse().ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

/// Returns true if `json`, which is a valid JSON value, is a number.
fn is_number(json: &str) -> bool {
    json.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// Returns the special value with the name `text`.
fn special_value(text: &str) -> Option<f64> {
    SPECIAL_VALUES.iter().find(|(name, _)| *name == text).map(|(_, value)| *value)
}

/// Returns `json` with the names of special values in quotation marks, or `None` if it
/// has no special values.
pub(super) fn quote_special_values(json: &[u8]) -> Option<Vec<u8>> {
    let mut quoted = Vec::with_capacity(json.len() + 16);
    let (mut remaining, mut has_special_values) = (json, false);
    while let Some(first) = remaining.first() {
        let token_len = match first {
            b'"' => string_len(remaining),
            byte if is_in_word(*byte) => {
                remaining.iter().take_while(|byte| is_in_word(**byte)).count()
            }
            _ => 1,
        };
        let (token, following) = remaining.split_at(token_len.min(remaining.len()));
        if str::from_utf8(token).is_ok_and(|text| special_value(text).is_some()) {
            quoted.extend([b"\"", token, b"\""].concat());
            has_special_values = true;
        } else {
            quoted.extend(token);
        }
        remaining = following;
    }
    has_special_values.then_some(quoted)
}

/// Returns true if `byte` can be a part of a number or of a name without quotation marks.
fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)
}

/// Returns the length of the string at the start of `json`, including its quotation
/// marks.
fn string_len(json: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = json.iter().skip(1).position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |end| end + 2)
}
