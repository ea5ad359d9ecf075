//! The cases of mcap logs.
