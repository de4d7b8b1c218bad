//! The HDF5 filter.

/// The filter's id in HDF5: the number that `H5Pset_filter` takes and that files carry.
pub const FILTER_ID: i32 = 47474;
