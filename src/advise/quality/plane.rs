//! An array as the planes that figures of pictures are computed of.

/// A plane of both sides; what does not count is NaN.
pub struct Plane<'a> {
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// One side.
    pub original: &'a [f64],
    /// The other side.
    pub restored: &'a [f64],
}

/// Shows the planes that an array of these dimensions, the slowest first, consists of.
pub fn planes(dims: &[u64], original: &[f64], restored: &[f64], each: &mut dyn FnMut(&Plane)) {
    let [.., height, width] = *dims else { return };
    let (height, width) = (height as usize, width as usize);
    let elements = (height * width).max(1);
    for (original, restored) in original.chunks_exact(elements).zip(restored.chunks_exact(elements)) {
        each(&Plane { height, width, original, restored });
    }
}
