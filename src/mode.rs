//! The two things of a request that stand in a stream: how values may change, and by which profile they were coded.

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
    /// So many bits for each value, whatever becomes of them.
    Rate = 4,
    /// So many bits of each value's block, from its largest one on.
    Precision = 5,
}

impl Mode {
    /// The mode with this code.
    pub fn from_code(code: u32) -> Result<Mode> {
        match code {
            0 => Ok(Mode::Lossless),
            1 => Ok(Mode::Abs),
            2 => Ok(Mode::Noa),
            3 => Ok(Mode::Rel),
            4 => Ok(Mode::Rate),
            5 => Ok(Mode::Precision),
            _ => fail!(InvalidArgument, "mode {code} is unknown; 0 lossless, 1 abs, 2 noa, 3 rel, 4 rate, 5 precision"),
        }
    }

    /// All of them.
    pub const ALL: [Mode; 6] = [Mode::Lossless, Mode::Abs, Mode::Noa, Mode::Rel, Mode::Rate, Mode::Precision];

    /// Whether it says how far a value may be off; rate and precision say what it takes.
    pub fn has_bound(self) -> bool {
        matches!(self, Mode::Abs | Mode::Noa | Mode::Rel)
    }

    /// The lower-case name, as the command takes it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Lossless => "lossless",
            Mode::Abs => "abs",
            Mode::Noa => "noa",
            Mode::Rel => "rel",
            Mode::Rate => "rate",
            Mode::Precision => "precision",
        }
    }
}

/// What the encoder may spend on the ratio. Decoders read both without being told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Profile {
    /// A mode for every quarter of a chunk, by samples of what each would take, and a width and exceptions for every
    /// subchunk; the bound is used in full.
    #[default]
    Adaptive = 0,
    /// The paper's transform only: power-of-two bound, one mode.
    Fast = 1,
    /// The smallest stream: prediction along all dimensions and an entropy coder; the bound is used in full.
    Small = 2,
}

impl Profile {
    /// The profile with this code.
    pub fn from_code(code: u32) -> Result<Profile> {
        match code {
            0 => Ok(Profile::Adaptive),
            1 => Ok(Profile::Fast),
            2 => Ok(Profile::Small),
            _ => fail!(InvalidArgument, "profile {code} is unknown; 0 adaptive (default), 1 fast, 2 small"),
        }
    }

    /// All of them.
    pub const ALL: [Profile; 3] = [Profile::Adaptive, Profile::Fast, Profile::Small];

    /// The profile that pre-releases of 0.2 had under another name, `name`.
    pub fn named_now(name: &str) -> Option<Profile> {
        (name == "ratio").then_some(Profile::Small)
    }

    /// The lower-case name, as the command takes it.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Adaptive => "adaptive",
            Profile::Fast => "fast",
            Profile::Small => "small",
        }
    }
}
