//! How an array is cut into tiles.

use super::format::TILE_LOG2;
use crate::container::{Dims, MAX_RANK};

/// Numbers in front of those of a tile, and behind them, that are read with them.
pub const MARGIN: usize = 32;
/// What a tile costs by itself, in elements at which a difference is missing.
const TILE_COST: u64 = 256;
/// A last dimension but one of no more elements than this is taken for the components of something, which are unlike
/// each other: tiles do not mix them.
const COMPONENTS: u64 = 5;
/// Longer than this no length counts.
const LONGEST: u64 = 1 << 20;

/// Sides of tiles for an array, as powers of two. The last three dimensions that have more than one element share what
/// a tile holds so that the fewest elements have no neighbour before them; what they do not need goes to the ones
/// before.
pub fn sides_log2(dims: &Dims) -> [u8; MAX_RANK] {
    let mut sides = [0; MAX_RANK];
    let are_components = dims.count() > 1 << TILE_LOG2;
    let shortest = |k: usize| if are_components && k + 2 == dims.rank() { COMPONENTS } else { 1 };
    let mut longer = (0..dims.rank()).rev().filter(|k| dims.lens()[*k] > shortest(*k));
    let axes: [Option<usize>; 3] = std::array::from_fn(|_| longer.next());
    let lens = axes.map(|axis| axis.map_or(1, |k| dims.lens()[k].min(LONGEST)));
    let most = lens.map(|len| len.next_power_of_two().trailing_zeros());
    let total = most.iter().sum::<u32>().min(TILE_LOG2);
    let mut best = (u64::MAX, [0; 3]);
    for z in 0..=most[2].min(total) {
        for y in 0..=most[1].min(total - z) {
            let x = total - z - y;
            if x <= most[0] {
                best = best.min((cost(lens, [x, y, z]), [z, y, x]));
            }
        }
    }
    for (axis, side) in axes.into_iter().rev().zip(best.1) {
        if let Some(k) = axis {
            sides[k] = side as u8;
        }
    }
    let mut room = TILE_LOG2 - total;
    for k in longer {
        let side = room.min(dims.lens()[k].min(LONGEST).next_power_of_two().trailing_zeros());
        sides[k] = side as u8;
        room -= side;
    }
    sides
}

/// Elements without a neighbour before them along one of the axes, and what tiles cost by themselves.
fn cost(lens: [u64; 3], sides: [u32; 3]) -> u64 {
    let tiles: [u64; 3] = std::array::from_fn(|a| lens[a].div_ceil(1 << sides[a]));
    let faces: u64 = (0..3).map(|a| (0..3).map(|b| if a == b { tiles[b] } else { lens[b] }).product::<u64>()).sum();
    tiles.iter().product::<u64>() * TILE_COST + faces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(lens: &[u64]) -> Vec<u8> {
        sides_log2(&Dims::new(lens).unwrap())[..lens.len()].to_vec()
    }

    #[test]
    fn tiles_fit_their_arrays() {
        assert_eq!(sides(&[1 << 30]), [14]);
        assert_eq!(sides(&[100]), [7]);
        assert_eq!(sides(&[0, 5]), [0, 3]);
        assert_eq!(sides(&[1, 1 << 20, 1, 1 << 20, 1]), [0, 7, 0, 7, 0]);
        assert_eq!(sides(&[1 << 40; 1]), [14]);
        assert_eq!(sides(&[1000, 2, 2, 2]), [10, 1, 1, 1]);
        assert_eq!(sides(&[2; 32]).iter().sum::<u8>(), 14);
        // Components are not mixed, unless the array is small.
        assert_eq!(sides(&[3, 1 << 20]), [0, 14]);
        assert_eq!(sides(&[1 << 20, 3]), [12, 2]);
        assert_eq!(sides(&[3, 100]), [2, 7]);
        let cube = sides(&[512, 512, 512]);
        assert_eq!((cube.iter().sum::<u8>(), *cube.iter().max().unwrap()), (14, 5));
    }
}
