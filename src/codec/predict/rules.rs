//! The numbers by which an encoder chooses. They decide bytes without being told in any. Kernels have them from a
//! header that `tests/kernels.rs` makes of these.

use crate::codec::interp::rules as interp;

/// Constants, and all of them by their names.
macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident: $ty:ty = $value:expr;)+) => {
        $($(#[$doc])* pub const $name: $ty = $value;)+

        /// All of them.
        pub const ALL: &[(&str, u64)] = &[$((stringify!($name), $name as u64)),+];
    };
}

rules! {
    /// Costs are in these parts of a bit.
    BIT: u64 = 256;
    /// Parts of a bit that costs of tokens below `DIRECT` are told in.
    PARTS: u32 = 16;

    // Map.

    /// Multiples are no farther from the base than this.
    MOST_NUMBER: u32 = interp::MOST_NUMBER;
    /// Elements are on neither side of the lattice's border if they are closer than this.
    BORDER_WIDTH: u32 = interp::BORDER_WIDTH;
    /// One element of so many may be an exception.
    ONE_EXCEPTION_OF: usize = interp::ONE_EXCEPTION_OF;

    // Predict.

    /// Groups that are looked at in a round where a tile is to be chosen for quickly, at most.
    SAMPLED_GROUPS: usize = 16;
    /// Groups whose differences are looked at once more cost less than this, that of a sum of magnitudes of 16.
    SMALL_COST: u64 = 256;
    /// Bins that are farther from the first one are looked at in another way.
    MOST_BIN: u32 = 1 << 22;
    /// Leading bits of a word that are mixed into a hash, at most, and bits of the hash.
    MOST_LEADING: u32 = 22;
    HASH_LOG2: u32 = 12;
    /// One word of so many is asked where the like of it has been.
    PROBED_EVERY: usize = 4;
    /// What another distance than that of the segment before costs, in bits.
    CHANGE_COST: u32 = 16;
    /// One segment of so many is asked whether distances may pay, by so many of its words.
    ASKED: usize = 16;
    ASKED_WORDS: usize = 8;
    /// What another distance than that of the segment asked before costs, in bits: some segments between take it, too.
    ASKED_CHANGE: u32 = 8;
    /// Of so many words one is entered where few segments are asked.
    ENTERED: usize = 4;

    // Code.

    /// Magnitudes count no more than this for a class.
    MOST_MAGNITUDE: u64 = 1 << 23;
    /// What telling the class of a group costs.
    CLASS_COST: u64 = BIT;
    /// Codes that cost less than this each say little of their tile.
    LOW_COST: u64 = BIT / 8;
    /// What a symbol of a tile's own table costs.
    TABLE_COST: u64 = 10 * BIT;

    // Body.

    /// Tiles of fewer elements are not interpolated.
    FEWEST: usize = 8;
    /// Codes of a part that cost less than this each say little of their tile, which is tried whole then.
    LITTLE_COST: u64 = BIT / 16;
    /// Elements of the part that a predictor is tried on, at most.
    SAMPLE_ELEMENTS: usize = 1 << 12;
    /// What a correction costs.
    CORRECTION_COST: u64 = 16 * BIT;
    /// Bins that cost less are far better than interpolation if sums of magnitudes are so much smaller: 256 times the
    /// logarithm.
    FAR: u64 = 256;

    // Body, bit for bit.

    /// Forms that samples tell, by their numbers, and how many they are.
    FORM_AXES: usize = 0;
    FORM_NUMBERS: usize = 1;
    FORM_SYMBOLS: usize = 2;
    FORM_MAGNITUDES: usize = 3;
    PLAIN_FORMS: usize = 4;
    /// One part of so many is looked at, of tiles of `SAMPLE_LARGE` elements and of smaller ones.
    SAMPLE_EVERY: usize = 16;
    SAMPLE_EVERY_OF_SMALL: usize = 4;
    SAMPLE_LARGE: usize = 8192;
    /// Tiles of fewer elements are tried in all forms.
    SAMPLE_FEWEST: usize = 2048;
    /// A second form is tried on all of a tile that costs no more than the best one and one part in so many.
    SAMPLE_NEAR: u64 = 64;
    /// Elements that tell whether there are few distinct ones.
    SAMPLE_ALIKE: usize = interp::SAMPLE_ALIKE;
    /// Fewer low bits than these are left to the coder.
    FEWEST_LOW: u32 = 4;
    /// Low bits beside the coder may cost one part in so many, for they are faster.
    FASTER: u64 = 256;
    /// Tiles of fewer elements have no slope.
    SLOPE_FEWEST: usize = 128;
    /// Sloped codes are tried where they take less by one part in so many.
    SLOPE_WORTH: u64 = 64;
    /// Elements of a set that are compared with each other, where a tile within a bound may take fewer bytes bit for
    /// bit.
    SET_ELEMENTS: usize = 32;
    /// Sets, at most: one for each bit of an element in the body.
    MOST_SETS: usize = 8;
    /// Neighbours that repeated elements share.
    RUN: usize = 8;
    /// Bins are w · 2^j apart, w = 4 … 7.
    STEP_BITS: i32 = 2;
}
