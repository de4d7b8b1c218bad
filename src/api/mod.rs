//! The doors: C, HDF5's filter, datasets that are written and read directly, and netCDF's Zarr. They add no meaning.
//! Elsewhere than on Unix there are the filter's words alone.

#[cfg(unix)]
pub(crate) mod c;
#[cfg(unix)]
pub(crate) mod hdf5_direct;
pub mod hdf5_filter;
#[cfg(all(unix, feature = "plugin"))]
mod nczarr;
