//! Memory that grows with the data: where `vec!` would abort the host process, these answer with an error.

use crate::error::{Result, fail};

/// `n` times `value`.
pub fn filled<T: Clone>(n: usize, value: T) -> Result<Vec<T>> {
    let mut v = Vec::new();
    reserve(&mut v, n)?;
    v.resize(n, value);
    Ok(v)
}

/// Room for `n` more elements in `v`.
pub fn reserve<T>(v: &mut Vec<T>, n: usize) -> Result<()> {
    match v.try_reserve_exact(n) {
        Ok(()) => Ok(()),
        Err(_) => fail!(OutOfMemory, "{} bytes could not be allocated", n.saturating_mul(size_of::<T>())),
    }
}
