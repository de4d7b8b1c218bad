//! An array in Fortran's order, put into C's.

/// The bytes of an array whose first dimension is the fastest, with the last one as the fastest. `lens` are the lengths
/// of its dimensions, all above 0, and `bytes` has as many elements of `size` bytes.
pub fn in_c_order(bytes: &[u8], size: usize, lens: &[u64]) -> Result<Vec<u8>, String> {
    let mut turned = Vec::new();
    super::reserve(&mut turned, bytes.len())?;
    let lens: Vec<usize> = lens.iter().map(|len| *len as usize).collect();
    let mut strides = vec![size; lens.len()];
    (1..lens.len()).for_each(|i| strides[i] = strides[i - 1] * lens[i - 1]);
    let mut index = vec![0; lens.len()];
    for _ in 0..bytes.len() / size {
        let from: usize = index.iter().zip(&strides).map(|(i, stride)| i * stride).sum();
        turned.extend_from_slice(&bytes[from..from + size]);
        for (i, len) in index.iter_mut().zip(&lens).rev() {
            *i = (*i + 1) % len;
            if *i > 0 {
                break;
            }
        }
    }
    Ok(turned)
}
