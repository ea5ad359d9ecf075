//! Numbers as JSON writes them: integers and floats, and NaN and infinities, which JSON has
//! no number for and Python's `json` writes all the same.

/// What they are called: by Python bare, by the JSON of protocol buffers as texts.
const NAMES: [(&str, f64); 3] =
    [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

/// Returns the float that the JSON text `json` is, correctly rounded: a number, or the name
/// of a special value, with or without quotation marks.
pub(super) fn float(json: &str) -> Option<f64> {
    let unquoted = json.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    match unquoted {
        Some(text) => special(text),
        // Rust also parses `inf` and `nan`, which start with a letter.
        None => json.parse().ok().filter(|_| is_number(json)),
    }
}

/// Returns the integer that the JSON number `json` is, also if it is written as `2.0` or
/// `1e3`.
pub(super) fn integer(json: &str) -> Option<i128> {
    if let Ok(value) = json.parse::<i64>() {
        return Some(value.into());
    }
    let (negative, digits) = match json.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, json),
    };
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let significant = format!("{whole}{fraction}");
    let significant = significant.trim_start_matches('0');
    if !is_number(json) || significant.is_empty() {
        return is_number(json).then_some(0);
    }
    let zeros = exponent.parse::<i64>().ok()?.checked_sub(fraction.len() as i64)?;
    let digits = match usize::try_from(zeros) {
        // An i128 has at most 39 digits.
        Ok(zeros) if zeros <= 39 => format!("{significant}{}", "0".repeat(zeros)),
        Ok(_) => return None,
        Err(_) => {
            let kept = significant.trim_end_matches('0');
            let removed = usize::try_from(zeros.checked_neg()?).ok()?;
            let len = significant.len().checked_sub(removed)?;
            (len >= kept.len()).then(|| significant[..len].to_owned())?
        }
    };
    let magnitude: i128 = digits.parse().ok()?;
    Some(if negative { -magnitude } else { magnitude })
}

/// Whether `json`, which is a JSON value, is a number.
fn is_number(json: &str) -> bool {
    json.starts_with(|first: char| first == '-' || first.is_ascii_digit())
}

/// Returns the special value that has the name `text`.
fn special(text: &str) -> Option<f64> {
    NAMES.iter().find(|(name, _)| *name == text).map(|(_, number)| *number)
}

/// Returns `json` with the name of each special value in quotation marks, or `None` if
/// `json` has none.
pub(super) fn quote_special_values(json: &[u8]) -> Option<Vec<u8>> {
    let mut quoted = Vec::with_capacity(json.len() + 16);
    let (mut rest, mut is_changed) = (json, false);
    while let Some((&first, after)) = rest.split_first() {
        let len = match first {
            b'"' => text_len(rest),
            _ if is_of_word(first) => {
                rest.iter().take_while(|byte| is_of_word(**byte)).count()
            }
            _ => rest.len() - after.len(),
        };
        let (piece, after) = rest.split_at(len.min(rest.len()));
        match str::from_utf8(piece).is_ok_and(|word| special(word).is_some()) {
            true => {
                quoted.extend([b"\"", piece, b"\""].concat());
                is_changed = true;
            }
            false => quoted.extend(piece),
        }
        rest = after;
    }
    is_changed.then_some(quoted)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)
}

/// How long the text is with which `json` begins, with its quotation marks.
fn text_len(json: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = json.iter().skip(1).position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(json.len(), |end| end + 2)
}
