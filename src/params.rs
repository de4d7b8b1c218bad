//! What a caller asks for.

use crate::bound::mul_down;
use crate::container::Dims;
use crate::dtype::DType;
use crate::error::{Result, enumeration, fail};
use crate::host::memory::gathered;
use crate::missing::{MAX_MISSING, Missing, MissingValue};
pub use crate::mode::{Mode, Profile};

enumeration! {
    /// Where the work runs.
    #[derive(Default)]
    pub enum Device: u8, name, "device" {
        /// Where the data is.
        #[default]
        Auto = 0 "auto",
        /// On the CPU.
        Cpu = 1 "cpu",
        /// On an NVIDIA GPU.
        Cuda = 2 "cuda",
    }
}

/// The missing values that a caller names.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MissingValues {
    values: [Option<MissingValue>; MAX_MISSING],
    /// How many of them, the last ones, nobody declared: they were found.
    found: u8,
}

impl MissingValues {
    /// One more; an error where there is no room for it.
    pub fn push(&mut self, value: MissingValue) -> Result<()> {
        if self.iter().any(|v| v == value) {
            return Ok(());
        }
        match self.values.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(value),
            None => return fail!(InvalidArgument, "{} missing values; {MAX_MISSING} are possible", MAX_MISSING + 1),
        }
        Ok(())
    }

    /// These and no others.
    pub fn of(values: &[MissingValue]) -> Result<MissingValues> {
        let mut all = MissingValues::default();
        values.iter().try_for_each(|value| all.push(*value))?;
        Ok(all)
    }

    /// The number `value` alone, if there is one.
    pub fn number(value: Option<f64>) -> MissingValues {
        MissingValues { values: [value.map(MissingValue::Number), None, None, None], found: 0 }
    }

    /// One more that nobody named.
    pub fn push_found(&mut self, value: MissingValue) -> Result<()> {
        let before = self.iter().count();
        self.push(value)?;
        self.found += (self.iter().count() - before) as u8;
        Ok(())
    }

    /// They, in the order in which they were named.
    pub fn iter(&self) -> impl Iterator<Item = MissingValue> + '_ {
        self.values.iter().flatten().copied()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values[0].is_none()
    }

    /// Those that are finite: NaN and infinities come back without being named, only longer.
    pub fn finite(&self, dtype: DType) -> Result<MissingValues> {
        let mut all = MissingValues::default();
        for (k, value) in self.iter().enumerate() {
            if dtype.number(value.bits(dtype)?).is_finite() {
                if k < self.named_count() { all.push(value)? } else { all.push_found(value)? }
            }
        }
        Ok(all)
    }

    /// They as numbers, rounded to elements of `dtype`.
    pub fn numbers(&self, dtype: DType) -> Result<Vec<f64>> {
        gathered(self.of_type(dtype)?.bits().iter().map(|bits| dtype.number(*bits)))
    }

    /// Refuses more than a stream can name: beside three others a named zero has no room for the other zero, which is
    /// equal to it and would come back as another number.
    pub fn check(&self, dtype: DType) -> Result<()> {
        if !dtype.is_float() {
            return Ok(());
        }
        let missing = self.named(dtype)?;
        let zeros = missing.bits().iter().filter(|bits| dtype.number(**bits) == 0.0).count();
        match missing.len() == MAX_MISSING && zeros == 1 {
            true => fail!(
                InvalidArgument,
                "missing value 0 beside {} others; 0 takes two places of {MAX_MISSING}, for 0 and for -0",
                MAX_MISSING - 1
            ),
            false => Ok(()),
        }
    }

    /// Their bits as elements of `dtype`; of integers none, which all come back anyway.
    pub fn of_type(&self, dtype: DType) -> Result<Missing> {
        if !dtype.is_float() || self.values[0].is_none() {
            return Ok(Missing::NONE);
        }
        self.named(dtype)?.and_found(dtype, self.iter().skip(self.named_count()))
    }

    fn named(&self, dtype: DType) -> Result<Missing> {
        Missing::named(dtype, self.iter().take(self.named_count()))
    }

    fn named_count(&self) -> usize {
        self.iter().count() - usize::from(self.found)
    }
}

/// The most bits of a value, which `Rate` and `Precision` may ask for.
const MAX_BITS: u32 = 64;

/// How values may change. A bound of 0 means lossless.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Every bit comes back.
    Lossless,
    /// |v − r| ≤ this.
    Abs(f64),
    /// |v − r| ≤ share × value range.
    Noa {
        /// The share.
        share: f64,
        /// The value range to use; `None` takes max − min of the finite values of the buffer.
        range: Option<f64>,
    },
    /// |v − r| ≤ this × |v|, sign and special values exact.
    Rel(f64),
    /// So many bits for each value, above 0 and at most 64, whatever becomes of them.
    Rate(f64),
    /// So many bits of each value's block, 1 to 64, from its largest one on.
    Precision(u32),
}

impl Bound {
    /// Of a mode and its number, which `Lossless` ignores.
    pub fn new(mode: Mode, number: f64) -> Result<Bound> {
        Ok(match mode {
            Mode::Lossless => Bound::Lossless,
            Mode::Abs => Bound::Abs(number),
            Mode::Noa => Bound::noa(number),
            Mode::Rel => Bound::Rel(number),
            Mode::Rate => Bound::Rate(number),
            Mode::Precision if f64::from(number as u32) == number => Bound::Precision(number as u32),
            Mode::Precision => return no_precision(number),
        })
    }

    /// A share of the value range of the buffer.
    pub const fn noa(share: f64) -> Bound {
        Bound::Noa { share, range: None }
    }

    /// The same of this value range, which only `Noa` takes.
    pub fn of_range(self, range: Option<f64>) -> Bound {
        match self {
            Bound::Noa { share, .. } => Bound::Noa { share, range },
            other => other,
        }
    }

    /// Its mode.
    pub fn mode(self) -> Mode {
        match self {
            Bound::Lossless => Mode::Lossless,
            Bound::Abs(_) => Mode::Abs,
            Bound::Noa { .. } => Mode::Noa,
            Bound::Rel(_) => Mode::Rel,
            Bound::Rate(_) => Mode::Rate,
            Bound::Precision(_) => Mode::Precision,
        }
    }

    /// Its number, as headers have it: 0 of `Lossless`.
    pub fn number(self) -> f64 {
        match self {
            Bound::Lossless => 0.0,
            Bound::Abs(number) | Bound::Noa { share: number, .. } | Bound::Rel(number) | Bound::Rate(number) => number,
            Bound::Precision(bits) => bits.into(),
        }
    }

    /// The value range that `Noa` is given.
    pub fn range(self) -> Option<f64> {
        match self {
            Bound::Noa { range, .. } => range,
            _ => None,
        }
    }

    /// The absolute bound that it comes to; `None` for other modes, and where the value range must be measured.
    pub fn absolute(self) -> Option<f64> {
        match self {
            Bound::Abs(bound) => Some(bound),
            Bound::Noa { share, range } => Some(mul_down(share, range?)),
            _ => None,
        }
    }

    /// Whether the value range must be measured.
    pub fn measures(self) -> bool {
        matches!(self, Bound::Noa { range: None, .. })
    }

    fn check(self) -> Result<()> {
        match self {
            Bound::Rate(bits) if !(bits > 0.0 && bits <= MAX_BITS.into()) => {
                fail!(InvalidBound, "rate {bits}; bits for a value, above 0, at most {MAX_BITS}")
            }
            Bound::Precision(bits) if !(1..=MAX_BITS).contains(&bits) => no_precision(bits.into()),
            Bound::Abs(number) | Bound::Noa { share: number, .. } | Bound::Rel(number)
                if !(number >= 0.0 && number.is_finite()) =>
            {
                fail!(InvalidBound, "bound {number}; a finite number >= 0 is needed")
            }
            Bound::Noa { range: Some(range), .. } if !(range > 0.0 && range.is_finite()) => {
                fail!(InvalidArgument, "value range {range}; a finite number > 0 is needed")
            }
            _ => Ok(()),
        }
    }
}

fn no_precision<T>(bits: f64) -> Result<T> {
    fail!(InvalidBound, "precision {bits}; whole bits, 1 to {MAX_BITS}")
}

/// Where values are valid, ends included: infinite where there is no end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The smallest valid value.
    pub low: f64,
    /// The largest one.
    pub high: f64,
}

impl Limits {
    /// An error unless there is something between them; `None` where there is no end.
    pub fn new(low: f64, high: f64) -> Result<Option<Limits>> {
        if low.is_nan() || high.is_nan() || low > high || low == f64::INFINITY || high == f64::NEG_INFINITY {
            return fail!(InvalidArgument, "limits {low:e} and {high:e}; the smallest value comes first");
        }
        Ok(Some(Limits { low, high }).filter(|_| low.is_finite() || high.is_finite()))
    }
}

/// Everything `compress` needs to know besides the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Element type.
    pub dtype: DType,
    /// How elements may change.
    pub bound: Bound,
    /// Speed or ratio.
    pub profile: Profile,
    /// What is inside of these limits comes back inside, under modes abs, noa and rel.
    pub limits: Option<Limits>,
    /// Elements that are no data: each comes back bit for bit, nothing else comes back equal to one, and none counts
    /// for the range of `Noa`. NaN and infinities never count.
    pub missing: MissingValues,
    /// The id of a codec; 0 for the one that the profile goes with.
    pub codec: u8,
    /// The dimensions of the array, slowest first; `Dims::NONE` for a line.
    pub dims: Dims,
    /// Elements are big-endian in the source and come back so.
    pub big_endian: bool,
    /// Where to run.
    pub device: Device,
    /// Threads; 0 lets the library choose (`SLEEK_NUM_THREADS`, else the cores; one under MPI).
    pub threads: u32,
    /// `Rate` and `Precision` are meant for integers too. For requests that serve datasets of any type, as those of
    /// HDF5 do; where `dtype` is the element type it says that already.
    pub integers: bool,
    /// Whether to search the array for undeclared fill values, such as -9999 among values from 0 to 1
    /// (docs/reference/format.md §5.1). Where nothing is said direct calls do not; the HDF5 filter, Zarr, the command
    /// and Python's host arrays do.
    pub find_fill: Option<bool>,
    /// Every bit is kept, whatever the bound, which headers still name: of an array of two values at most.
    pub exact: bool,
    /// The last dimension counts parts of an element, which are unlike each other: codec interp does not mix them.
    pub parts: bool,
    /// The array is a chunk that is written again and again, each time with the range that it has then
    /// ([`crate::of_chunk`]): what one bound rounded a finer one keeps.
    pub rewritten: bool,
}

impl Params {
    /// Lossless, adaptive, little-endian, automatic device and threads.
    pub fn new(dtype: DType) -> Params {
        Params {
            dtype,
            bound: Bound::Lossless,
            limits: None,
            profile: Profile::Adaptive,
            missing: MissingValues::default(),
            codec: 0,
            dims: Dims::NONE,
            big_endian: false,
            device: Device::Auto,
            threads: 0,
            integers: false,
            find_fill: None,
            exact: false,
            parts: false,
            rewritten: false,
        }
    }

    /// The first missing value that is named as a number.
    pub fn fill_number(&self) -> Option<f64> {
        self.missing.iter().find_map(|value| match value {
            MissingValue::Number(x) => Some(x),
            MissingValue::Bits(_) => None,
        })
    }

    /// The same with another bound.
    pub fn with_bound(mut self, bound: Bound) -> Params {
        self.bound = bound;
        self.integers &= matches!(bound, Bound::Rate(_) | Bound::Precision(_));
        self.limits = self.limits.filter(|_| bound.mode().has_bound());
        self
    }

    /// Refuses what cannot be honoured; never changes anything.
    pub fn check(&self) -> Result<()> {
        let mode = self.bound.mode();
        if self.integers && mode != Mode::Rate && mode != Mode::Precision {
            return fail!(
                InvalidArgument,
                "integers in a request of mode {}; they go with rate and precision only, others keep every bit",
                mode.name()
            );
        }
        if mode.has_bound() && !self.dtype.is_float() {
            return fail!(
                UnsupportedType,
                "mode {} on {} elements; integers have no bound, and are compressed with mode lossless",
                mode.name(),
                self.dtype.name()
            );
        }
        self.bound.check()
    }
}
