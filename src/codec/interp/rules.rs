//! The numbers by which an encoder chooses, and the integer arithmetic of its choices. They decide bytes without being
//! told in any, so CPU and GPU have the same. Costs are in parts of a bit, [`BIT`] of them.
//!
//! **What is chosen once for an array** ([`Choice`]), by trials ([`trials`], `choose.rs`): an [`Interpolation`] for
//! tiles of multiples in steps and one for all others, and of the first kind a second one, smooth if the first one is
//! rough. A trial is a tile ([`tried`]), or a part of one ([`part`]). Smooth and rough interpolate it with `axes` = 0.
//! A rule costs what [`with_states`] makes of the sum of [`cost_of_sum`] over groups of codes, plus [`CORRECTION_COST`]
//! for each correction; with other axes the costs of the classes that have them change, each taken as one sum. Axes
//! cost the same of differences along the set that the sample finds ([`sample_every`], `sample.rs`). Each trial counts
//! with the lesser of both. The rule with the least sum is taken, of such the first (smooth before rough, then by set),
//! unless it saves less than one part in [`WORTH`] of what axes cost everywhere: then there is none. Its limit is the
//! first of [`LIMITS`], or the one by which trials cost least, if that saves one part in [`LIMIT_WORTH`].
//!
//! **What is chosen for a tile**: codes of the rule cost SW, of the second rule as much if SW is below
//! [`LITTLE`] a number; the lesser is taken, the first one of equals. If that is above [`FREE`], axes are asked: they
//! cost SB by the sample, of all pieces where it is below [`LITTLE`] a number. The rule stays if
//! 256·SW ≤ limit·SB + 256·[`FREE`] ([`is_taken`]).
//! **A tile with many multiples** (more than one in [`MANY_MULTIPLES`] elements): smooth and rough in steps, axes,
//! smooth and rough without steps, in this order; each costs what its sums say, and its corrections.
//! The least is taken.
//!
//! **Elements' bits** differ by anything from nothing to all bits, often in one tile, where numbers change their sign
//! or their exponent: a sum says what its greatest magnitude is. So their differences, and their rule's codes, cost
//! what widths make of all that are looked at (`predict/widths.rs`), of cheap tiles too by a sample; the rule's limit
//! is [`LIMIT_OF_BITS`].

pub use super::entropy::sums::MOST_MAGNITUDE;
use super::entropy::sums::Sum;
use super::format::GROUP;
use crate::primitives::lorenzo::AXES;

/// Parts of a bit.
pub const BIT: u64 = 256;

/// Tiles of fewer elements are not interpolated.
pub const FEWEST: usize = 8;
/// See above.
pub const MANY_MULTIPLES: usize = 64;
/// What a correction costs.
pub const CORRECTION_COST: u64 = 16 * BIT;
/// What 32 states cost, at most.
pub const STATES_COST: u64 = 8 * 90 * BIT;
/// Groups of a sparse tile that are not 0, at most.
pub const SPARSE_NONZERO: usize = 16;
/// See above.
pub const WORTH: u64 = 512;
/// See above: the usual limit, and others.
pub const LIMITS: [u64; 6] = [294, 256, 340, 224, 400, 192];
/// Another limit than the usual one must save one part in so many.
pub const LIMIT_WORTH: u64 = 64;
/// See above.
pub const LIMIT_OF_BITS: u64 = 256;
/// See above: 48 bytes.
pub const FREE: u64 = 48 * 8 * BIT;
/// See above.
pub const LITTLE: u64 = BIT / 4;
/// Arrays of fewer tiles are tried in parts of tiles.
pub const WHOLE_TRIALS: usize = 256;
/// Trials, at most.
pub const MOST_TRIALS: usize = 16;
/// Elements of a piece of a row that is sampled.
pub const PIECE: usize = 128;
/// One piece of so many is sampled, at most.
pub const EVERY: usize = 16;
/// A tile's own table is looked for by one group of so many first, where the tile has `MANY_GROUPS`.
pub const COUNTED_EVERY: usize = 4;
/// See above.
pub const MANY_GROUPS: usize = 32;
/// It must save one part in so many of what is counted first.
pub const TABLE_WORTH: u64 = 50;
/// What a symbol of a table costs, about.
pub const SYMBOL_COST: u64 = 10 * BIT;
/// Fewer low bits than this do not stand apart.
pub const FEWEST_LOW: u32 = 4;
/// Low bits of codes that are 0 may cost one part in so many of a bit for each code.
pub const LOW_WORTH: u64 = 16;
/// Multiples are no farther from the base than this.
pub const MOST_NUMBER: u32 = 1 << 24;
/// Elements are on neither side of the lattice's border if they are closer than this.
pub const BORDER_WIDTH: u32 = 17;
/// One element of so many may be an exception.
pub const ONE_EXCEPTION_OF: usize = 64;
/// Elements that tell whether there are few distinct ones.
pub const SAMPLE_ALIKE: usize = 64;
/// A group keeps so many bits of the mean of its codes below the highest, of elements' bits of its mean width.
pub const KEPT_BITS: u32 = 5;

/// What 128 codes cost whose magnitudes have the mean 2^o / 128: the entropy of a two-sided geometric distribution.
pub const MEANS: [u32; 31] = [
    2417, 4323, 7621, 13196, 22301, 36455, 56872, 83333, 113745, 145821, 178408, 211130, 243886, 276651, 309418,
    342186, 374954, 407722, 440490, 473258, 506026, 538794, 571562, 604330, 637098, 669866, 702634, 735402, 768170,
    800938, 833706,
];

/// What `count` codes cost whose magnitudes add up to `sum`: that of the mean, between octaves in proportion.
pub fn cost_of_sum(sum: u64, count: u64) -> u64 {
    if sum == 0 {
        return 64;
    }
    let scaled = match sum.checked_mul(128) {
        Some(sum) => (sum / count.max(1)).clamp(1, 1 << 62),
        None => (u128::from(sum) * 128 / u128::from(count.max(1))).clamp(1, 1 << 62) as u64,
    };
    let octave = scaled.ilog2() as usize;
    let part = if octave < 8 { scaled << (8 - octave) } else { scaled >> (octave - 8) } & 255;
    // Behind the table each octave is one bit more.
    let of = |o: usize| u64::from(MEANS[o.min(30)]) + 128 * BIT * o.saturating_sub(30) as u64;
    let cost = of(octave) + (((of(octave + 1) - of(octave)) * part) >> 8);
    (cost * count / 128).max(64)
}

/// What codes cost with the states of the lanes; of codes that a sparse tile may have without.
pub fn with_states(cost: u64, is_sparse: bool) -> u64 {
    if is_sparse { cost } else { cost + (4 * cost).min(STATES_COST) }
}

/// What `n` codes cost that are all 0: the least.
pub fn least_cost(n: usize) -> u64 {
    n.div_ceil(GROUP) as u64 * cost_of_sum(0, 1)
}

/// What `n` codes cost by the sums of their groups.
pub fn cost_of_sums(sums: &[Sum], n: usize) -> u64 {
    let (mut cost, mut nonzero) = (0, 0);
    for (g, sum) in sums.iter().enumerate() {
        cost += cost_of_sum(sum.magnitudes.into(), (n - g * GROUP).min(GROUP) as u64);
        nonzero += usize::from(sum.any);
    }
    with_states(cost, nonzero <= SPARSE_NONZERO && cost < STATES_COST)
}

/// The tiles of an array of `count` that are tried: in each of as many stretches one, at a mixed place.
pub fn trials(count: usize) -> impl Iterator<Item = usize> {
    let tried = (count / 8).max(count.min(4)).min(MOST_TRIALS);
    let stride = count.checked_div(tried).unwrap_or(1);
    let mixed = |i: usize| {
        let x = (i as u32).wrapping_mul(2_654_435_761);
        (x ^ x >> 15) as usize >> 8
    };
    (0..tried).map(move |i| i * stride + mixed(i) % stride)
}

/// The lengths of the part of a tile that is tried, from the middle of the tile: twice half of y or z, the longer one,
/// z if they are alike, if that is above 8, else of x.
pub fn part(count: usize, lens: [usize; AXES]) -> [usize; AXES] {
    let mut part = lens;
    if count < WHOLE_TRIALS {
        for _ in 0..2 {
            let axis = if part[2] >= part[1] { 2 } else { 1 };
            let axis = if part[axis] > 8 { axis } else { 0 };
            part[axis] = part[axis].div_ceil(2);
        }
    }
    part
}

/// One piece of so many is sampled of a tile with these lengths, along an axis.
pub fn sample_every(lens: [usize; AXES], axis: usize) -> usize {
    (lens.iter().product::<usize>() / (8 * lens[axis].min(PIECE))).clamp(1, EVERY)
}

/// Whether a rule that costs `rule` is taken where the sample says `axes` of axes.
pub fn is_taken(rule: u64, axes: u64, limit: u64) -> bool {
    rule <= FREE || u128::from(rule) * 256 <= u128::from(axes) * u128::from(limit) + u128::from(FREE) * 256
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_tiles() {
        for count in 0..3000 {
            let tried: Vec<usize> = trials(count).collect();
            assert!(tried.windows(2).all(|pair| pair[0] < pair[1]) && tried.iter().all(|t| *t < count), "{count}");
            assert_eq!(tried.is_empty(), count == 0);
        }
        assert_eq!(part(16, [32, 32, 16]), [32, 16, 8]);
        assert_eq!(part(16, [16384, 1, 1]), [4096, 1, 1]);
        assert_eq!(part(256, [32, 32, 16]), [32, 32, 16]);
    }
}
