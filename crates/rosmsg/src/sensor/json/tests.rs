use super::*;

#[test]
fn base64_of_the_rfc_is_decoded_and_other_text_is_rejected() {
    // RFC 4648, 10.
    for (text, expected) in [
        ("", ""),
        ("Zg==", "f"),
        ("Zm8=", "fo"),
        ("Zm9v", "foo"),
        ("Zm9vYg==", "foob"),
        ("Zm9vYmE=", "fooba"),
        ("Zm9vYmFy", "foobar"),
        ("Zm8", "fo"),
    ] {
        assert_eq!(decode_base64(text).as_deref(), Some(expected.as_bytes()), "{text}");
    }
    assert_eq!(decode_base64("+/8="), Some(vec![0xfb, 0xff]));
    for wrong in ["Z", "Zm9vY", "Zm-v", "Zm9v\n", "Z===", "Zg==Zg=="] {
        assert_eq!(decode_base64(wrong), None, "{wrong}");
    }
}

#[test]
fn cloud_and_image_are_parsed() {
    let text = br#"{"timestamp":{"sec":5,"nsec":7},"frame_id":"map","pose":{"x":{}},
        "point_stride":6,"fields":[{"name":"x","offset":0,"type":7},
        {"name":"\u0069","offset":4,"type":3}],"data":"AACAPwEA"}"#;
    let json = JsonCloud::parse(text).unwrap();
    let cloud = json.cloud();
    assert_eq!((cloud.nanos, cloud.stride), (5_000_000_007, 6));
    let x = PackedField { name: b"x", offset: 0, kind: 7 };
    let i = PackedField { name: b"i", offset: 4, kind: 3 };
    assert_eq!(cloud.fields, [x, i]);
    assert_eq!(cloud.data, b"\0\0\x80\x3f\x01\0");
    for wrong in [&b"{"[..], b"[]", b"{\"point_stride\":-1}", b"{\"data\":\"Z\"}"] {
        assert!(JsonCloud::parse(wrong).is_none());
    }
    let text =
        br#"{"timestamp":{"sec":1},"format":"png","frame_id":"cam","data":"YWJj"}"#;
    let image = JsonImage::parse(text).unwrap();
    assert_eq!((image.nanos, &*image.data), (1_000_000_000, &b"abc"[..]));
    assert_eq!((&*image.format, &*image.frame_id), ("png", "cam"));
}
