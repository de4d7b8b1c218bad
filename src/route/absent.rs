//! `device.rs` in a library without GPUs: all memory is the host's, and what needs a GPU is refused.
#![allow(missing_docs, clippy::missing_safety_doc, clippy::too_many_arguments)] // as there

use std::ffi::c_void;

use crate::container::{Header, Wanted};
use crate::error::{Result, fail};
use crate::exec::MemorySpace;
use crate::params::{Device, Params};

fn absent<T>() -> Result<T> {
    fail!(Device, "this library was built without the feature cuda")
}

/// Calls that are refused, of these arguments.
macro_rules! refused {
    ($(fn $name:ident($($argument:ty),* $(,)?) -> $done:ty;)+) => {
        $(pub unsafe fn $name($(_: $argument),*) -> Result<$done> {
            absent()
        })+
    };
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

pub fn gpus() -> Vec<String> {
    vec!["this library was built without the feature cuda".into()]
}

pub fn describe(ordinal: i32, reason: &str) -> Result<String> {
    Ok(format!("cuda device {ordinal}: {reason}"))
}

pub fn prepare(_: &Params, _: i32, _: *mut c_void) -> Result<()> {
    absent()
}

refused! {
    fn copy(*mut u8, *const u8, usize, i32, *mut c_void) -> ();
    fn download(*const u8, usize, i32) -> Vec<u8>;
    fn compress(&Params, *const u8, usize, *mut u8, usize, i32, *mut c_void) -> usize;
    fn decompress(
        Device,
        (*const u8, usize),
        impl FnOnce(&Header) -> Result<Wanted>,
        (*mut u8, usize),
        (i32, *mut c_void),
    ) -> usize;
    fn compress_async(&Params, *const u8, usize, *mut u8, usize, *mut u8, *mut u8, *mut c_void) -> ();
    fn decompress_async(&Params, *const u8, usize, *mut u8, (u64, u64), *mut u8, *mut u8, *mut c_void) -> ();
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

    refused! {
        fn compress_async(&Params, &[Item], *mut u8, *mut u8, *mut c_void) -> ();
        fn decompress_async(&Params, &[Item], *mut u8, *mut u8, *mut c_void) -> ();
    }
}
