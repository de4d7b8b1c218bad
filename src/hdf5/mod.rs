//! The HDF5 filter.
