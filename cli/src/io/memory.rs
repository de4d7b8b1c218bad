//! Memory whose size a file says: where it cannot be had that is an error, and no end of the process.

/// Bytes to be written over.
pub fn zeroed(n: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    reserve(&mut bytes, n)?;
    bytes.resize(n, 0);
    Ok(bytes)
}

/// Room for `n` more elements.
pub fn reserve<T>(v: &mut Vec<T>, n: usize) -> Result<(), String> {
    let bytes = n.saturating_mul(size_of::<T>());
    v.try_reserve_exact(n).map_err(|_| format!("out of memory: {bytes} bytes could not be had"))
}

/// Whether `n` bytes can be had in small pieces, which fail less gently.
pub fn is_there(n: usize) -> bool {
    let mut block = Vec::<u8>::new();
    let found = block.try_reserve_exact(n).is_ok();
    // The compiler must not leave the block out.
    std::hint::black_box(&block);
    found
}
