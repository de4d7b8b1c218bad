//! How well a restored field stands for the original, in the figures that people look at.

mod distribution;
mod dssim;
mod moments;
mod planes;
mod ssim;

pub use distribution::Distribution;
pub use dssim::Dssim;
pub use moments::Moments;
pub use planes::{Extent, Plane, Planes};
pub use ssim::{Ssim, scale_of};

/// Shows the planes of a part.
pub fn alone(count: &[u64], original: &[f64], restored: &[f64], each: &mut dyn FnMut(&Plane)) {
    let start = vec![0; count.len()];
    let mut planes = Planes::new(count);
    planes.add(Extent { start: &start, count }, original, restored, each);
    planes.finish(each);
}
