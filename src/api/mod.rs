//! The doors: C, HDF5's filter, datasets that are written and read directly, and netCDF's Zarr. They add no meaning.

#[cfg(unix)]
pub(crate) mod c;
#[cfg(unix)]
pub(crate) mod hdf5_direct;
#[cfg(unix)]
pub mod hdf5_filter;
#[cfg(all(unix, feature = "plugin"))]
mod nczarr;

/// Elsewhere than on Unix: the filter's words alone.
#[cfg(not(unix))]
pub mod hdf5_filter {
    pub mod cd_values;
    pub mod datatype;
}
