use std::thread;

use super::*;

#[test]
fn turns_come_in_the_order_of_the_logs() {
    let scheduler = AdmissionScheduler::new(u64::MAX);
    let costs = [1; 64];
    let turns = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for worker in 0..4 {
            let (scheduler, turns) = (&scheduler, &turns);
            scope.spawn(move || {
                while let Some(mut permit) = scheduler.admit(&costs) {
                    // Logs that cannot be opened have no turn.
                    if permit.index % 7 == worker {
                        continue;
                    }
                    let index = permit.index;
                    permit.in_turn(|| turns.lock().push(index));
                }
            });
        }
    });
    let turns = turns.into_inner();
    assert!(turns.is_sorted() && turns.len() >= 30, "{turns:?}");
}

#[test]
fn admitted_logs_fit_into_the_memory_except_a_single_one() {
    let scheduler = AdmissionScheduler::new(10);
    let costs = [4, 4, 4, 50, 1];
    let admit = || scheduler.admit(&costs);
    let (first, second) = (admit().unwrap(), admit().unwrap());
    assert_eq!((first.index, second.index), (0, 1));
    thread::scope(|scope| {
        let third = scope.spawn(|| {
            let third = scheduler.admit(&costs).unwrap();
            let used = scheduler.state.lock().used;
            drop(third);
            used
        });
        drop(first);
        assert_eq!(third.join().unwrap(), 8);
    });
    drop(second);
    let large = admit().unwrap();
    assert_eq!((large.index, scheduler.state.lock().used), (3, 50));
    drop(large);
    assert!(admit().is_some() && admit().is_none());
}
