//! What is left of a body that is read from its front.

use crate::error::{Result, fail};

/// The first `n` bytes of `rest`, which shrinks by them.
#[inline(always)]
pub fn take<'a>(rest: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    let Some((head, tail)) = rest.split_at_checked(n) else { return ends_early(n - rest.len()) };
    *rest = tail;
    Ok(head)
}

#[cold]
fn ends_early<T>(bytes: usize) -> Result<T> {
    fail!(Corrupt, "a body ends {bytes} bytes early")
}

/// The number of 16 bits at the front of `rest`.
pub fn take16(rest: &mut &[u8]) -> Result<u16> {
    let bytes = take(rest, 2)?;
    Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
}

/// Refuses padding that is not zero.
#[inline(always)]
pub fn zero(padding: &[u8]) -> Result<()> {
    match padding.iter().fold(0, |all, b| all | b) {
        0 => Ok(()),
        _ => not_zero(),
    }
}

#[cold]
fn not_zero() -> Result<()> {
    fail!(Corrupt, "padding bytes are not zero")
}
