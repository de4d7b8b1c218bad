//! Advice on a request: see [`crate::advise`].

use std::ffi::c_void;

use super::memory;
use super::types::{sleek_params, sleek_target};
use crate::advise::{self, Target};
use crate::error::{Result, fail};
use crate::host::guard::status;
use crate::host::memory::Heap;
use crate::params::Params;

/// Sets mode and bound of params to what meets a target on an array: SLEEK_ABS with a bound, or SLEEK_LOSSLESS. What
/// they were does not matter. A ratio or a size is exceeded by at most 2 %, where a bound gives that.
///
/// - params: set up by sleek_params_init(); unchanged after an error.
/// - src: count elements of params->dtype in host memory, whose dimensions params->dims may tell.
/// - target, value: a sleek_target and its number.
///
/// The bound is searched for on a sample of 8 MiB and then tried on the whole array, 2 to 16 times, in host memory.
/// NaN, infinities and missing values do not count for quality.
///
/// Errors: SLEEK_E_NULL_POINTER; SLEEK_E_INVALID_ARGUMENT (a target that no bound meets: the text names the nearest one
/// that can be met); SLEEK_E_UNSUPPORTED_TYPE (integers); SLEEK_E_OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sleek_find_bound(
    params: *mut sleek_params,
    src: *const c_void,
    count: usize,
    target: i32,
    value: f64,
) -> i32 {
    // SAFETY: the contract of this function.
    status(|| unsafe {
        let asked = lossless(params)?;
        let src = elements(&asked, src, count)?;
        let target = target_of(target, value)?;
        let found = advise::bound_for(&asked, src, target)?;
        sleek_params::change(params, |own| {
            (own.mode, own.bound, own.range) = (found.mode() as i32, found.number(), 0.0);
            Ok(())
        })
    })
}

fn target_of(target: i32, value: f64) -> Result<Target> {
    const RATIO: i32 = sleek_target::SLEEK_TARGET_RATIO as i32;
    const SIZE: i32 = sleek_target::SLEEK_TARGET_SIZE as i32;
    const PSNR: i32 = sleek_target::SLEEK_TARGET_PSNR as i32;
    const SSIM: i32 = sleek_target::SLEEK_TARGET_SSIM as i32;
    Ok(match target {
        RATIO => Target::Ratio(value),
        SIZE if value >= 1.0 && value < u64::MAX as f64 => Target::Size(value as u64),
        SIZE => return fail!(InvalidArgument, "a size of {value} bytes; a number above 0 is needed"),
        PSNR => Target::Psnr(value),
        SSIM => Target::Ssim(value),
        _ => return fail!(InvalidArgument, "target {target}; a sleek_target is needed, 0 to 3"),
    })
}

/// A request whatever its bound, on the heap: the caller's stack may be small.
///
/// # Safety
/// As for [`sleek_params::copied`].
#[inline(never)]
unsafe fn lossless(params: *const sleek_params) -> Result<Heap<Params>> {
    // SAFETY: the contract.
    let own = unsafe { sleek_params::copied(params) }?;
    let sleek_params { mode, bound, range, .. } = sleek_params::DEFAULT;
    Heap::new(sleek_params { mode, bound, range, ..own }.resolve()?)
}

/// The array that a request is about.
///
/// # Safety
/// `src` is NULL or has `count` elements, which nobody writes during the call.
pub unsafe fn elements<'a>(params: &Params, src: *const c_void, count: usize) -> Result<&'a [u8]> {
    // SAFETY: the contract.
    unsafe { memory::source("src", src, params.dtype.bytes_of(count)?) }
}
