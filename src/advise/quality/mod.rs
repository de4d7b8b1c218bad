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

use super::target::Target;

/// Shows the planes of a part.
pub fn alone(count: &[u64], original: &[f64], restored: &[f64], each: &mut dyn FnMut(&Plane)) {
    let start = vec![0; count.len()];
    let mut planes = Planes::new(count);
    planes.add(Extent { start: &start, count }, original, restored, each);
    planes.finish(each);
}

/// One figure alone of those that a bound is searched for.
#[derive(Clone, Debug)]
pub enum Likeness {
    /// Structural similarity.
    Ssim(Ssim),
    /// The same as climate people compute it, of whole planes.
    Dssim(Box<(Planes, Dssim)>),
    /// Pearson's correlation.
    Pearson(Moments),
    /// The Kolmogorov-Smirnov distance.
    Ks(Distribution),
}

impl Likeness {
    /// Nothing yet; `None` for a target that is of no such figure. Planes of parts are whole planes of `dims`.
    pub fn of(target: &Target, dims: &[u64], range: f64) -> Option<Likeness> {
        match target {
            Target::Ssim(_) => Some(Likeness::Ssim(Ssim::new(range))),
            Target::Dssim(_) => Some(Likeness::Dssim(Box::new((Planes::new(dims), Dssim::default())))),
            Target::Pearson(_) => Some(Likeness::Pearson(Moments::default())),
            Target::Ks(_) => Some(Likeness::Ks(Distribution::default())),
            _ => None,
        }
    }

    /// Takes in a part. Where `is_whole` is not set, the part stands for itself: its planes are its own.
    pub fn add(&mut self, place: Extent, is_whole: bool, original: &[f64], restored: &[f64]) {
        match self {
            Likeness::Ssim(ssim) => ssim.add(place.count, original, restored),
            Likeness::Pearson(moments) => moments.add(original, restored),
            Likeness::Ks(distribution) => distribution.add(original, restored),
            Likeness::Dssim(both) => {
                let (planes, dssim) = &mut **both;
                if is_whole {
                    return planes.add(place, original, restored, &mut |plane| dssim.add(plane));
                }
                alone(place.count, original, restored, &mut |plane| dssim.add(plane));
            }
        }
    }

    /// What it comes to; what cannot be told is NaN.
    pub fn value(&self) -> f64 {
        match self {
            Likeness::Ssim(ssim) => ssim.value(),
            Likeness::Pearson(moments) => moments.pearson(),
            Likeness::Ks(distribution) => distribution.distance(),
            Likeness::Dssim(both) => {
                let (mut planes, mut dssim) = (both.0.clone(), both.1.clone());
                planes.finish(&mut |plane| dssim.add(plane));
                dssim.value().unwrap_or(f64::NAN)
            }
        }
    }
}
