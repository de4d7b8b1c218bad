//! The doors: C, HDF5's filter, datasets that are written and read directly, and netCDF's Zarr. They add no meaning.

pub(crate) mod c;
pub(crate) mod hdf5_direct;
pub mod hdf5_filter;
#[cfg(feature = "plugin")]
mod nczarr;
