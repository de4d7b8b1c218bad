//! What levels offer for the arithmetic of quantizers.

#[cfg(target_arch = "aarch64")]
use crate::exec::Neon;
#[cfg(target_arch = "x86_64")]
use crate::exec::{Avx2, Avx512};

/// What a level offers; every one gives the same results.
pub trait Arithmetic {
    /// Whether it has fused multiplication and addition.
    const HAS_FMA: bool = false;
    /// Whether it compares numbers of f64 faster than words of 64 bits.
    const CLAMPS_F64: bool = false;
}

#[cfg(target_arch = "x86_64")]
impl Arithmetic for Avx2 {
    const HAS_FMA: bool = true;
    // There is no least or largest of 64-bit words.
    const CLAMPS_F64: bool = true;
}

#[cfg(target_arch = "x86_64")]
impl Arithmetic for Avx512 {
    const HAS_FMA: bool = true;
}

#[cfg(target_arch = "aarch64")]
impl Arithmetic for Neon {
    const HAS_FMA: bool = true;
}
