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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_planes() {
        let values: Vec<f64> = (0..72).map(f64::from).collect();
        let mut seen = Vec::new();
        planes(&[3, 4, 6], &values, &values, &mut |plane| {
            assert_eq!((plane.height, plane.width, plane.original), (4, 6, plane.restored));
            seen.extend_from_slice(plane.original);
        });
        assert_eq!(seen, values);
        planes(&[72], &values, &values, &mut |_| panic!("a line is no plane"));
    }
}
