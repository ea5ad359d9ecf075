//! Thread pools of several sizes for tests.

/// Runs `test` in pools of one and several threads, and outside of any pool.
pub(crate) fn in_pools(test: impl Fn() + Sync) {
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(&test);
    }
    test();
}
