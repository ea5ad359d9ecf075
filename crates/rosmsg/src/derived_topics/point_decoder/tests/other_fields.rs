//! Clouds of one topic with different fields.

use arrow_array::cast::AsArray as _;

use super::*;

#[test]
fn clouds_with_other_fields_have_all_of_them_as_columns() {
    let data = two_points();
    let cloud = |fields| Cloud2 {
        size: (1, 1),
        fields,
        is_big: false,
        steps: (7, 7),
        data: &data,
    };
    let first = cloud(XYZ).bytes();
    let less = cloud(&[("i", 4, 4, 1)]).bytes();
    let other_order = cloud(&[("i", 4, 4, 1), ("x", 0, 7, 1)]).bytes();
    let other_fields = cloud(&[("x", 0, 7, 1), ("i", 4, 4, 1), ("t", 6, 2, 1)]).bytes();
    // 1.5 is 0x3FC00000, whose first two bytes are 0; 258 is 2 + 256.
    let other_type = cloud(&[("x", 0, 3, 1), ("i", 4, 2, 1)]).bytes();
    let empty = Cloud2 { size: (0, 0), ..cloud(&[]) }.bytes();
    let payloads: [&[u8]; 6] =
        [&first, &less, &other_order, &other_fields, &other_type, &empty];
    let (batch, damage) = joined(PointSource::Cloud2, &payloads);
    assert_eq!(kinds(&damage), []);
    assert_eq!(names(&batch), "time stamp index x i t x_");
    let expected =
        ["1.5 258 - -", "- 258 - -", "1.5 258 - -", "1.5 258 238 -", "- 2 - 0"];
    assert_eq!(rows(&batch), expected.map(|row| format!("1500000000 0 {row}")));
}

#[test]
fn fields_of_a_narrower_type_are_in_the_column_of_the_wider() {
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
        // UINT8 200, INT16 -3 and UINT16 40000 are INT32; 0.5 and 1e300 are FLOAT64.
        let small = cloud(2, &bytes(200, 1), is_big);
        let signed = cloud(3, &bytes(0xFFFD, 2), is_big);
        let large = cloud(4, &bytes(40_000, 2), is_big);
        let (batch, damage) = joined(PointSource::Cloud2, &[&small, &signed, &large]);
        assert_eq!(kinds(&damage), []);
        assert_eq!(batch.schema().field(3).data_type(), &DataType::Int32);
        let expected = ["200", "-3", "40000"].map(|v| format!("1500000000 0 {v}"));
        assert_eq!(rows(&batch), expected);
        let float = cloud(7, &bytes(0.5_f32.to_bits().into(), 4), is_big);
        let double = cloud(8, &bytes(1e300_f64.to_bits(), 8), is_big);
        let (batch, damage) = joined(PointSource::Cloud2, &[&float, &double, &float]);
        assert_eq!(kinds(&damage), []);
        let doubles = batch["v"].as_primitive::<arrow_array::types::Float64Type>();
        assert_eq!(doubles.values(), &[0.5, 1e300, 0.5]);
    }
}

#[test]
fn impossible_field_is_reported_and_the_others_are_read() {
    let data = two_points();
    let cloud = |fields| Cloud2 {
        size: (1, 2),
        fields,
        is_big: false,
        steps: (7, 14),
        data: &data,
    };
    let sound = cloud(XYZ).bytes();
    let misfit = |fields: Fields<'static>| {
        let bytes = cloud(fields).bytes();
        let decoder = decoder(PointSource::Cloud2, &sound, &nested());
        let (batch, damage) = decode_payloads(decoder, &[&sound, &bytes]);
        assert_eq!(rows(&batch)[2..], ["1500000000 0 1.5 -", "1500000000 1 -2 -"]);
        assert_eq!(damage.len(), 1);
        (damage[0].kind, damage[0].reason.clone().unwrap())
    };
    let mismatch = |text: &str| (DamageKind::TypeMismatch, text.to_owned());
    let fields: Fields<'_> = &[("x", 0, 7, 1), ("i", 4, 9, 1)];
    assert_eq!(
        misfit(fields),
        mismatch("its field i has the type 9, which does not exist")
    );
    let fields: Fields<'_> = &[("x", 0, 7, 1), ("i", 6, 4, 1)];
    assert_eq!(
        misfit(fields),
        mismatch("its field i is the bytes 6..8 of points of 7")
    );
    let fields: Fields<'_> = &[("x", 0, 7, 1), ("i", 4, 4, u32::MAX)];
    let end = 4 + 2 * u64::from(u32::MAX);
    let text = format!("its field i is the bytes 4..{end} of points of 7");
    assert_eq!(misfit(fields), mismatch(&text));
    let fields: Fields<'_> = &[("x", 0, 7, 1), ("late", 4, 4, 1), ("j", 4, 4, 1)];
    let text = "its field late has no column, because no message that was inspected before had it, and 1 more";
    assert_eq!(misfit(fields), (DamageKind::NoColumn, text.to_owned()));
}
