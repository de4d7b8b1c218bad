//! How well a restored field stands for the original, in the figures that people look at.

mod distribution;
mod dssim;
mod moments;
mod plane;
mod ssim;

pub use distribution::Distribution;
pub use dssim::Dssim;
pub use moments::{Moments, Squares, psnr};
pub use plane::{Plane, planes};
pub use ssim::{Ssim, scale_of};

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
