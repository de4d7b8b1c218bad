//! What a caller asks for.

use crate::container::Dims;
use crate::container::missing::{MAX_MISSING, Missing, MissingValue};
use crate::dtype::DType;
use crate::error::{Result, fail};
pub use crate::mode::{Mode, Profile};

/// Where the work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Device {
    /// Where the data is.
    #[default]
    Auto = 0,
    /// On the CPU.
    Cpu = 1,
    /// On an NVIDIA GPU.
    Cuda = 2,
}

impl Device {
    /// The device with this code.
    pub fn from_code(code: u32) -> Result<Device> {
        match code {
            0 => Ok(Device::Auto),
            1 => Ok(Device::Cpu),
            2 => Ok(Device::Cuda),
            _ => fail!(InvalidArgument, "device {code} is unknown; 0 auto, 1 cpu, 2 cuda"),
        }
    }
}

/// The missing values that a caller names.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MissingValues {
    values: [Option<MissingValue>; MAX_MISSING],
    /// How many of them, the last ones, nobody named: they were found.
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

    /// They as numbers, rounded to elements of `dtype`.
    pub fn numbers(&self, dtype: DType) -> Result<Vec<f64>> {
        Ok(self.of_type(dtype)?.bits().iter().map(|bits| dtype.number(*bits)).collect())
    }

    /// Their bits as elements of `dtype`; of integers none, which all come back anyway.
    pub fn of_type(&self, dtype: DType) -> Result<Missing> {
        if !dtype.is_float() || self.values[0].is_none() {
            return Ok(Missing::NONE);
        }
        let named = self.iter().count() - usize::from(self.found);
        Missing::named(dtype, self.iter().take(named))?.and_found(dtype, self.iter().skip(named))
    }
}

/// The most bits of a value, which `Rate` and `Precision` may ask for.
const MAX_BITS: f64 = 64.0;

/// Whether values that look like missing ones, and that nobody named, are kept as such (docs/reference/format.md §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Search {
    /// They are searched for.
    #[default]
    Wanted,
    /// They are data.
    Off,
    /// They are among the missing values already.
    Done {
        /// Whether there are two other values at most, which are kept exactly.
        few: bool,
    },
}

/// Everything `compress` needs to know besides the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Element type.
    pub dtype: DType,
    /// Kind of bound.
    pub mode: Mode,
    /// The bound: finite and not negative; ignored by `Lossless`. 0 means lossless. Of `Rate` and `Precision` the bits:
    /// more than 0, at most 64, and of `Precision` a whole number.
    pub bound: f64,
    /// Speed or ratio.
    pub profile: Profile,
    /// `Noa`: the value range to use; `None` takes max − min of the finite values of the buffer.
    pub range: Option<f64>,
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
    /// What becomes of values that look like missing ones.
    pub search: Search,
}

impl Params {
    /// Lossless, adaptive, little-endian, automatic device and threads.
    pub fn new(dtype: DType) -> Params {
        Params {
            dtype,
            mode: Mode::Lossless,
            bound: 0.0,
            profile: Profile::Adaptive,
            range: None,
            missing: MissingValues::default(),
            codec: 0,
            dims: Dims::NONE,
            big_endian: false,
            device: Device::Auto,
            threads: 0,
            integers: false,
            search: Search::Wanted,
        }
    }

    /// Whether there are known to be two values at most, so that they are kept exactly under any bound.
    pub fn has_few_values(&self) -> bool {
        self.search == Search::Done { few: true }
    }

    /// The first missing value that is named as a number.
    pub fn fill_number(&self) -> Option<f64> {
        self.missing.iter().find_map(|value| match value {
            MissingValue::Number(x) => Some(x),
            MissingValue::Bits(_) => None,
        })
    }

    /// The same with another mode and bound.
    pub fn with_bound(mut self, mode: Mode, bound: f64) -> Params {
        self.mode = mode;
        self.bound = bound;
        self.integers &= matches!(mode, Mode::Rate | Mode::Precision);
        self
    }

    /// Refuses what cannot be honoured; never changes anything.
    pub fn check(&self) -> Result<()> {
        if self.integers && self.mode != Mode::Rate && self.mode != Mode::Precision {
            return fail!(
                InvalidArgument,
                "integers in a request of mode {}; they go with rate and precision only, others keep every bit",
                self.mode.name()
            );
        }
        match self.mode {
            Mode::Lossless => return Ok(()),
            Mode::Rate if self.bound > 0.0 && self.bound <= MAX_BITS => return Ok(()),
            Mode::Rate => {
                return fail!(InvalidBound, "rate {}; bits for a value, above 0, at most {MAX_BITS}", self.bound);
            }
            Mode::Precision if (1.0..=MAX_BITS).contains(&self.bound) && self.bound.fract() == 0.0 => return Ok(()),
            Mode::Precision => {
                return fail!(InvalidBound, "precision {}; whole bits, 1 to {MAX_BITS}", self.bound);
            }
            Mode::Abs | Mode::Noa | Mode::Rel => {}
        }
        if !self.dtype.is_float() {
            return fail!(
                UnsupportedType,
                "mode {} on {} elements; integers have no bound, and are compressed with mode lossless",
                self.mode.name(),
                self.dtype.name()
            );
        }
        if !(self.bound >= 0.0 && self.bound.is_finite()) {
            return fail!(InvalidBound, "bound {}; a finite number >= 0 is needed", self.bound);
        }
        match self.range {
            Some(r) if !(r > 0.0 && r.is_finite()) => {
                fail!(InvalidArgument, "value range {r}; a finite number > 0 is needed")
            }
            _ => Ok(()),
        }
    }
}
