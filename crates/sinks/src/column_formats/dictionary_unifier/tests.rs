use arrow_array::builder::StringDictionaryBuilder;
use arrow_buffer::OffsetBuffer;

use super::*;
use crate::testing::table;

#[test]
fn dictionaries_in_lists_of_structs_are_unified() {
    let mut names = StringDictionaryBuilder::<Int32Type>::new();
    [Some("B"), None, Some("A")].into_iter().for_each(|name| names.append_option(name));
    let names: ArrayRef = Arc::new(names.finish());
    let metadata =
        HashMap::from([(VALUE_NAMES_KEY.to_owned(), r#"["A","B"]"#.to_owned())]);
    let label =
        Field::new("label", names.data_type().clone(), true).with_metadata(metadata);
    let structs = StructArray::from(vec![(Arc::new(label), names)]);
    let item = Arc::new(Field::new("item", structs.data_type().clone(), false));
    let offsets = OffsetBuffer::from_lengths([1, 2]);
    let lists = ListArray::new(item, offsets, Arc::new(structs), None);
    let field = Field::new("past", lists.data_type().clone(), false);
    let batch = table(vec![(field, Arc::new(lists))]);

    let unifier = DictionaryUnifier::new(&batch.schema()).unwrap();
    let unified = unifier.apply(&batch).unwrap();
    let labels = unified["past"].as_list::<i32>().values().as_struct()["label"].clone();
    let labels = labels.as_dictionary::<Int32Type>();
    let keys: Vec<_> = labels.keys().iter().collect();
    assert_eq!(keys, [Some(1), None, Some(0)]);
    assert_eq!(labels.values().as_string::<i32>().value(0), "A");
}
