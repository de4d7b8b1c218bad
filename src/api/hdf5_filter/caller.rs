//! Functions that tell another one where they return to: which HDF5, or which program, has called.

/// Defines an `extern "C"` function that passes its arguments and then its own return address on to another, by these
/// instructions.
macro_rules! with_return_address {
    (
        $(#[$attr:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty
        => $to:path, $x86:literal, $arm:literal
    ) => {
        #[cfg(target_arch = "x86_64")]
        $(#[$attr])*
        #[unsafe(naked)]
        $vis unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            std::arch::naked_asm!($x86, to = sym $to)
        }
        #[cfg(target_arch = "aarch64")]
        $(#[$attr])*
        #[unsafe(naked)]
        $vis unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            std::arch::naked_asm!($arm, to = sym $to)
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        $(#[$attr])*
        $vis unsafe extern "C" fn $name($($arg: $ty),*) -> $ret {
            // SAFETY: the same contract; null says that the caller is not known.
            unsafe { $to($($arg,)* std::ptr::null()) }
        }
    };
}

pub(crate) use with_return_address;

/// The body of a naked `extern "C"` function of eight integers or pointers that passes them and its own return address
/// on.
macro_rules! pass_return_address {
    ($to:ident($($arg:ident),*)) => {{
        // The seventh argument and those after it lie on the stack, behind the return address; so must those of the
        // other call.
        #[cfg(target_arch = "x86_64")]
        std::arch::naked_asm!(
            "push [rsp]", "push [rsp + 24]", "push [rsp + 24]", "call {to}", "add rsp, 24", "ret", to = sym $to
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::naked_asm!(
            "sub sp, sp, #32", "stp x29, x30, [sp, #16]", "str x30, [sp]", "bl {to}", "ldp x29, x30, [sp, #16]",
            "add sp, sp, #32", "ret", to = sym $to
        );
        // SAFETY: the same contract; null says that the caller is not known.
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        unsafe { $to($($arg,)* std::ptr::null()) }
    }};
}
pub(crate) use pass_return_address;
