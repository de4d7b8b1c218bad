//! The floating-point environment. A host may have set another rounding mode or flush-to-zero; bytes must not depend on
//! it. Miri, which knows no assembly, has only the standard one.

/// Sets round-to-nearest, no flushing, all exceptions masked, until dropped. Cheap: two register moves.
pub struct Guard {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    mxcsr: u32,
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    fpcr: u64,
}

impl Guard {
    /// Saves the thread's environment and sets the standard one.
    #[inline]
    pub fn standard() -> Guard {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            let mut mxcsr = 0u32;
            let standard = 0x1f80u32;
            // SAFETY: SSE is part of x86-64; the memory operands are live locals.
            unsafe {
                std::arch::asm!("stmxcsr [{0}]", in(reg) &mut mxcsr, options(nostack));
                std::arch::asm!("ldmxcsr [{0}]", in(reg) &standard, options(nostack, readonly));
            }
            Guard { mxcsr }
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        {
            let fpcr: u64;
            // SAFETY: FPCR is readable and writable from user code.
            unsafe {
                std::arch::asm!("mrs {0}, fpcr", out(reg) fpcr, options(nostack, nomem));
                std::arch::asm!("msr fpcr, {0}", in(reg) 0u64, options(nostack, nomem));
            }
            Guard { fpcr }
        }
        #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
        Guard {}
    }
}

impl Drop for Guard {
    #[inline]
    fn drop(&mut self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: restores what `standard` read.
        unsafe {
            std::arch::asm!("ldmxcsr [{0}]", in(reg) &self.mxcsr, options(nostack, readonly));
        }
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        // SAFETY: restores what `standard` read.
        unsafe {
            std::arch::asm!("msr fpcr, {0}", in(reg) self.fpcr, options(nostack, nomem));
        }
    }
}
