//! Targets: a ratio, a size, a PSNR, an SSIM.

/// A PSNR of what came back bit for bit, for arithmetic.
pub const EXACT: f64 = 1e4;

/// What a result is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// So many times smaller, at least.
    Ratio(f64),
    /// So many bytes, at most.
    Size(u64),
    /// So many dB, at least.
    Psnr(f64),
    /// Such a structural similarity, at least.
    Ssim(f64),
}

impl Target {
    /// What it is about.
    pub fn name(&self) -> &'static str {
        match self {
            Target::Ratio(_) => "ratio",
            Target::Size(_) => "size",
            Target::Psnr(_) => "psnr",
            Target::Ssim(_) => "ssim",
        }
    }

    /// What is needed, if nothing could ever meet it.
    pub fn needs(&self) -> Option<&'static str> {
        match self {
            Target::Ratio(ratio) if !(*ratio > 0.0 && ratio.is_finite()) => Some("a number above 0"),
            Target::Size(0) => Some("a number above 0"),
            Target::Psnr(db) if !(*db > 0.0 && *db < EXACT) => Some("a number of dB above 0"),
            Target::Ssim(share) if !(*share > 0.0 && *share < 1.0) => Some("a number between 0 and 1"),
            _ => None,
        }
    }

    /// Whether errors are to be measured, not bytes alone.
    pub fn is_of_quality(&self) -> bool {
        !matches!(self, Target::Ratio(_) | Target::Size(_))
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let name = self.name();
        match self {
            Target::Size(size) => write!(f, "{name}={size}"),
            Target::Ratio(value) | Target::Psnr(value) | Target::Ssim(value) => {
                write!(f, "{name}={}", Digits(*value))
            }
        }
    }
}

/// A number as people type it.
pub struct Digits(pub f64);

impl std::fmt::Display for Digits {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let x = self.0;
        if x == 0.0 || (1e-4..1e6).contains(&x.abs()) { write!(f, "{x}") } else { write!(f, "{x:e}") }
    }
}
