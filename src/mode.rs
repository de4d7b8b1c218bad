//! The two things of a request that stand in a stream: how values may change, and by which profile they were coded.

use crate::error::{Result, enumeration, fail};

enumeration! {
    /// How values may change. The discriminants are the codes in the stream header and in C.
    pub enum Mode: u8, name {
        /// Every bit comes back.
        Lossless = 0 "lossless",
        /// |v − r| ≤ bound.
        Abs = 1 "abs",
        /// |v − r| ≤ bound × value range.
        Noa = 2 "noa",
        /// |v − r| ≤ bound × |v|, sign and special values exact.
        Rel = 3 "rel",
        /// So many bits for each value, whatever becomes of them.
        Rate = 4 "rate",
        /// So many bits of each value's block, from its largest one on.
        Precision = 5 "precision",
    }
}

impl Mode {
    /// The mode with this code.
    pub fn from_code(code: u32) -> Result<Mode> {
        match Mode::ALL.into_iter().find(|mode| *mode as u32 == code) {
            Some(mode) => Ok(mode),
            None => {
                fail!(InvalidArgument, "mode {code} is unknown; 0 lossless, 1 abs, 2 noa, 3 rel, 4 rate, 5 precision")
            }
        }
    }

    /// Whether it says how far a value may be off; rate and precision say what it takes.
    pub fn has_bound(self) -> bool {
        matches!(self, Mode::Abs | Mode::Noa | Mode::Rel)
    }
}

enumeration! {
    /// What the encoder may spend on the ratio. Decoders read both without being told.
    #[derive(Default)]
    pub enum Profile: u8, name {
        /// A mode for every quarter of a chunk, by samples of what each would take, and a width and exceptions for
        /// every subchunk; the bound is used in full.
        #[default]
        Adaptive = 0 "adaptive",
        /// The paper's transform only: power-of-two bound, one mode.
        Fast = 1 "fast",
        /// The smallest stream: prediction along all dimensions and an entropy coder; the bound is used in full.
        Small = 2 "small",
    }
}

impl Profile {
    /// The profile with this code.
    pub fn from_code(code: u32) -> Result<Profile> {
        match Profile::ALL.into_iter().find(|profile| *profile as u32 == code) {
            Some(profile) => Ok(profile),
            None => fail!(InvalidArgument, "profile {code} is unknown; 0 adaptive (default), 1 fast, 2 small"),
        }
    }

    /// The profile that pre-releases of 0.2 had under another name, `name`.
    pub fn named_now(name: &str) -> Option<Profile> {
        (name == "ratio").then_some(Profile::Small)
    }
}
