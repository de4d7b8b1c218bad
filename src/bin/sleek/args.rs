//! Arguments that several subcommands take, and what becomes of them.

use clap::builder::PossibleValuesParser;
use sleek::{DType, Mode, Params, Profile};

use crate::progress::number;

/// The bound: exactly one of four.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub struct Bound {
    /// Absolute bound: |v − r| ≤ E for every value v and its restored r
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    abs: Option<f64>,
    /// Bound relative to the value range: |v − r| ≤ E · (max − min) of the whole array
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    noa: Option<f64>,
    /// Bound relative to each value: |v − r| ≤ E · |v|
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    rel: Option<f64>,
    /// Every bit comes back
    #[arg(long)]
    lossless: bool,
}

impl Bound {
    fn is_given(&self) -> bool {
        self.lossless || self.abs.or(self.noa).or(self.rel).is_some()
    }

    fn mode_and_value(&self) -> (Mode, f64) {
        let given = [(Mode::Abs, self.abs), (Mode::Noa, self.noa), (Mode::Rel, self.rel)];
        let lossy = given.into_iter().find_map(|(mode, bound)| bound.map(|b| (mode, b)));
        lossy.unwrap_or((Mode::Lossless, 0.0))
    }
}

/// What goes with a bound.
#[derive(clap::Args)]
pub struct Quality {
    #[command(flatten)]
    bound: Bound,
    /// adaptive: the speed of memory; fast: the fewest instructions; ratio: the smallest stream
    #[arg(long, default_value = "adaptive", value_parser = PossibleValuesParser::new(Profile::ALL.map(Profile::name)))]
    profile: String,
    /// With --noa: the value range to use instead of measuring it
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    range: Option<f64>,
    /// A missing value, such as -9999, or its bits, such as 0x7fc00000: it comes back exactly and does not count for
    /// the value range; up to four times
    #[arg(long, value_name = "V", allow_negative_numbers = true)]
    fill: Vec<String>,
}

impl Quality {
    /// Whether there is a bound, where it need not be given.
    pub fn is_given(&self) -> bool {
        self.bound.is_given()
    }

    /// Checked parameters for elements of `dtype`.
    pub fn params(&self, dtype: DType) -> Result<Params, String> {
        let (mode, bound) = self.bound.mode_and_value();
        if let (Some(range), true) = (self.range, mode != Mode::Noa) {
            return Err(format!("--range {} goes with --noa, not with --{}", number(range), mode.name()));
        }
        let mut params = Params::new(dtype).with_bound(mode, bound);
        params.profile = Profile::ALL.into_iter().find(|p| p.name() == self.profile).unwrap_or_default();
        params.range = self.range;
        for value in &self.fill {
            let value = sleek::text::missing(&format!("--fill {value}"), Some(value)).map_err(|e| e.to_string())?;
            params.missing.push(value).map_err(|e| e.to_string())?;
        }
        params.missing.of_type(dtype).map_err(|e| e.to_string())?;
        params.check().map_err(|e| e.to_string())?;
        Ok(params)
    }
}

/// An element type by its name.
pub fn dtype(name: &str) -> Result<DType, String> {
    DType::from_name(name).ok_or_else(|| {
        let names = DType::ALL.map(DType::name).join(", ");
        format!("known types are {names}")
    })
}

/// Lengths separated by commas or `x`: 64,64,128 or 64x64x128.
pub fn dims(text: &str) -> Result<Vec<u64>, String> {
    let dims: Option<Vec<u64>> = text.split([',', 'x']).map(|d| d.trim().parse().ok()).collect();
    let dims = dims.ok_or("lengths such as 64,64,128 or 64x64x128 are needed")?;
    match dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d)) {
        Some(_) => Ok(dims),
        None => Err("the product does not fit 64 bits".into()),
    }
}

/// A threads argument: the library's own variable carries it everywhere, to compression and decompression alike.
#[derive(clap::Args)]
pub struct Threads {
    /// Threads to use [default: SLEEK_NUM_THREADS, else one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
}

impl Threads {
    /// To be called before the library is used and before the command starts a thread.
    pub fn apply(&self) -> Result<(), String> {
        if let Some(n) = self.threads {
            // SAFETY: the process has one thread at this point, so nobody reads the environment meanwhile.
            unsafe { std::env::set_var(sleek::host::environment::THREADS, n.to_string()) };
        }
        check_variables()
    }
}

/// Refuses variables that cannot be understood before anything is done, also where they would not matter.
pub fn check_variables() -> Result<(), String> {
    sleek::host::environment::check().map_err(|e| e.to_string())
}

/// How much to say.
#[derive(clap::Args)]
pub struct Verbosity {
    /// Neither a progress bar nor a summary
    #[arg(short, long)]
    pub quiet: bool,
}
