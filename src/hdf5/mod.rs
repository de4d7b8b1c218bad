//! The HDF5 filter.

pub mod cd_values;
pub mod text;

pub use cd_values::cd_values_of;

/// The filter's id, from the range that HDF5 leaves to private use; the one place where it is defined.
pub const FILTER_ID: i32 = 47474;
