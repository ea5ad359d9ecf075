use std::thread;

use super::*;

#[test]
fn turns_come_in_order_whoever_is_sooner() {
    let gate = Gate::new(u64::MAX);
    let costs = [1; 64];
    let turns = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for worker in 0..4 {
            let (gate, turns) = (&gate, &turns);
            scope.spawn(move || {
                while let Some(mut pass) = gate.enter(&costs) {
                    // Some logs cannot be opened and have no turn.
                    if pass.index % 7 == worker {
                        continue;
                    }
                    let index = pass.index;
                    pass.in_turn(|| turns.lock().unwrap().push(index));
                }
            });
        }
    });
    let turns = turns.into_inner().unwrap();
    assert!(turns.is_sorted() && turns.len() >= 30, "{turns:?}");
}

#[test]
fn what_is_in_together_fits_the_memory_but_one_always_may() {
    let gate = Gate::new(10);
    let costs = [4, 4, 4, 50, 1];
    let (first, second) = (gate.enter(&costs).unwrap(), gate.enter(&costs).unwrap());
    assert_eq!((first.index, second.index), (0, 1));
    thread::scope(|scope| {
        let third = scope.spawn(|| {
            let third = gate.enter(&costs).unwrap();
            let used = gate.lock().used;
            drop(third);
            used
        });
        drop(first);
        assert_eq!(third.join().unwrap(), 8);
    });
    drop(second);
    let large = gate.enter(&costs).unwrap();
    assert_eq!((large.index, gate.lock().used), (3, 50));
    drop(large);
    assert!(gate.enter(&costs).is_some() && gate.enter(&costs).is_none());
}
