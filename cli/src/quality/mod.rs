//! How well a restored field stands for the original, in the figures that people look at.

mod distribution;
mod dssim;
pub mod limits;
pub mod moments;
mod plane;

use serde_json::{Map, Value, json};

use crate::progress::{figure, similarity};
use distribution::Distribution;
use dssim::Dssim;
use moments::Moments;
use plane::planes;
use sleek::advise::ssim::Ssim;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    Max,
    Mean,
    Rms,
    Psnr,
    Pearson,
    Ks,
    Ssim,
    Dssim,
}

impl Figure {
    pub const ALL: [Figure; 8] = [
        Figure::Max,
        Figure::Mean,
        Figure::Rms,
        Figure::Psnr,
        Figure::Pearson,
        Figure::Ks,
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

/// Figures that a comparison finds.
pub const KNOWN: [Figure; 3] = [Figure::Max, Figure::Rms, Figure::Psnr];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wanted([bool; Figure::ALL.len()]);

impl Wanted {
    pub const ALL: Wanted = Wanted([true; Figure::ALL.len()]);

    pub fn of(figures: impl Iterator<Item = Figure>) -> Wanted {
        let mut wanted = Wanted::default();
        figures.for_each(|figure| wanted.0[figure as usize] = true);
        wanted
    }

    pub fn without<const N: usize>(mut self, figures: [Figure; N]) -> Wanted {
        figures.into_iter().for_each(|figure| self.0[figure as usize] = false);
        self
    }

    pub fn has(&self, figure: Figure) -> bool {
        self.0[figure as usize]
    }

    pub fn any(&self) -> bool {
        self.0.contains(&true)
    }

    /// Whether one of them is taken of parts of any shape.
    pub fn any_of_parts(&self) -> bool {
        self.without([Figure::Dssim]).any()
    }
}

/// Takes in a field and its restored form part by part. What does not count is NaN on both sides.
pub struct Quality {
    wanted: Wanted,
    range: f64,
    moments: Moments,
    distribution: Distribution,
    ssim: Ssim,
    dssim: Dssim,
}

impl Quality {
    /// Nothing yet, of a field of this value range.
    pub fn new(wanted: Wanted, range: f64) -> Quality {
        Quality {
            wanted,
            range,
            moments: Moments::new(range),
            distribution: Distribution::default(),
            ssim: Ssim::new(range),
            dssim: Dssim::default(),
        }
    }

    /// Takes in a part of these dimensions.
    pub fn add(&mut self, count: &[u64], original: &[f64], restored: &[f64]) {
        if self.wanted.0[..=Figure::Pearson as usize].contains(&true) {
            self.moments.add(original, restored);
        }
        if self.wanted.has(Figure::Ks) {
            self.distribution.add(original, restored);
        }
        if self.wanted.has(Figure::Ssim) {
            self.ssim.add(count, original, restored);
        }
    }

    /// Takes in whole planes, which the last two of these dimensions are those of.
    pub fn add_planes(&mut self, count: &[u64], original: &[f64], restored: &[f64]) {
        if self.wanted.has(Figure::Dssim) {
            planes(count, original, restored, &mut |plane| self.dssim.add(plane));
        }
    }

    /// Takes in a part that stands for itself: its planes are its own.
    pub fn add_alone(&mut self, count: &[u64], original: &[f64], restored: &[f64]) {
        self.add(count, original, restored);
        self.add_planes(count, original, restored);
    }

    pub fn join(&mut self, part: &Quality) {
        self.moments.join(&part.moments);
        self.distribution.join(&part.distribution);
        self.ssim.join(&part.ssim);
        self.dssim.join(&part.dssim);
    }

    /// The figures, now that all of it was taken in, with those that a comparison has found already.
    pub fn with(self, known: Option<[f64; 3]>) -> Figures {
        let mut figures = self.figures();
        let known = KNOWN.into_iter().zip(known.into_iter().flatten());
        known.for_each(|(figure, value)| figures.0[figure as usize] = Some(value));
        figures
    }

    /// The figures, now that all of it was taken in.
    pub fn figures(self) -> Figures {
        let any = self.moments.count() > 0;
        let value = |figure: Figure| match figure {
            Figure::Max => any.then(|| self.moments.max_error()),
            Figure::Mean => any.then(|| self.moments.mean_error()),
            Figure::Rms => any.then(|| self.moments.rms_error()),
            Figure::Psnr => any.then(|| self.moments.psnr(self.range)),
            Figure::Pearson => any.then(|| self.moments.pearson()),
            Figure::Ks => self.distribution.any().then(|| self.distribution.distance()),
            Figure::Ssim => self.ssim.any().then(|| self.ssim.value()),
            Figure::Dssim => self.dssim.value(),
        };
        Figures(Figure::ALL.map(|figure| self.wanted.has(figure).then(|| value(figure)).flatten()))
    }
}
