//! Being a guest in somebody else's process: its forks, its threads, its memory, its environment, its rounding mode.

mod cancel;
pub mod environment;
pub(crate) mod fork;
pub(crate) mod fpu;
pub(crate) mod guard;
pub(crate) mod helpers;
pub(crate) mod memory;
pub mod pool;
