//! Sleek compresses arrays of floating-point numbers losslessly or within a guaranteed error bound.
//!
//! This crate, `sleek-compress`, is the library behind the HDF5 filter and the C interface of `include/sleek.h`. The
//! stream it writes is described byte by byte in `docs/reference/format.md`. Its default codec is SLEEK (Akathoott,
//! Rodriguez, Burtscher, IPDPS'26). Streams are the same on every machine and are verified before they are decoded.
//! HDF5, Zarr, Python and C read the same streams.
//!
//! - **An array** is a slice of bytes: its elements one after the other, little-endian, the last dimension fastest.
//!   [`Params::dims`] tells its shape; without it the array has one dimension.
//! - **A bound** of [`Bound::Abs`] is in the unit of the values. That of [`Bound::Noa`] is a part of the value range,
//!   that of [`Bound::Rel`] a part of each value. It holds for every value. NaN, infinities and missing values come
//!   back bit for bit.
//! - **A stream** says itself what it holds: [`inspect`] tells without decoding, [`decompress`] needs nothing else.
//! - **An error** has a [`Kind`] for programs and a message that names the value at fault. No input makes a call panic.
//!
//! ```
//! use sleek::{Bound, DType, Params};
//! let values: Vec<u8> = (0..1000).flat_map(|i| (i as f32 * 0.01).sin().to_le_bytes()).collect();
//! let params = Params::new(DType::F32).with_bound(Bound::Abs(1e-3));
//! let stream = sleek::compress(&params, &values).unwrap();
//! let back = sleek::decompress(&stream).unwrap();
//! assert_eq!(back.len(), values.len());
//! ```
//!
//! Requests also come in words, as the command and HDF5 take them ([`text::parse`]); the element type is then yours to
//! set. `examples/rust/compress.rs` has dimensions, ranges and boxes.
//!
//! ```
//! let params = sleek::Params { dtype: sleek::DType::F64, ..sleek::text::parse("noa=1e-4,range=50,fill=-9999")? };
//! assert_eq!(params.bound, sleek::Bound::Noa { share: 1e-4, range: Some(50.0) });
//! # Ok::<(), sleek::Error>(())
//! ```
//!
//! # Features
//!
//! | feature | |
//! |---|---|
//! | `plugin` | exports the functions by which HDF5 and netCDF know a plugin: of the shared library alone |
//! | `cuda` | NVIDIA GPUs; nothing of CUDA is needed to build, load or run without one |
//!
//! Both are on by default; a program that only compresses arrays wants `default-features = false`. The command `sleek`
//! is a package of its own, `sleek-cli`, which uses what is published here.

// Unsafe code stands in these rooms: what is called from outside, what is asked of the operating system and the driver,
// and instructions of a level. Elsewhere it is a few items, each marked with its reason.
#![cfg_attr(not(test), deny(unsafe_code))]

pub mod advise;
#[allow(unsafe_code)]
#[doc(hidden)]
pub mod api;
pub mod bound;
pub mod codec;
pub mod container;
mod dtype;
mod error;
pub mod exec;
#[allow(unsafe_code)]
#[doc(hidden)]
pub mod host;
pub mod missing;
mod mode;
mod params;
#[doc(hidden)]
pub mod primitives;
pub mod printable;
#[allow(unsafe_code)]
pub mod route;
#[doc(hidden)]
pub mod runtime;
#[allow(unsafe_code)]
mod simd;
pub mod text;

use exec::ExecOptions;

/// HDF5, for programs that call it from Rust: the words that ask for the filter, the element type of a datatype, and
/// the filter's work on one chunk. Nothing here calls HDF5.
pub mod hdf5 {
    pub use crate::api::hdf5_filter::cd_values::{CdValues, FILTER_ID, StoredElement, cd_values_of};
    pub use crate::api::hdf5_filter::datatype::{Stored, differ_in_order_only, parse as datatype};
    #[cfg(unix)]
    pub use crate::api::hdf5_filter::{bytes_of_chunk, sleek_h5_class as class, stream_of_chunk};
}

/// The environment variables that steer the library.
pub mod environment {
    pub use crate::host::environment::{LOG, PARAMS, SIMD, THREADS};
}

/// The value range of an array, which a bound of mode `noa` is relative to.
pub mod range {
    pub use crate::primitives::range::{join, value_range};
}

pub use codec::{Detail, Info};
pub use container::Dims;
pub use dtype::DType;
pub use error::{Error, Kind, Result};
pub use missing::{MissingValue, sentinel};
pub use params::{Bound, Device, Limits, MissingValues, Mode, Params, Profile};
pub use route::cpu::{compress, compress_bound, decompress, inspect};
pub use route::cpu::{decompress_chunks_into, decompress_coarse_into, decompress_range_into};
pub use route::ranges::{ChunkRange, chunk_ranges};
pub use route::recompression::of_chunk;

/// The library's version, as in `Cargo.toml`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Compresses `src`, the little-endian (or `big_endian`) bytes of whole elements, into `dst`; returns the bytes
/// written.
///
/// `dst` of at least [`compress_bound`] bytes always suffices; a smaller one is tried and answers `BufferTooSmall`.
pub fn compress_into(params: &Params, src: &[u8], dst: &mut [u8]) -> Result<usize> {
    route::cpu::Request::new(params)?.compress(src, dst, ExecOptions::threads(params.threads))
}

/// Restores the whole array into `dst`; returns the bytes written.
///
/// Every checksum is verified before the bytes that it covers are decoded. After an error `dst` holds nothing of use.
pub fn decompress_into(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    route::cpu::decompress_into(src, dst, ExecOptions::threads(0))
}

/// [`decompress_into`] on `threads` threads; 0 lets the library choose.
pub fn decompress_into_with(src: &[u8], dst: &mut [u8], threads: u32) -> Result<usize> {
    route::cpu::decompress_into(src, dst, ExecOptions::threads(threads))
}

/// Restores the box of elements that begins at `start` and has `lens` along each dimension. It decodes only the chunks
/// that hold them. The dimensions are those that the array was compressed with.
pub fn decompress_box_into(src: &[u8], start: &[u64], lens: &[u64], dst: &mut [u8]) -> Result<()> {
    decompress_coarse_into(src, 0, Some((start, lens)), dst).map(|_| ())
}
