//! The doors: C, HDF5's filter, and datasets that are written and read directly. They add no meaning.

pub(crate) mod c;
pub(crate) mod hdf5_direct;
pub mod hdf5_filter;
