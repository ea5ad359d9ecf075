//! Pools of threads, for tests.

/// Runs `test` in a pool of one thread, of several, and outside of any.
pub(crate) fn in_pools(test: impl Fn() + Sync) {
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(&test);
    }
    test();
}
