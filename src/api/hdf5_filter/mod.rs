//! The HDF5 filter. It is not linked to HDF5: reading needs none of HDF5's functions, and `set_local` takes those of
//! the library that calls it (`resolve`).

#[cfg(unix)]
/// cbindgen:ignore
#[doc(hidden)]
pub mod abi;
#[cfg(unix)]
mod buffer;
#[cfg(unix)]
pub(crate) mod caller;
pub mod cd_values;
#[cfg(unix)]
pub(crate) mod chunk;
#[cfg(unix)]
mod class;
#[cfg(unix)]
pub(crate) mod dataset;
pub mod datatype;
#[cfg(unix)]
pub(crate) mod declined;
#[cfg(unix)]
pub(crate) mod filter;
#[cfg(unix)]
pub(crate) mod loaded;
#[cfg(unix)]
pub(crate) mod neighbours;
#[cfg(unix)]
pub(crate) mod pipeline;
#[cfg(all(unix, feature = "cuda"))]
pub(crate) mod prepared;
#[cfg(unix)]
pub(crate) mod report;
#[cfg(unix)]
pub(crate) mod resolve;
#[cfg(unix)]
pub(crate) mod set_local;
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod symtab;

pub use cd_values::{FILTER_ID, cd_values_of};
#[cfg(unix)]
pub use class::sleek_h5_class;
#[cfg(unix)]
#[doc(hidden)]
pub use filter::filter as filter_of_caller; // for the fuzz targets
#[cfg(unix)]
pub use filter::{bytes_of_chunk, stream_of_chunk};
