//! The two things of a request that stand in a stream: how values may change, and by which profile they were coded.

use crate::error::enumeration;

enumeration! {
    /// How values may change. The discriminants are the codes in the stream header and in C.
    pub enum Mode: u8, name, "mode" {
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
    /// Whether it says how far a value may be off; rate and precision say what it takes.
    pub fn has_bound(self) -> bool {
        matches!(self, Mode::Abs | Mode::Noa | Mode::Rel)
    }
}

enumeration! {
    /// What the encoder may spend on the ratio. Decoders read both without being told.
    #[derive(Default)]
    pub enum Profile: u8, name, "profile" {
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
