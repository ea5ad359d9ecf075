//! Work that runs on several threads and keeps its order.

pub(crate) mod reorder_buffer;
pub(crate) mod task_queue;
#[cfg(test)]
pub(crate) mod test_pools;
