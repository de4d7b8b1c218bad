//! How well a restored field stands for the original, in the figures that people look at.

mod distribution;
mod dssim;
pub mod limits;
mod moments;
mod planes;
mod spectrum;
pub mod ssim;

use serde_json::{Map, Value, json};

use crate::progress::figure;
use distribution::Distribution;
use dssim::Dssim;
use moments::Moments;
use planes::{Plane, Planes};
use spectrum::SpectralError;
use ssim::{Ssim, similarity};

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    Max,
    Mean,
    Rms,
    Psnr,
    Pearson,
    Ks,
    Spectral,
    Ssim,
    Dssim,
}

impl Figure {
    pub const ALL: [Figure; 9] = [
        Figure::Max,
        Figure::Mean,
        Figure::Rms,
        Figure::Psnr,
        Figure::Pearson,
        Figure::Ks,
        Figure::Spectral,
        Figure::Ssim,
        Figure::Dssim,
    ];

    /// The argument that limits it.
    pub fn argument(self) -> &'static str {
        match self {
            Figure::Max => "--max-error",
            Figure::Mean => "--mean-error",
            Figure::Rms => "--rms",
            Figure::Psnr => "--psnr",
            Figure::Pearson => "--pearson",
            Figure::Ks => "--ks",
            Figure::Spectral => "--spectral-error",
            Figure::Ssim => "--ssim",
            Figure::Dssim => "--dssim",
        }
    }

    /// As JSON calls it.
    pub fn key(self) -> &'static str {
        match self {
            Figure::Max => "max_error",
            Figure::Mean => "mean_absolute_error",
            Figure::Rms => "rms_error",
            Figure::Psnr => "psnr",
            Figure::Pearson => "pearson",
            Figure::Ks => "ks_distance",
            Figure::Spectral => "spectral_error",
            Figure::Ssim => "ssim",
            Figure::Dssim => "dssim",
        }
    }

    /// For a table.
    pub fn title(self) -> &'static str {
        match self {
            Figure::Max => "max error",
            Figure::Mean => "mean |error|",
            Figure::Rms => "RMS error",
            Figure::Psnr => "PSNR",
            Figure::Pearson => "Pearson",
            Figure::Ks => "KS",
            Figure::Spectral => "spectral",
            Figure::Ssim => "SSIM",
            Figure::Dssim => "DSSIM",
        }
    }

    /// Whether more of it is better.
    fn is_likeness(self) -> bool {
        matches!(self, Figure::Psnr | Figure::Pearson | Figure::Ssim | Figure::Dssim)
    }

    /// Whether a value is within a limit; one that cannot be told is not.
    pub fn is_met(self, value: f64, limit: f64) -> bool {
        if self.is_likeness() { value >= limit } else { value <= limit }
    }

    /// A value for reading.
    pub fn words(self, value: f64) -> String {
        match self {
            Figure::Psnr if value == f64::INFINITY => "infinite".into(),
            Figure::Pearson | Figure::Ssim | Figure::Dssim if value == 1.0 => "1".into(),
            Figure::Psnr => format!("{value:.2} dB"),
            Figure::Pearson | Figure::Ssim | Figure::Dssim => similarity(value),
            _ => figure(value),
        }
    }
}

/// The figures of a field; those that it cannot have are missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures([Option<f64>; Figure::ALL.len()]);

impl Figures {
    pub fn get(&self, figure: Figure) -> Option<f64> {
        self.0[figure as usize]
    }

    pub fn to_json(&self) -> Value {
        let pairs = Figure::ALL.iter().map(|figure| (figure.key().to_owned(), json!(self.get(*figure))));
        Value::Object(pairs.collect::<Map<_, _>>())
    }

    /// In words, for a column.
    pub fn words(&self, figure: Figure) -> String {
        self.get(figure).map_or("-".into(), |value| figure.words(value))
    }
}

/// Where a part of a field lies.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub start: &'a [u64],
    /// Lengths, the slowest first.
    pub count: &'a [u64],
}

/// Takes in a field and its restored form part by part. What does not count is NaN on both sides.
pub struct Quality {
    range: f64,
    moments: Moments,
    distribution: Distribution,
    ssim: Ssim,
    planes: Planes,
    dssim: Dssim,
    spectrum: SpectralError,
}

impl Quality {
    /// Nothing yet, of a field of these dimensions and this value range.
    pub fn new(dims: &[u64], range: f64) -> Quality {
        let planes = Planes::new(dims);
        let (count, elements) = (planes.total(), planes.elements());
        Quality {
            range,
            moments: Moments::default(),
            distribution: Distribution::default(),
            ssim: Ssim::new(range),
            planes,
            dssim: Dssim::default(),
            spectrum: SpectralError::new(count, elements),
        }
    }

    /// Takes in a part.
    pub fn add(&mut self, place: Place, original: &[f64], restored: &[f64]) {
        self.moments.add(original, restored);
        self.distribution.add(original, restored);
        self.ssim.add(place.count, original, restored);
        let (dssim, spectrum) = (&mut self.dssim, &mut self.spectrum);
        self.planes.add(place, original, restored, &mut |plane| {
            dssim.add(plane);
            spectrum.add(plane);
        });
    }

    /// Takes in a part that stands for itself: its planes are its own.
    pub fn add_alone(&mut self, count: &[u64], original: &[f64], restored: &[f64]) {
        self.moments.add(original, restored);
        self.distribution.add(original, restored);
        self.ssim.add(count, original, restored);
        let (dssim, spectrum) = (&mut self.dssim, &mut self.spectrum);
        alone(count, original, restored, &mut |plane| {
            dssim.add(plane);
            spectrum.add(plane);
        });
    }

    /// The figures, now that all of it was taken in.
    pub fn figures(mut self) -> Figures {
        let (dssim, spectrum) = (&mut self.dssim, &mut self.spectrum);
        self.planes.finish(&mut |plane| {
            dssim.add(plane);
            spectrum.add(plane);
        });
        let mut figures = Figures([None; Figure::ALL.len()]);
        let mut put = |figure: Figure, value| figures.0[figure as usize] = value;
        let any = self.moments.count() > 0;
        let some = |value: f64| any.then_some(value);
        put(Figure::Max, some(self.moments.max_error()));
        put(Figure::Mean, some(self.moments.mean_error()));
        put(Figure::Rms, some(self.moments.rms_error()));
        put(Figure::Psnr, some(self.moments.psnr(self.range)));
        put(Figure::Pearson, some(self.moments.pearson()));
        put(Figure::Ks, some(self.distribution.distance()));
        put(Figure::Spectral, self.spectrum.value());
        put(Figure::Ssim, some(self.ssim.value()));
        put(Figure::Dssim, self.dssim.value());
        figures
    }
}

/// Shows the planes of a part.
fn alone(count: &[u64], original: &[f64], restored: &[f64], each: &mut dyn FnMut(&Plane)) {
    let start = vec![0; count.len()];
    let mut planes = Planes::new(count);
    planes.add(Place { start: &start, count }, original, restored, each);
    planes.finish(each);
}

/// One figure alone of those that a bound is searched for.
#[derive(Clone, Debug)]
pub enum Likeness {
    Ssim(Ssim),
    Dssim(Box<(Planes, Dssim)>),
    Pearson(Moments),
    Ks(Distribution),
}

impl Likeness {
    /// Nothing yet; `None` for a figure that no bound is searched for. Planes of parts are whole planes of `dims`.
    pub fn new(figure: Figure, dims: &[u64], range: f64) -> Option<Likeness> {
        match figure {
            Figure::Ssim => Some(Likeness::Ssim(Ssim::new(range))),
            Figure::Dssim => Some(Likeness::Dssim(Box::new((Planes::new(dims), Dssim::default())))),
            Figure::Pearson => Some(Likeness::Pearson(Moments::default())),
            Figure::Ks => Some(Likeness::Ks(Distribution::default())),
            _ => None,
        }
    }

    /// Takes in a part. Where `is_whole` is not set, the part stands for itself: its planes are its own.
    pub fn add(&mut self, place: Place, is_whole: bool, original: &[f64], restored: &[f64]) {
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
