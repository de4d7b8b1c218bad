//! Who has called a function of ours: the address in an HDF5, a netCDF, a program or library that it returns to.

use std::ffi::{c_int, c_void};
use std::ptr::null;

use crate::host::fork::between_forks;

/// The caller of the function that has this byte on its own stack, looked for where it matters; or of none.
#[derive(Clone, Copy, Default)]
pub struct Caller<'a>(Option<&'a u8>);

unsafe extern "C" {
    fn _Unwind_Backtrace(step: unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int, walk: *mut c_void) -> c_int;
    fn _Unwind_GetIP(frame: *mut c_void) -> usize;
    fn _Unwind_GetCFA(frame: *mut c_void) -> usize;
}

impl<'a> Caller<'a> {
    /// That of the function that has `place` on its own stack.
    pub fn of(place: &'a u8) -> Caller<'a> {
        Caller(Some(place))
    }

    /// Where the call returns to; null where that is not known.
    pub fn address(self) -> *const c_void {
        let Some(place) = self.0 else { return null() };
        let mut walk = (&raw const *place as usize, null());
        // Before glibc 2.35 the walk takes the lock on the list of what is loaded.
        // SAFETY: `step` takes what is given to it for what it is; the frames are this thread's own.
        between_forks(|| unsafe { _Unwind_Backtrace(step, (&raw mut walk).cast()) });
        walk.1
    }
}

/// Ends the walk at the first frame that lies beyond the place, for stacks grow downwards: the caller's.
///
/// # Safety
/// `walk` is that of `Caller::address`, and `frame` the unwinder's.
unsafe extern "C" fn step(frame: *mut c_void, walk: *mut c_void) -> c_int {
    // SAFETY: the contract.
    unsafe {
        let (place, found) = &mut *walk.cast::<(usize, *const c_void)>();
        if _Unwind_GetCFA(frame) <= *place {
            return 0; // _URC_NO_REASON: go on
        }
        *found = _Unwind_GetIP(frame) as *const c_void;
    }
    5 // _URC_END_OF_STACK
}
