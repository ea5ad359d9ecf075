//! The example in the repository's README is the one in this crate's, which is tested.

#[test]
fn the_readme_shows_the_example_that_is_tested() {
    let example = |readme: &'static str| {
        let (_, rest) = readme.split_once("```rust").unwrap();
        let (_, rest) = rest.split_once('\n').unwrap();
        rest.split_once("```").unwrap().0
    };
    let of_all = example(include_str!("../../../README.md"));
    assert_eq!(of_all, example(include_str!("../README.md")));
}
