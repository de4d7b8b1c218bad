//! Limits that the figures are held to.

use super::{Figure, Figures, Wanted};

/// What the figures of a field may be at worst.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// The largest error of any value, at most
    #[arg(long, value_name = "E", value_parser = limit)]
    max_error: Option<f64>,
    /// The mean of all errors without their signs, at most
    #[arg(long, value_name = "E", value_parser = limit)]
    mean_error: Option<f64>,
    /// The root of the mean of all squared errors, at most
    #[arg(long, value_name = "E", value_parser = limit)]
    rms: Option<f64>,
    /// PSNR, 20 log10(value range / RMS error), at least
    #[arg(long, value_name = "DB", value_parser = limit)]
    psnr: Option<f64>,
    /// Pearson's correlation of both sides, at least
    #[arg(long, value_name = "R", value_parser = limit)]
    pearson: Option<f64>,
    /// The distance of both distributions by Kolmogorov and Smirnov, at most
    #[arg(long, value_name = "D", value_parser = limit)]
    ks: Option<f64>,
    /// Structural similarity in windows of 8 x 8 values, at least
    #[arg(long, value_name = "S", value_parser = limit)]
    ssim: Option<f64>,
    /// Structural similarity of floating-point data (Baker and others), of the worst plane, at least
    #[arg(long, value_name = "S", value_parser = limit)]
    dssim: Option<f64>,
}

/// A number: nothing is on the right side of NaN.
fn limit(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|limit: &f64| !limit.is_nan()).ok_or_else(|| "a number is needed".into())
}

impl Limits {
    fn of(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::Max => self.max_error,
            Figure::Mean => self.mean_error,
            Figure::Rms => self.rms,
            Figure::Psnr => self.psnr,
            Figure::Pearson => self.pearson,
            Figure::Ks => self.ks,
            Figure::Ssim => self.ssim,
            Figure::Dssim => self.dssim,
        }
    }

    fn given(&self) -> impl Iterator<Item = (Figure, f64)> {
        Figure::ALL.into_iter().filter_map(|figure| Some((figure, self.of(figure)?)))
    }

    /// The figures that have a limit, or all of them.
    pub fn wanted(&self, all: bool) -> Wanted {
        if all { Figure::ALL.into() } else { self.given().map(|(figure, _)| figure).collect() }
    }

    /// The limits that figures miss, in words. A figure that a field cannot have is not held to any.
    pub fn missed(&self, figures: &Figures) -> Vec<String> {
        let missed = self.given().filter_map(|(figure, limit)| {
            let value = figures.get(figure).filter(|value| !figure.is_met(*value, limit))?;
            Some(format!("{} {limit} is missed: {}", figure.names()[0], figure.words(value)))
        });
        missed.collect()
    }

    /// An error if there is a limit that none of these fields has a figure for: then nothing was held to it.
    pub fn expect_told<'a>(&self, all: impl Iterator<Item = &'a Figures> + Clone) -> Result<(), String> {
        let untold = |figure: Figure| all.clone().all(|figures| figures.get(figure).is_none());
        match self.given().find(|(figure, _)| untold(*figure)) {
            None => Ok(()),
            Some((figure, _)) => Err(format!("{}: nothing that was compared has such a figure", figure.names()[0])),
        }
    }
}
