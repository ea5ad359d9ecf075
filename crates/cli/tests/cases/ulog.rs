//! The cases of ulog logs.
