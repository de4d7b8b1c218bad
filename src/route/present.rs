//! What GPUs have to do with a call, in a library that has them; `absent.rs` says the same for one that has not.

use std::ffi::c_void;

use super::device::without_kernels;
pub use super::device::{compress, compress_async, decompress, decompress_async, prepare};
use crate::error::Result;
use crate::params::Device;
use crate::runtime::cuda::{self, Session};
pub use crate::runtime::cuda::{download, place};

/// The GPU to use where no pointer names one.
pub fn default_for(asked: Device) -> Result<i32> {
    match asked {
        Device::Cuda => cuda::usable().map(|_| cuda::default_ordinal()),
        _ => Ok(0),
    }
}

/// Copies bytes from or to memory of GPU `ordinal`, behind what is on the stream, and waits for it.
///
/// # Safety
/// Both ranges are valid, and do not overlap.
pub unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize, ordinal: i32, stream: *mut c_void) -> Result<()> {
    let session = Session::enter(ordinal, stream)?;
    // SAFETY: the contract; what is copied is waited for.
    unsafe { session.copy(to, from, bytes) }?;
    session.wait()
}

/// What there is of GPUs: a line for each card, or one that says why there is none; and one if kernels are missing.
pub fn gpus() -> Vec<String> {
    let of_cards = cuda::usable().and_then(|(version, count)| {
        let card = |ordinal| {
            let (name, major, minor) = cuda::describe(ordinal)?;
            let (of, digit) = (version / 1000, version % 1000 / 10);
            Ok(format!("{name}, compute capability {major}.{minor}, driver for CUDA {of}.{digit}"))
        };
        (0..count).map(card).collect::<Result<Vec<_>>>()
    });
    let mut lines = of_cards.unwrap_or_else(|e| vec![e.message]);
    if !cuda::module::is_built() {
        lines.push("no kernels are in this build: make kernels, and build it again".into());
    }
    lines
}

/// A sentence on GPU `ordinal`, which was chosen for a reason.
pub fn describe(ordinal: i32, reason: &str) -> Result<String> {
    let (name, major, minor) = cuda::describe(ordinal)?;
    let missing = without_kernels();
    let but = match missing.is_empty() {
        true => String::new(),
        false => format!("; no kernels of {}, whose work the CPU does", missing.join(", ")),
    };
    Ok(format!("cuda device {ordinal} ({name}, compute capability {major}.{minor}): {reason}{but}"))
}
