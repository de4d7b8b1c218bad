//! What a caller asks for.

use crate::dtype::DType;
use crate::error::{Result, fail};

/// How values may change. The discriminants are the codes in the stream header and in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Every bit comes back.
    Lossless = 0,
    /// |v − r| ≤ bound.
    Abs = 1,
    /// |v − r| ≤ bound × value range.
    Noa = 2,
    /// |v − r| ≤ bound × |v|, sign and special values exact.
    Rel = 3,
}

impl Mode {
    /// The mode with this code.
    pub fn from_code(code: u32) -> Result<Mode> {
        match code {
            0 => Ok(Mode::Lossless),
            1 => Ok(Mode::Abs),
            2 => Ok(Mode::Noa),
            3 => Ok(Mode::Rel),
            _ => fail!(InvalidArgument, "mode {code} is unknown; 0 lossless, 1 abs, 2 noa, 3 rel"),
        }
    }

    /// The lower-case name, as the command takes it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Lossless => "lossless",
            Mode::Abs => "abs",
            Mode::Noa => "noa",
            Mode::Rel => "rel",
        }
    }
}

/// What the encoder may spend on the ratio. Decoders read both without being told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Profile {
    /// A mode for every quarter of a chunk, by samples of what each would take, and a width and exceptions for every subchunk; the
    /// bound is used in full.
    #[default]
    Adaptive = 0,
    /// The paper's transform only: power-of-two bound, one mode.
    Fast = 1,
}

impl Profile {
    /// The profile with this code.
    pub fn from_code(code: u32) -> Result<Profile> {
        match code {
            0 => Ok(Profile::Adaptive),
            1 => Ok(Profile::Fast),
            _ => fail!(InvalidArgument, "profile {code} is unknown; 0 adaptive (default), 1 fast"),
        }
    }

    /// The lower-case name, as the command takes it.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Adaptive => "adaptive",
            Profile::Fast => "fast",
        }
    }
}

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

/// Everything `compress` needs to know besides the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Element type.
    pub dtype: DType,
    /// Kind of bound.
    pub mode: Mode,
    /// The bound: finite and not negative; ignored by `Lossless`. 0 means lossless.
    pub bound: f64,
    /// Speed or ratio.
    pub profile: Profile,
    /// `Noa`: the value range to use; `None` takes max − min of the finite values of the buffer.
    pub range: Option<f64>,
    /// `Noa`: a value that does not count for the range (a fill value). NaN and infinities never count.
    pub fill_value: Option<f64>,
    /// Elements are big-endian in the source and come back so.
    pub big_endian: bool,
    /// Where to run.
    pub device: Device,
    /// Threads; 0 lets the library choose (`SLEEK_NUM_THREADS`, else the cores; one under MPI).
    pub threads: u32,
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
            fill_value: None,
            big_endian: false,
            device: Device::Auto,
            threads: 0,
        }
    }

    /// The same with another mode and bound.
    pub fn with_bound(mut self, mode: Mode, bound: f64) -> Params {
        self.mode = mode;
        self.bound = bound;
        self
    }

    /// Refuses what cannot be honoured; never changes anything.
    pub fn check(&self) -> Result<()> {
        if self.mode == Mode::Lossless {
            return Ok(());
        }
        if !self.dtype.is_float() {
            return fail!(
                UnsupportedType,
                "mode {} on {} elements; integers are compressed with mode lossless only",
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
