//! How well a restored field stands for the original, in the figures that people look at.

pub mod limits;
mod spectrum;

use serde_json::{Map, Value, json};

use crate::progress::{figure, similarity};
pub use sleek::advise::quality::Extent;
use sleek::advise::quality::{Distribution, Dssim, Moments, Planes, Ssim, alone};
use spectrum::SpectralError;

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

    /// The argument that limits it, the name that JSON has, and the title in a table.
    fn names(self) -> [&'static str; 3] {
        match self {
            Figure::Max => ["--max-error", "max_error", "max error"],
            Figure::Mean => ["--mean-error", "mean_absolute_error", "mean |error|"],
            Figure::Rms => ["--rms", "rms_error", "RMS error"],
            Figure::Psnr => ["--psnr", "psnr", "PSNR"],
            Figure::Pearson => ["--pearson", "pearson", "Pearson"],
            Figure::Ks => ["--ks", "ks_distance", "KS"],
            Figure::Spectral => ["--spectral-error", "spectral_error", "spectral"],
            Figure::Ssim => ["--ssim", "ssim", "SSIM"],
            Figure::Dssim => ["--dssim", "dssim", "DSSIM"],
        }
    }

    /// The argument that limits it.
    pub fn argument(self) -> &'static str {
        self.names()[0]
    }

    /// As JSON calls it.
    pub fn key(self) -> &'static str {
        self.names()[1]
    }

    /// For a table.
    pub fn title(self) -> &'static str {
        self.names()[2]
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
    pub fn add(&mut self, place: Extent, original: &[f64], restored: &[f64]) {
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
