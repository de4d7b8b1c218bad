//! The numbers by which an encoder chooses. They decide bytes without being told in any: kernels have the same, which
//! `tests/kernels.rs` sees to.

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
    MOST_NUMBER: u32 = 1 << 24;
    /// Elements are on neither side of the lattice's border if they are closer than this.
    BORDER_WIDTH: u32 = 17;
    /// One element of so many may be an exception.
    ONE_EXCEPTION_OF: usize = 64;

    // Predict.

    /// Groups that are looked at in a round where a tile is to be chosen for quickly, at most.
    SAMPLED_GROUPS: usize = 16;
    /// Groups whose differences are looked at once more cost less than this, that of a sum of magnitudes of 16.
    SMALL_COST: u64 = 256;
    /// Bins that are farther from the first one are looked at in another way.
    MOST_BIN: u32 = 1 << 22;

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
}
