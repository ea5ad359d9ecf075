//! The known damage that each split reports.

use std::{collections::BTreeMap, ops::Range};

use logtool_core::{Damage, DamageKind, TopicId};

/// The maximum number of places of known damage in a split. Reading may find all of them.
const MAX_DAMAGE: usize = 16;

/// The damage that was found when the log was opened, by its topic, in the order of the file.
pub(super) struct KnownDamage<'o> {
    byte_damage: BTreeMap<Option<TopicId>, Vec<&'o Damage>>,
    /// The definitions that cannot be used. They may lie anywhere in the file.
    definition_damage: BTreeMap<Option<TopicId>, Vec<&'o Damage>>,
}

impl<'o> KnownDamage<'o> {
    pub(super) fn new(damage: &'o [Damage]) -> Self {
        let (mut byte_damage, mut definition_damage) =
            (BTreeMap::<_, Vec<_>>::new(), BTreeMap::<_, Vec<_>>::new());
        for damage in damage {
            let damage_of_kind = match damage.kind {
                DamageKind::Definition => &mut definition_damage,
                _ => &mut byte_damage,
            };
            damage_of_kind.entry(damage.topic).or_default().push(damage);
        }
        for damage in byte_damage.values_mut() {
            damage.sort_by_key(|damage| damage.bytes.start);
        }
        Self { byte_damage, definition_damage }
    }

    /// Returns the first damage in the bytes `span` that is of `topic`, or of no topic. The
    /// span from the start of the file also has the damage of the definition of the topic.
    pub(super) fn damage_within(
        &self,
        span: &Range<u64>,
        topic: TopicId,
    ) -> impl Iterator<Item = &'o Damage> {
        let own_and_shared = [None, Some(topic)].into_iter().flat_map(|owner| {
            let damage = self.byte_damage.get(&owner).map_or(&[][..], |damage| damage);
            let first = damage.partition_point(|entry| entry.bytes.start < span.start);
            let following = damage.get(first..).unwrap_or_default().iter().copied();
            following.take_while(|entry| entry.bytes.start < span.end).take(MAX_DAMAGE)
        });
        let mut damage: Vec<&Damage> = own_and_shared.collect();
        damage.sort_by_key(|damage| damage.bytes.start);
        let is_first = span.start == 0 && span.end > 0;
        let definitions = self.definition_damage.get(&Some(topic)).filter(|_| is_first);
        let definitions = definitions.into_iter().flatten().copied();
        definitions.chain(damage).take(MAX_DAMAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_split_of_a_topic_has_the_damage_of_its_definition() {
        let topic = TopicId(3);
        let definition = |id| {
            Damage::new(DamageKind::Definition, 9_000..9_010).with_records(1, Some(id))
        };
        let garbled = |start| Damage::new(DamageKind::Garbled, start..start + 1);
        let mut damage = vec![definition(TopicId(2)), definition(topic)];
        damage.extend((0..100).map(|index| garbled(90 + index * 100)));
        let known = KnownDamage::new(&damage);
        let starts = |span: Range<u64>| -> Vec<u64> {
            known.damage_within(&span, topic).map(|damage| damage.bytes.start).collect()
        };
        assert_eq!(starts(0..200), [9_000, 90, 190]);
        assert_eq!(starts(200..400), [290, 390]);
        assert_eq!(starts(0..u64::MAX).len(), MAX_DAMAGE);
        assert_eq!(starts(8_900..9_100), [8_990, 9_090]);
    }
}
