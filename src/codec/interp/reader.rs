//! What is left of a body that is read from its front.

use crate::error::{Result, fail};
use crate::simd::word::Word;

/// The first `n` bytes of `rest`, which shrinks by them.
pub fn take<'a>(rest: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let Some((head, tail)) = rest.split_at_checked(n) else {
        return fail!(Corrupt, "a packed tile ends {} bytes early", n - rest.len());
    };
    *rest = tail;
    Ok(head)
}

/// The number of 16 bits at the front of `rest`.
pub fn take16(rest: &mut &[u8]) -> Result<u16> {
    Ok(u16::load(take(rest, 2)?))
}
