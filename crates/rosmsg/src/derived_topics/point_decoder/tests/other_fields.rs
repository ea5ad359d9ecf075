//! Tests of clouds with different fields in one topic.

use arrow_array::cast::AsArray as _;

use super::*;

#[test]
fn fields_of_all_clouds_are_columns() {
    let data = two_points();
    let cloud = |fields| Cloud2 {
        size: (1, 1),
        fields,
        is_big: false,
        steps: (7, 7),
        data: &data,
    };
    let first = cloud(X_AND_I).bytes();
    let fewer_fields = cloud(&[("i", 4, 4, 1)]).bytes();
    let other_order = cloud(&[("i", 4, 4, 1), ("x", 0, 7, 1)]).bytes();
    let more_fields = cloud(&[("x", 0, 7, 1), ("i", 4, 4, 1), ("t", 6, 2, 1)]).bytes();
    // The first two bytes of 1.5 (0x3FC00000) are 0; the first byte of 258 is 2.
    let other_type = cloud(&[("x", 0, 3, 1), ("i", 4, 2, 1)]).bytes();
    let empty = Cloud2 { size: (0, 0), ..cloud(&[]) }.bytes();
    let payloads: [&[u8]; 6] =
        [&first, &fewer_fields, &other_order, &more_fields, &other_type, &empty];
    let (batch, damage) = table_with_merged_columns(PointSource::Cloud2, &payloads);
    assert_eq!(kinds(&damage), []);
    assert_eq!(names(&batch), "time stamp index x i t x_");
    let expected =
        ["1.5 258 - -", "- 258 - -", "1.5 258 - -", "1.5 258 238 -", "- 2 - 0"];
    assert_eq!(rows(&batch), expected.map(|row| format!("1500000000 0 {row}")));
}

#[test]
fn numbers_of_a_narrower_type_are_widened_to_the_type_of_the_column() {
    let cloud = |kind: u8, data: &[u8], is_big| {
        let fields: Fields<'_> = &[("v", 0, kind, 1)];
        let steps = (data.len() as u32, 0);
        Cloud2 { size: (1, 1), fields, is_big, steps, data }.bytes()
    };
    for is_big in [false, true] {
        let bytes = |value: u64, len: usize| match is_big {
            true => value.to_be_bytes()[8 - len..].to_vec(),
            false => value.to_le_bytes()[..len].to_vec(),
        };
        // The column of UINT8 200, INT16 -3 and UINT16 40000 is INT32; that of 0.5 and 1e300 is
        // FLOAT64.
        let small = cloud(2, &bytes(200, 1), is_big);
        let signed = cloud(3, &bytes(0xFFFD, 2), is_big);
        let large = cloud(4, &bytes(40_000, 2), is_big);
        let (batch, damage) =
            table_with_merged_columns(PointSource::Cloud2, &[&small, &signed, &large]);
        assert_eq!(kinds(&damage), []);
        assert_eq!(batch.schema().field(3).data_type(), &DataType::Int32);
        let expected = ["200", "-3", "40000"].map(|v| format!("1500000000 0 {v}"));
        assert_eq!(rows(&batch), expected);
        let float = cloud(7, &bytes(0.5_f32.to_bits().into(), 4), is_big);
        let double = cloud(8, &bytes(1e300_f64.to_bits(), 8), is_big);
        let (batch, damage) =
            table_with_merged_columns(PointSource::Cloud2, &[&float, &double, &float]);
        assert_eq!(kinds(&damage), []);
        let doubles = batch["v"].as_primitive::<arrow_array::types::Float64Type>();
        assert_eq!(doubles.values(), &[0.5, 1e300, 0.5]);
    }
}

#[test]
fn invalid_field_is_reported_and_the_others_are_read() {
    let data = two_points();
    let cloud = |fields| Cloud2 {
        size: (1, 2),
        fields,
        is_big: false,
        steps: (7, 14),
        data: &data,
    };
    let valid = cloud(X_AND_I).bytes();
    let reported = |fields: Fields<'static>| {
        let bytes = cloud(fields).bytes();
        let decoder = decoder(PointSource::Cloud2, &valid, &nested_columns());
        let (batch, damage) = decode_payloads(decoder, &[&valid, &bytes]);
        assert_eq!(rows(&batch)[2..], ["1500000000 0 1.5 -", "1500000000 1 -2 -"]);
        assert_eq!(damage.len(), 1);
        (damage[0].kind, damage[0].reason.clone().unwrap())
    };
    let mismatch = |text: &str| (DamageKind::TypeMismatch, text.to_owned());
    let fields: Fields<'_> = &[("x", 0, 7, 1), ("i", 4, 9, 1)];
    assert_eq!(
        reported(fields),
        mismatch("its field i has the type 9, which does not exist")
    );
    let fields: Fields<'_> = &[("x", 0, 7, 1), ("i", 6, 4, 1)];
    assert_eq!(
        reported(fields),
        mismatch("its field i is at the bytes 6..8 of points of 7 bytes")
    );
    let fields: Fields<'_> = &[("x", 0, 7, 1), ("i", 4, 4, u32::MAX)];
    let end = 4 + 2 * u64::from(u32::MAX);
    let text = format!("its field i is at the bytes 4..{end} of points of 7 bytes");
    assert_eq!(reported(fields), mismatch(&text));
    let fields: Fields<'_> = &[("x", 0, 7, 1), ("late", 4, 4, 1), ("j", 4, 4, 1)];
    let text = "its field late has no column, because no message that was inspected before had it, and 1 more";
    assert_eq!(reported(fields), (DamageKind::NoColumn, text.to_owned()));
}
