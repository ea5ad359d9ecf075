//! The example in the repository's README is the one in this crate's, which is tested.

#[test]
fn both_readmes_have_the_same_example() {
    let example = |readme: &'static str| {
        let (_, rest) = readme.split_once("```rust").unwrap_or_default();
        rest.split_once("```").unwrap_or_default().0
    };
    let tested = example(include_str!("../README.md"));
    assert!(tested.contains("logtool::open"));
    assert_eq!(example(include_str!("../../../README.md")), tested);
}
