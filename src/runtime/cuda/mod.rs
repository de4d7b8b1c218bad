//! GPUs: the driver, the modules of kernels by codec, launches, and the arrays of a call as kernels get them. Which
//! kernels do what is asked for is their codec's affair (`route::device`).

pub mod arrays;
pub(crate) mod driver;
pub(crate) mod hyperslab;
pub mod image;
pub mod launch;
pub(crate) mod memory;
pub mod module;

pub use driver::{Session, default_ordinal, describe, place, usable};
pub use memory::download;
