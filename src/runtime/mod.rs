//! Who does the work: threads of the CPU, or a GPU. A runtime cuts arrays into chunks and places the results; it knows
//! no method.

pub(crate) mod cpu;
#[allow(unsafe_code)] // calls the driver
#[cfg(feature = "cuda")]
pub mod cuda;
