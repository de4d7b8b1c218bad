//! `gpu.rs` in a library without GPUs: all memory is the host's, and what needs a GPU is refused.
#![allow(missing_docs, clippy::missing_safety_doc, clippy::too_many_arguments)] // as in gpu.rs

use std::ffi::c_void;

use crate::container::Header;
use crate::error::{Result, fail};
use crate::exec::MemorySpace;
use crate::params::{Device, Params};

fn absent<T>() -> Result<T> {
    fail!(Device, "this library was built without the feature cuda")
}

pub fn place(_: *const c_void) -> MemorySpace {
    MemorySpace::Host
}

pub fn default_for(asked: Device) -> Result<i32> {
    match asked {
        Device::Cuda => fail!(Device, "device cuda; this library was built without the feature cuda"),
        _ => Ok(0),
    }
}

pub unsafe fn copy(_: *mut u8, _: *const u8, _: usize, _: i32, _: *mut c_void) -> Result<()> {
    absent()
}

pub unsafe fn download(_: *const u8, _: usize, _: i32) -> Result<Vec<u8>> {
    absent()
}

pub fn describe(ordinal: i32, reason: &str) -> Result<String> {
    Ok(format!("cuda device {ordinal}: {reason}"))
}

pub fn prepare(_: &Params, _: i32, _: *mut c_void) -> Result<()> {
    absent()
}

pub unsafe fn compress(
    _: &Params,
    _: *const u8,
    _: usize,
    _: *mut u8,
    _: usize,
    _: i32,
    _: *mut c_void,
) -> Result<usize> {
    absent()
}

pub unsafe fn decompress(
    _: Device,
    _: (*const u8, usize),
    _: Option<(u64, usize)>,
    _: (*mut u8, usize),
    _: (i32, *mut c_void),
    _: impl FnOnce(&Header) -> Result<()>,
) -> Result<usize> {
    absent()
}

pub unsafe fn decompress_box(
    _: *const u8,
    _: usize,
    _: (&[u64], &[u64]),
    _: *mut u8,
    _: usize,
    _: i32,
    _: *mut c_void,
) -> Result<usize> {
    absent()
}

pub unsafe fn compress_async(
    _: &Params,
    _: *const u8,
    _: usize,
    _: *mut u8,
    _: usize,
    _: *mut u8,
    _: *mut u8,
    _: *mut c_void,
) -> Result<()> {
    absent()
}

pub unsafe fn decompress_async(
    _: &Params,
    _: *const u8,
    _: usize,
    _: *mut u8,
    _: (u64, u64),
    _: *mut u8,
    _: *mut u8,
    _: *mut c_void,
) -> Result<()> {
    absent()
}

/// The batched calls.
pub mod batch {
    use super::{Params, Result, absent, c_void};
    use crate::exec::WORKSPACE_BYTES;

    pub struct Item;

    impl Item {
        pub fn new(_: *const u8, _: *mut u8, _: u64, _: u64) -> Item {
            Item
        }
    }

    pub fn workspace_bytes(_: usize) -> usize {
        WORKSPACE_BYTES
    }

    pub unsafe fn compress_async(_: &Params, _: &[Item], _: *mut u8, _: *mut u8, _: *mut c_void) -> Result<()> {
        absent()
    }

    pub unsafe fn decompress_async(_: &Params, _: &[Item], _: *mut u8, _: *mut u8, _: *mut c_void) -> Result<()> {
        absent()
    }
}
