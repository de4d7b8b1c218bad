//! Arguments that several subcommands take, and what becomes of them.

use std::path::Path;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use sleek::printable::steers;
use sleek::{Bound, DType, Dims, MissingValues, Mode, Params, Profile};

use crate::progress::number;
use crate::targets::{self, Target};

/// The bound, or what takes its place: exactly one.
#[derive(clap::Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub struct BoundArgs {
    /// Absolute bound: |v − r| ≤ E for every value v and its restored r
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    abs: Option<f64>,
    /// Bound relative to the value range: |v − r| ≤ E · (max − min) of the whole array
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    noa: Option<f64>,
    /// Bound relative to each value: |v − r| ≤ E · |v|
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    rel: Option<f64>,
    /// With codec zfp: so many bits for each value, no matter how large the errors are
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    rate: Option<f64>,
    /// With codec zfp: keep so many of the highest bits of each block of values, no matter how large the errors are
    #[arg(long, value_name = "P", allow_negative_numbers = true)]
    precision: Option<f64>,
    /// At least so many times smaller, and at most 2 % more unless the quantizer's steps are wider: the absolute bound
    /// is searched for
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    ratio: Option<f64>,
    /// At most so many bytes, as in 4096, 500k, 1.5M, 2G, and at most 2 % less unless the quantizer's steps are wider
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    size: Option<u64>,
    /// At least this PSNR of the values that count, 20 log10(value range / RMS error)
    #[arg(long, value_name = "DB", allow_negative_numbers = true)]
    psnr: Option<f64>,
    /// At least this structural similarity, between 0 and 1: the mean over windows of 8 x 8 values
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    ssim: Option<f64>,
    /// Every bit comes back
    #[arg(long)]
    lossless: bool,
}

impl BoundArgs {
    fn is_given(&self) -> bool {
        self.lossless || self.mode_and_value().0 != Mode::Lossless
    }

    /// What is to be met in the place of a bound.
    fn target(&self) -> Option<Target> {
        let ratio = self.ratio.map(Target::Ratio);
        let quality = self.psnr.map(Target::Psnr).or(self.ssim.map(Target::Ssim));
        ratio.or(self.size.map(Target::Size)).or(quality)
    }

    fn mode_and_value(&self) -> (Mode, f64) {
        let bounds = [(Mode::Abs, self.abs), (Mode::Noa, self.noa), (Mode::Rel, self.rel)];
        let mut given = bounds.into_iter().chain([(Mode::Rate, self.rate), (Mode::Precision, self.precision)]);
        let lossy = given.find_map(|(mode, value)| value.map(|v| (mode, v)));
        // Until it is found.
        let lossy = lossy.or(self.target().map(|_| (Mode::Abs, f64::MIN_POSITIVE)));
        lossy.unwrap_or((Mode::Lossless, 0.0))
    }
}

/// Takes the name of a profile.
fn profiles() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(Profile::ALL.map(Profile::name)).try_map(|name| {
        let known = Profile::ALL.into_iter().find(|profile| profile.name() == name);
        known.ok_or("is unknown")
    })
}

/// What goes with a bound.
#[derive(clap::Args, Clone, Debug)]
pub struct Quality {
    #[command(flatten)]
    bound: BoundArgs,
    /// adaptive: the speed of memory; fast: the fewest instructions; small: the smallest stream [default: adaptive]
    #[arg(long, value_parser = profiles())]
    profile: Option<Profile>,
    /// With --noa: the value range to use instead of measuring it
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    range: Option<f64>,
    /// A missing value, such as -9999, or its bits, such as 0x7fc00000: it comes back exactly and does not count for
    /// the value range; up to four times
    #[arg(long, value_name = "V", allow_negative_numbers = true)]
    fill: Vec<String>,
    /// The method of compression, by its name [default: sleek]
    #[arg(long, value_name = "NAME")]
    codec: Option<String>,
}

impl Quality {
    /// Whether there is a bound, where it need not be given.
    pub fn is_given(&self) -> bool {
        self.bound.is_given()
    }

    /// Refuses a bound of more than half of the value range, unless it is meant.
    pub fn check_share(&self, force: bool) -> Result<(), String> {
        match self.bound.noa.filter(|share| *share > 0.5 && share.is_finite() && !force) {
            Some(share) => Err(format!(
                "--noa {}: errors of more than half of the value range leave nothing of the data; \
                 --force if that is meant",
                number(share)
            )),
            None => Ok(()),
        }
    }

    /// The profile, if one is named.
    pub fn profile(&self) -> Option<Profile> {
        self.profile
    }

    /// What is to be met in the place of a bound: the one in the parameters is to be replaced then.
    pub fn target(&self) -> Result<Option<Target>, String> {
        self.bound.target().map(|target| targets::check(&target).map(|()| target)).transpose()
    }

    /// Checked parameters for elements of `dtype`.
    pub fn params(&self, dtype: DType) -> Result<Params, String> {
        let (mode, bound) = self.bound.mode_and_value();
        if let (Some(range), true) = (self.range, mode != Mode::Noa) {
            let other =
                self.bound.target().map_or_else(|| format!("--{}", mode.name()), |target| targets::argument(&target));
            return Err(format!("--range {} goes with --noa, not with {other}", number(range)));
        }
        let bound = Bound::new(mode, bound).map_err(|e| e.to_string())?.of_range(self.range);
        let mut params = Params::new(dtype).with_bound(bound);
        params.profile = self.profile().unwrap_or_default();
        if let Some(name) = &self.codec {
            params.codec = sleek::codec::by_name(name).map_err(|e| format!("--codec {name}: {}", e.message))?.id();
        }
        params.missing = self.missing()?;
        params.missing.of_type(dtype).map_err(|e| format!("--fill: {}", e.message))?;
        sleek::codec::chosen(&params).map_err(|e| e.to_string())?;
        Ok(params)
    }

    /// The missing values that are named.
    pub fn missing(&self) -> Result<MissingValues, String> {
        missing(&self.fill)
    }
}

/// Missing values, each a number or an element's bits.
pub fn missing(texts: &[String]) -> Result<MissingValues, String> {
    let mut all = MissingValues::default();
    for text in texts {
        let value = sleek::text::missing(&format!("--fill {text}"), Some(text)).map_err(|e| e.message)?;
        all.push(value).map_err(|e| format!("--fill {text}: {}", e.message))?;
    }
    Ok(all)
}

/// What becomes of values that look like missing ones and were not declared.
#[derive(clap::Args, Clone, Debug)]
pub struct Sentinels {
    /// Values far from all others, such as -9999 or 1e20, are data; without this they are missing values, as if --fill
    /// named them
    #[arg(long)]
    pub no_fill: bool,
}

pub fn dtype(name: &str) -> Result<DType, String> {
    DType::from_name(name).ok_or_else(|| {
        let names = DType::ALL.map(DType::name).join(", ");
        format!("known types are {names}")
    })
}

/// The element type in which the name of a file ends, as in field.f32.
pub fn dtype_of_name(file: &Path) -> Option<DType> {
    DType::from_name(file.extension()?.to_str()?)
}

/// Lengths separated by commas or `x`: 64,64,128 or 64x64x128.
pub fn dims(text: &str) -> Result<Dims, String> {
    let lens: Option<Vec<u64>> = text.split([',', 'x']).map(|d| d.trim().parse().ok()).collect();
    let lens = lens.ok_or("lengths such as 64,64,128 or 64x64x128 are needed, the slowest first")?;
    Dims::new(&lens).map_err(|e| e.message)
}

/// A box of elements: where it starts and how long it is along each dimension, where `None` is to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    pub start: Vec<u64>,
    pub lens: Vec<Option<u64>>,
}

/// A number of bytes: 4096, 500k, 1.5M, 2G.
pub fn bytes(text: &str) -> Result<u64, String> {
    let units = [('k', 1e3), ('M', 1e6), ('G', 1e9), ('T', 1e12)];
    let unit = units.iter().find_map(|(letter, unit)| text.strip_suffix(*letter).map(|rest| (rest, *unit)));
    let Some((rest, unit)) = unit else {
        return text.parse().map_err(|_| format!("'{text}' is not a number of bytes, as in 4096, 500k, 1.5M, 2G"));
    };
    let found = rest.parse::<f64>().ok().map(|n| (n * unit).round()).filter(|n| (0.0..1e18).contains(n));
    found.map(|n| n as u64).ok_or_else(|| format!("'{text}' is not a number of bytes, as in 4096, 500k, 1.5M, 2G"))
}

/// START:LEN for each dimension; START: and : go to its end.
pub fn slice(text: &str) -> Result<Slice, String> {
    let mut slice = Slice { start: Vec::new(), lens: Vec::new() };
    for part in text.split(',') {
        let number = |n: &str| n.parse::<u64>().map_err(|_| format!("'{part}' is not START:LEN, as in 0:10,5:1,:"));
        let (start, len) =
            part.trim().split_once(':').ok_or_else(|| format!("'{part}' is not START:LEN, as in 0:10,5:1,:"))?;
        slice.start.push(if start.is_empty() { 0 } else { number(start)? });
        slice.lens.push(if len.is_empty() { None } else { Some(number(len)?) });
    }
    Ok(slice)
}

/// A word for a shell. One with control characters is written as bash and zsh read it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.contains(steers) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut shown = String::from("$'");
    for c in word.chars() {
        match c {
            '\'' | '\\' => shown.extend(['\\', c]),
            c if steers(c) => shown += &format!("\\u{:04x}", c as u32),
            c => shown.push(c),
        }
    }
    shown + "'"
}

/// A threads argument: the library's own variable carries it everywhere, to compression and decompression alike.
#[derive(clap::Args, Clone, Debug)]
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
            unsafe { std::env::set_var(sleek::environment::THREADS, n.to_string()) };
        }
        check_variables()
    }
}

/// Refuses variables that cannot be understood before anything is done, also where they would not matter.
pub fn check_variables() -> Result<(), String> {
    sleek::exec::check_environment().map_err(|e| e.to_string())
}

/// How much to say.
#[derive(clap::Args, Clone, Debug)]
pub struct Verbosity {
    /// Neither a progress bar nor a summary
    #[arg(short, long)]
    pub quiet: bool,
}
