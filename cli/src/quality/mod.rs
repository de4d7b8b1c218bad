//! How well a restored field stands for the original, in the figures that people look at.

mod distribution;
mod dssim;
pub mod limits;
mod moments;
pub mod squares;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::progress::{figure, similarity};
use distribution::Distribution;
use dssim::Dssim;
use moments::Moments;
use sleek::advise::ssim::Ssim;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    pub const ALL: [Figure; 8] = {
        use Figure::{Dssim, Ks, Max, Mean, Pearson, Psnr, Rms, Ssim};
        [Max, Mean, Rms, Psnr, Pearson, Ks, Ssim, Dssim]
    };

    /// The argument that limits it, the name that JSON has, and the title in a table.
    pub fn names(self) -> [&'static str; 3] {
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
        let pairs = Figure::ALL.iter().map(|figure| (figure.names()[1].to_owned(), json!(self.get(*figure))));
        Value::Object(pairs.collect::<Map<_, _>>())
    }

    /// In words, for a column.
    pub fn words(&self, figure: Figure) -> String {
        self.get(figure).map_or("-".into(), |value| figure.words(value))
    }
}

/// The figures that are to be taken.
pub type Wanted = BTreeSet<Figure>;

/// Takes in a field and its restored form part by part. What does not count is NaN on both sides.
pub struct Quality {
    wanted: Wanted,
    moments: Moments,
    distribution: Distribution,
    ssim: Ssim,
    dssim: Dssim,
}

impl Quality {
    /// Nothing yet, of a field of so many values and this value range.
    pub fn new(wanted: &Wanted, count: u64, range: f64) -> Quality {
        let (distribution, dssim) = (Distribution::new(count), Dssim::default());
        Quality { wanted: wanted.clone(), moments: Moments::new(range), distribution, ssim: Ssim::new(range), dssim }
    }

    /// Takes in a part of these dimensions.
    pub fn add(&mut self, count: &[u64], original: &[f64], restored: &[f64]) {
        if self.wanted.contains(&Figure::Mean) || self.wanted.contains(&Figure::Pearson) {
            self.moments.add(original, restored);
        }
        if self.wanted.contains(&Figure::Ks) {
            self.distribution.add(original, restored);
        }
        if self.wanted.contains(&Figure::Ssim) {
            self.ssim.add(count, original, restored);
        }
    }

    /// Takes in whole planes, which the last two of these dimensions are those of.
    pub fn add_planes(&mut self, count: &[u64], original: &[f64], restored: &[f64]) {
        if self.wanted.contains(&Figure::Dssim) {
            self.dssim.add(count, original, restored);
        }
    }

    pub fn join(&mut self, part: &Quality) {
        self.moments.join(&part.moments);
        self.distribution.join(&part.distribution);
        self.ssim.join(&part.ssim);
        self.dssim.join(&part.dssim);
    }

    /// The figures, now that all of it was taken in; `known` are the largest error, RMS and PSNR of the comparison.
    pub fn figures(self, known: Option<[f64; 3]>) -> Figures {
        let any = self.moments.any();
        let value = |figure: Figure| match figure {
            Figure::Max => known.map(|known| known[0]),
            Figure::Rms => known.map(|known| known[1]),
            Figure::Psnr => known.map(|known| known[2]),
            Figure::Mean => any.then(|| self.moments.mean_error()),
            Figure::Pearson => any.then(|| self.moments.pearson()),
            Figure::Ks => self.distribution.distance(),
            Figure::Ssim => self.ssim.any().then(|| self.ssim.value()),
            Figure::Dssim => self.dssim.value(),
        };
        Figures(Figure::ALL.map(|figure| self.wanted.contains(&figure).then(|| value(figure)).flatten()))
    }
}
