//! The language as a caller sees it: values computed by hand, units, and places of errors.

#![allow(clippy::unwrap_used)]

use logtool_series::{
    Expression, ExpressionError, FieldType, FieldValues, Series, excerpt, functions,
};

const SECOND: i64 = 1_000_000_000;

/// The known fields: their names, types, times in seconds and components.
fn field(name: &str) -> (FieldType, Vec<f64>, Vec<Vec<f64>>) {
    let seconds = vec![0.0, 1.0, 2.0, 4.0];
    let number = |unit, values: [f64; 4]| {
        (FieldType::number(unit), seconds.clone(), vec![values.to_vec()])
    };
    match name {
        "p.x" => number("m", [1.0, 3.0, 4.0, 8.0]),
        "p.v" => number("m/s", [0.0, 2.0, 4.0, 4.0]),
        "p.heading" => number("rad", [3.0, -3.0, 3.0, -3.0]),
        "p.course" => number("°", [170.0, -170.0, 175.0, 0.0]),
        "p.gap" => number("", [1.0, f64::NAN, 3.0, 5.0]),
        "p.spike" => number("", [1.0, 1.5, 100.0, 1.0]),
        "state.mode" => {
            (FieldType::number("").held(), vec![1.5, 3.0], vec![vec![4.0, 5.0]])
        }
        "gps.lat" => (
            FieldType::number("10⁻⁷ °"),
            seconds.clone(),
            vec![vec![0.0, 470_000_000.0, 470_001_000.0, 470_000_000.0]],
        ),
        "gps.lon" => (
            FieldType::number("10⁻⁷ °"),
            seconds.clone(),
            vec![vec![0.0, 80_000_000.0, 80_000_000.0, 80_001_000.0]],
        ),
        // A quarter turn about z, in the orders of PX4 and of ROS.
        "att.q" => {
            let half = 0.5_f64.sqrt();
            let of = [("0", ""), ("1", ""), ("2", ""), ("3", "")];
            (
                FieldType::vector(of),
                vec![0.0],
                [half, 0.0, 0.0, half].map(|x| vec![x]).into(),
            )
        }
        "/imu/data.orientation" => {
            let half = 0.5_f64.sqrt();
            let of = [("x", ""), ("y", ""), ("z", ""), ("w", "")];
            (
                FieldType::vector(of),
                vec![0.0],
                [0.0, 0.0, half, half].map(|x| vec![x]).into(),
            )
        }
        "imu.acc" => (
            FieldType::vector([("x", "m/s²"), ("y", "m/s²"), ("z", "m/s²")]),
            vec![0.0],
            [3.0, 4.0, 12.0].map(|x| vec![x]).into(),
        ),
        other => panic!("no field {other}"),
    }
}

fn try_evaluate(text: &str) -> Result<Series, ExpressionError> {
    let expression = Expression::parse(text)?;
    let (mut types, mut values) = (Vec::new(), Vec::new());
    for name in expression.fields() {
        let (of, seconds, columns) = field(&name.name);
        let times = seconds.iter().map(|s| (s * SECOND as f64) as i64).collect();
        types.push(of);
        values.push(FieldValues::new(times, columns).unwrap());
    }
    expression.check(&types)?.evaluate(&values)
}

fn evaluate(text: &str) -> Series {
    try_evaluate(text).unwrap_or_else(|err| {
        panic!("{text}: {err}\n{}", excerpt(text, err.span()));
    })
}

/// Returns the values and the unit of the only component.
fn single(text: &str) -> (Vec<f64>, String) {
    let series = evaluate(text);
    let [component] = &series.components[..] else { panic!("{text} is a vector") };
    assert_eq!(component.values.len(), series.times.len(), "{text}");
    (component.values.to_vec(), component.unit.clone())
}

fn assert_near(text: &str, expected: &[f64], unit: &str) {
    let (values, own) = single(text);
    assert_eq!(own, unit, "{text}");
    assert_eq!(values.len(), expected.len(), "{text}: {values:?}");
    for (value, expected) in values.iter().zip(expected) {
        let is_near = (value - expected).abs() < 1e-9 * expected.abs().max(1.0);
        assert!(is_near || value.is_nan() && expected.is_nan(), "{text}: {values:?}");
    }
}

const NAN: f64 = f64::NAN;

#[test]
fn operators_bind_as_in_mathematics() {
    assert_near("p.x * 0 + 1 + 2 * 3 ^ 2", &[19.0; 4], "m");
    assert_near("p.x * 0 + -2 ^ 2", &[-4.0; 4], "m");
    assert_near("p.x * 0 + 2 ^ -1", &[0.5; 4], "m");
    assert_near("p.x * 0 + 2 ^ 3 ^ 2", &[512.0; 4], "m");
    assert_near("p.x - 1 - 1", &[-1.0, 1.0, 2.0, 6.0], "m");
    assert_near("(p.x - 1) / 2", &[0.0, 1.0, 1.5, 3.5], "m");
    assert_near("p.x > 3 or p.x == 1 and 1", &[1.0, 0.0, 1.0, 1.0], "");
    assert_near("p.x % 3", &[1.0, 0.0, 1.0, 2.0], "m");
    assert_near("mod(-p.x, 3)", &[2.0, 0.0, 2.0, 1.0], "m");
}

#[test]
fn values_are_computed_one_by_one() {
    assert_near("max(p.x, p.v, 3.5)", &[3.5, 3.5, 4.0, 8.0], "");
    assert_near("min(p.x, 3.5)", &[1.0, 3.0, 3.5, 3.5], "m");
    assert_near("clamp(p.x, 2, 4)", &[2.0, 3.0, 4.0, 4.0], "m");
    assert_near("where(p.v > 1, p.x, nan)", &[NAN, 3.0, 4.0, 8.0], "m");
    assert_near("not(p.v)", &[1.0, 0.0, 0.0, 0.0], "");
    assert_near("scale(p.x, 2, offset=1)", &[3.0, 7.0, 9.0, 17.0], "m");
    assert_near("offset(abs(-p.x), 1)", &[2.0, 4.0, 5.0, 9.0], "m");
    assert_near("round(p.x / 2)", &[0.0, 2.0, 2.0, 4.0], "m");
    assert_near("sign(p.x - 3)", &[-1.0, 0.0, 1.0, 1.0], "");
    assert_near("sqrt(p.x * p.x)", &[1.0, 3.0, 4.0, 8.0], "m");
    assert_near("log(exp(p.gap))", &[1.0, NAN, 3.0, 5.0], "");
    assert_near("deg(p.heading * 0 + pi)", &[180.0; 4], "°");
    assert_near("rad(p.course * 0 + 90)", &[std::f64::consts::FRAC_PI_2; 4], "rad");
    assert_near("atan2(p.x, p.x)", &[std::f64::consts::FRAC_PI_4; 4], "rad");
}

#[test]
fn functions_along_the_time() {
    assert_near("derivative(p.x)", &[NAN, 2.0, 1.0, 2.0], "m/s");
    assert_near("derivative(derivative(p.x))", &[NAN, NAN, -1.0, 0.5], "m/s²");
    assert_near("integral(p.v)", &[0.0, 1.0, 4.0, 12.0], "m");
    assert_near("integral(p.gap)", &[0.0, NAN, 0.0, 8.0], "");
    assert_near("difference(p.x)", &[NAN, 2.0, 1.0, 4.0], "m");
    assert_near("interval(p.x)", &[NAN, 1.0, 1.0, 2.0], "s");
    assert_near("time(p.x)", &[0.0, 1.0, 2.0, 4.0], "s");
    assert_near("samples_per_second(p.x, 2)", &[0.5, 1.0, 1.0, 0.5], "Hz");
    assert_near("p.x - first(p.x)", &[0.0, 2.0, 3.0, 7.0], "m");
    assert_near("mean(p.gap)", &[3.0; 4], "");
}

#[test]
fn angles_are_wrapped_and_unwrapped_in_their_unit() {
    let turn = std::f64::consts::TAU;
    assert_near("unwrap(p.heading)", &[3.0, turn - 3.0, 3.0, turn - 3.0], "rad");
    assert_near("unwrap(p.course)", &[170.0, 190.0, 175.0, 0.0], "°");
    assert_near("wrap(p.course + 20)", &[-170.0, -150.0, -165.0, 20.0], "°");
    assert_near("wrap(p.heading + 1)", &[4.0 - turn, -2.0, 4.0 - turn, -2.0], "rad");
    assert_near("wrap(p.x, period=4)", &[1.0, -1.0, 0.0, 0.0], "m");
}

#[test]
fn filters_follow_their_formulas() {
    // Of a cutoff of ln 2 / 2π, a second halves the distance.
    let cutoff = std::f64::consts::LN_2 / std::f64::consts::TAU;
    let text = format!("low_pass(p.x, {cutoff})");
    assert_near(&text, &[1.0, 2.0, 3.0, 6.75], "m");
    let text = format!("high_pass(p.x, {cutoff})");
    assert_near(&text, &[0.0, 1.0, 1.0, 1.25], "m");
    assert_near("moving_average(p.x, 2)", &[1.0, 2.0, 3.5, 8.0], "m");
    assert_near(
        "moving_rms(p.v, 1.5)",
        &[0.0, 2.0_f64.sqrt(), 10.0_f64.sqrt(), 4.0],
        "m/s",
    );
    assert_near("moving_median(p.x, 9)", &[1.0, 2.0, 3.0, 3.5], "m");
    assert_near("moving_min(p.x, 2)", &[1.0, 1.0, 3.0, 8.0], "m");
    assert_near("moving_max(p.x, 2)", &[1.0, 3.0, 4.0, 8.0], "m");
    assert_near("moving_std(p.x, 2)", &[0.0, 1.0, 0.5, 0.0], "m");
    assert_near("remove_outliers(p.spike)", &[1.0, 1.5, NAN, 1.0], "");
    // The median rate is 1 Hz. At a quarter of it the coefficients are 0.293, 0.586, 0.293, 0 and
    // 0.172 (scipy.signal.butter(2, 0.5)).
    let b0 = 0.292_893_218_813_452_5;
    let second = 0.0 + b0 * 2.0;
    assert_near(
        "low_pass2(p.v, 0.25)",
        &[0.0, second, b0 * 8.0, b0 * 14.0 - 0.171_572_875_253_81 * second],
        "m/s",
    );
}

#[test]
fn other_fields_keep_their_last_value() {
    assert_near("p.x * 0 + state.mode", &[NAN, NAN, 4.0, 5.0], "");
    assert_near("state.mode * 0 + p.x", &[3.0, 4.0], "");
    assert_near("interpolate(p.x, state.mode)", &[3.5, 6.0], "m");
    assert_near("hold(p.x, state.mode)", &[3.0, 4.0], "m");
    assert_near("resample(p.x, 0.5)", &[1.0, 4.0, 8.0], "m");
    let delayed = evaluate("delay(p.x, 0.5)");
    assert_eq!(delayed.times[..2], [SECOND / 2, SECOND * 3 / 2]);
    assert!(evaluate("state.mode == 4").is_held && evaluate("state.mode + 1").is_held);
    assert!(evaluate("p.x == 4").is_held && !evaluate("p.x + 1").is_held);
}

#[test]
fn vectors_have_elements_with_names_and_indices() {
    assert_near("norm(imu.acc)", &[13.0], "m/s²");
    assert_near("norm(vector(p.x * 3, p.x * 4))", &[5.0, 15.0, 20.0, 40.0], "m");
    assert_near("(2 * imu.acc).y", &[8.0], "m/s²");
    assert_near("(imu.acc + imu.acc)[2]", &[24.0], "m/s²");
    assert_near("dot(imu.acc, vector(1, 0, 2))", &[27.0], "m/s²");
    assert_near("cross(imu.acc, vector(0, 0, 1)).x", &[4.0], "m/s²");
    let scaled = evaluate("imu.acc / 2");
    let names: Vec<&str> =
        scaled.components.iter().map(|of| of.name.as_str()).collect();
    assert_eq!(names, ["x", "y", "z"]);
}

#[test]
fn quaternions_have_the_order_of_their_program() {
    let quarter = std::f64::consts::FRAC_PI_2;
    for q in ["att.q", "/imu/data.orientation", "2 * att.q", "`/imu/data.orientation`"]
    {
        assert_near(&format!("yaw({q})"), &[quarter], "rad");
        assert_near(&format!("roll({q})"), &[0.0], "rad");
        assert_near(&format!("deg(euler({q}).yaw)"), &[90.0], "°");
        assert_near(&format!("rotate({q}, imu.acc).x"), &[-4.0], "m/s²");
        assert_near(&format!("rotate({q}, imu.acc)[1]"), &[3.0], "m/s²");
        assert_near(&format!("rotate_back({q}, imu.acc).x"), &[4.0], "m/s²");
        assert_near(&format!("tilt({q})"), &[0.0], "rad");
    }
    assert_near("roll(quaternion(1, p.x * 0, -2))", &[1.0; 4], "rad");
    assert_near("pitch(quaternion(1, p.x * 0 - 0.5, -2))", &[-0.5; 4], "rad");
    assert_near("tilt(quaternion(0.25, p.x * 0, 2))", &[0.25; 4], "rad");
    // No rotation has a length of 0.
    assert_near("yaw(att.q * 0)", &[NAN], "rad");
}

#[test]
fn positions_are_projected_from_the_first_fix() {
    // 0.0001° on a sphere of 6371 km; the first record has no fix.
    let north = 6_371_000.0 * (0.0001_f64).to_radians();
    assert_near(
        "round(project_north(gps.lat, gps.lon) * 1e4)",
        &[NAN, 0.0, (north * 1e4).round(), 0.0],
        "m",
    );
    let east = north * 47.0_f64.to_radians().cos();
    let (values, _) = single("project_east(gps.lat, gps.lon)");
    assert!((values[3] - east).abs() < 1e-4 && values[1] == 0.0, "{values:?}");
    let (values, _) = single("distance(gps.lat, gps.lon, lat0=47, lon0=8)");
    assert!((values[2] - north).abs() < 1e-6 && (values[3] - east).abs() < 1e-4);
}

#[test]
fn battery_and_land_detector_follow_their_formulas() {
    // 11.1 V + 0.03 Ω · 10 A of 3 cells: 3.8 V, a third of the way from 3.7 V to 4 V.
    let (values, unit) = single("battery_remaining(p.x * 0 + 11.1, 10)");
    assert!((values[3] - 100.0 / 3.0).abs() < 1e-6 && unit == "%", "{values:?}");
    assert!(evaluate("land_detector(p.x, 1)").is_held);
    // It climbs by 2 m in a second, with full thrust.
    assert_near("land_detector(p.x, 1, seconds=10)", &[1.0, 0.0, 0.0, 0.0], "");
    assert_near("land_detector(p.x, 0.1)", &[1.0; 4], "");
}

#[test]
fn simulated_vehicle_reaches_its_setpoint() {
    for (simulation, gains) in [
        ("position_pid", "step=0.001"),
        ("position_rate_pid", "p=2, thrust_gain=50, thrust_delay=0, rate_cutoff=30"),
    ] {
        let setpoint = "resample(p.x * 0 + 1, 1)";
        let (values, unit) =
            single(&format!("{simulation}({setpoint}, {gains}).position"));
        assert_eq!((values.len(), unit.as_str()), (5, "m"));
        assert_eq!(values[0], 0.0);
        assert!((values[4] - 1.0).abs() < 0.3, "{simulation}: {values:?}");
    }
}

/// Asserts that `text` is wrong at the place of the carets below it.
fn assert_wrong(text: &str, carets: &str, part: &str) {
    let error = try_evaluate(text).map(|_| "no error").unwrap_err();
    let shown = excerpt(text, error.span());
    let shown = shown.lines().last().unwrap().trim_start_matches("  | ").to_owned();
    let all = format!("{error} {}", error.hint().unwrap_or_default());
    assert_eq!(shown, carets.trim_end().trim_start_matches("| "), "{text}: {all}");
    assert!(all.contains(part), "{text}: {all}");
}

#[test]
fn errors_point_to_the_character() {
    for (text, carets, part) in [
        ("deg(yaw(att.q)", "   ^", "not closed"),
        ("dge(p.x)", "^^^", "did you mean `deg`"),
        ("p.x +", "     ^", "found the end"),
        ("p.x p.v", "    ^^^", "expected an operator"),
        ("p.x + )", "      ^", "found `)`"),
        ("yaw(p.x)", "    ^^^", "quaternion with 4 elements"),
        ("yaw", "^^^", "write `yaw(...)`"),
        ("low_pass(p.x)", "            ^", "needs an argument `cutoff`"),
        ("low_pass(p.x, p.v)", "              ^^^", "constant number"),
        ("low_pass(p.x, cutof=1)", "              ^^^^^", "did you mean `cutoff`"),
        ("low_pass(p.x, 1, 2)", "                 ^", "at most 2"),
        ("low_pass(p.x, -1)", "^^^^^^^^", "must be positive"),
        ("low_pass2(p.x, 1)", "^^^^^^^^^", "half the rate"),
        ("low_pass(x=p.x, 1)", "                ^", "without a name"),
        ("derivative(2 + 1)", "           ^^^^^", "a series"),
        ("1 + 2", "^^^^^", "no field"),
        ("imu.acc + att.q", "^^^^^^^", "a vector of 3"),
        ("(imu.acc + 1)[3]", "             ^^^", "only 3 elements"),
        ("euler(att.q).yew", "            ^^^^", "roll, pitch, yaw"),
        ("(p.x + 1).x", "         ^^", "no elements"),
        ("0 < p.x < 1", "        ^", "chained"),
        ("p.x ! 1", "    ^", "not(x)"),
        ("norm(imu.acc)[", "              ^", "whole number"),
        ("project_north(imu.acc, 1)", "              ^^^^^^^", "single value"),
    ] {
        assert_wrong(text, carets, part);
    }
}

#[test]
fn deep_nesting_is_an_error_and_not_an_overflow() {
    for text in [
        "(".repeat(8000),
        "-".repeat(8000) + "p.x",
        "abs(".repeat(2000),
        "p.x^".repeat(2000) + "1",
        "p.x+".repeat(2000) + "1",
        "p.x".to_owned() + &"[0]".repeat(2000),
        "(p.x)".to_owned() + &"[0]".repeat(2000),
    ] {
        let error = try_evaluate_unchecked(&text).unwrap_err();
        assert!(
            error.contains("nested too deeply") || error.contains("element"),
            "{error}"
        );
    }
    assert!(Expression::parse(&("p.x+".repeat(150) + "1")).is_ok());
}

fn try_evaluate_unchecked(text: &str) -> Result<(), String> {
    let expression = Expression::parse(text).map_err(|err| err.to_string())?;
    let types = vec![FieldType::number(""); expression.fields().len()];
    expression.check(&types).map(|_| ()).map_err(|err| err.to_string())?;
    // The brackets are part of the name of the field.
    Err("element".to_owned())
}

/// Texts made of pieces of the language, in all orders, end with a value or an error inside of
/// the text.
#[test]
fn no_text_panics() {
    let pieces: Vec<String> = functions()
        .flat_map(|function| [format!("{}(", function.name), function.signature()])
        .chain(
            [
                "p.x",
                "att.q",
                "imu.acc",
                "state.mode",
                ",",
                ")",
                "(",
                "+",
                "-",
                "*",
                "/",
                "^",
                "%",
                "<",
                "==",
                ".",
                "[0]",
                "[",
                "]",
                "1",
                "1e999",
                "-1",
                "nan",
                "inf",
                "pi",
                " ",
                "=",
                "cutoff=",
                "and",
                "or",
                "`",
                "\"",
                "é",
                "\0",
                "/",
                "0.5",
                "x",
                "!",
                ";",
            ]
            .map(str::to_owned),
        )
        .collect();
    // A linear congruential generator, so that failures can be repeated.
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let known = ["p.x", "att.q", "imu.acc", "state.mode"];
    let mut evaluated = 0;
    for _ in 0..60_000 {
        let mut text = String::new();
        for _ in 0..=next(8) {
            text.push_str(&pieces[next(pieces.len())]);
        }
        let Ok(expression) = Expression::parse(&text) else { continue };
        if expression.fields().iter().all(|field| known.contains(&&*field.name)) {
            match try_evaluate(&text) {
                Ok(series) => {
                    evaluated += 1;
                    let len = series.times.len();
                    assert!(series.components.iter().all(|c| c.values.len() == len));
                }
                Err(error) => assert!(error.span().end <= text.len(), "{text}"),
            }
        }
    }
    assert!(evaluated > 100, "{evaluated}");
}

#[test]
fn extreme_times_and_values_are_no_problem() {
    let times = vec![i64::MIN, -1, 0, 0, i64::MAX];
    let values = vec![f64::INFINITY, 1e308, -1e308, f64::NAN, 5.0];
    for function in functions() {
        let arguments: Vec<&str> = function
            .parameters
            .iter()
            .filter(|p| p.default.is_none())
            .map(|p| match p.name {
                "q" => "quaternion(a.b, 1, a.b)",
                "v" | "acceleration" => "vector(a.b, 1, a.b)",
                "a" | "b" if matches!(function.name, "dot" | "cross") => {
                    "vector(a.b, 1, 2)"
                }
                "cutoff" | "seconds" | "rate" => "0.25",
                _ => "a.b",
            })
            .collect();
        let text = format!("{}({})", function.name, arguments.join(", "));
        let checked = Expression::parse(&text).unwrap().check(&[FieldType::number("")]);
        let checked = checked.unwrap_or_else(|err| panic!("{text}: {err}"));
        let field = FieldValues::new(times.clone(), vec![values.clone()]).unwrap();
        match checked.evaluate(&[field]) {
            Ok(series) => assert!(!series.times.is_empty(), "{text}"),
            // Some refuse 584 years at their step or rate.
            Err(error) => assert!(
                error.to_string().contains("steps")
                    || error.to_string().contains("too many")
                    || error.to_string().contains("half the rate"),
                "{text}: {error}"
            ),
        }
        let empty = FieldValues::new(vec![], vec![vec![]]).unwrap();
        assert!(checked.evaluate(&[empty]).unwrap().times.is_empty(), "{text}");
    }
}
