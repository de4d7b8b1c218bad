//! The HDF5 filter. It is not linked to HDF5: reading needs none of HDF5's functions, and `set_local` takes those of
//! the library that calls it (`resolve`).

/// cbindgen:ignore
#[doc(hidden)]
pub mod abi;
pub(crate) mod caller;
pub mod cd_values;
pub(crate) mod chunk;
mod class;
pub(crate) mod dataset;
pub mod datatype;
pub(crate) mod filter;
pub(crate) mod loaded;
pub(crate) mod neighbours;
pub(crate) mod pipeline;
pub(crate) mod report;
pub(crate) mod resolve;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod symtab;

pub use cd_values::{FILTER_ID, cd_values_of};
pub(crate) use chunk::measured_without;
pub use class::sleek_h5_class;
#[doc(hidden)]
pub use filter::filter as filter_of_caller; // for the fuzz targets
pub use filter::{bytes_of_chunk, stream_of_chunk};
