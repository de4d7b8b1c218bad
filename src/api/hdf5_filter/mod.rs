//! The HDF5 filter. It is not linked to HDF5: reading needs none of HDF5's functions, and `set_local` takes those of
//! the library that calls it (`resolve`).

/// cbindgen:ignore
#[doc(hidden)]
pub mod abi;
pub(crate) mod buffer;
/// cbindgen:ignore
#[doc(hidden)]
pub mod caller;
pub mod cd_values;
pub(crate) mod chunk;
mod class;
pub(crate) mod dataset;
pub mod datatype;
pub(crate) mod filter;
pub(crate) mod loaded;
pub(crate) mod neighbours;
#[cfg(feature = "cuda")]
pub(crate) mod prepared;
pub(crate) mod report;
pub(crate) mod resolve;
pub(crate) mod set_local;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod symtab;

pub use cd_values::{FILTER_ID, cd_values_of};
pub use class::sleek_h5_class;
#[doc(hidden)]
pub use filter::filter_of; // for the fuzz targets
pub use filter::{bytes_of_chunk, stream_of_chunk};
