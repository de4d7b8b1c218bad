//! How an array is cut into tiles.

use super::format::{BLOCK_LOG2, MAX_AXES, TILE_LOG2};
use crate::container::{Dims, MAX_RANK};

/// Sides of tiles for an array, as powers of two. Blocks lie along dimensions of at least a block's side, the longest
/// four of them: of two that are as long the faster one. A tile is as much a cube as they allow; along the others it
/// has one element.
pub fn sides_log2(dims: &Dims) -> [u8; MAX_RANK] {
    let lens = dims.lens();
    // No memory is asked for, which might not be there.
    let mut axes: [usize; MAX_RANK] = std::array::from_fn(|k| k);
    let axes = &mut axes[..lens.len()];
    axes.sort_unstable_by_key(|k| (std::cmp::Reverse(lens[*k]), std::cmp::Reverse(*k)));
    let long = axes.iter().filter(|k| lens[**k] >= 1 << BLOCK_LOG2).count();
    sides_along(dims, &axes[..long.clamp(1, MAX_AXES).min(lens.len())])
}

/// Sides of tiles that have blocks along these dimensions.
pub fn sides_along(dims: &Dims, axes: &[usize]) -> [u8; MAX_RANK] {
    let lens = dims.lens();
    let most = |k: usize| lens[k].clamp(1, 1 << TILE_LOG2).next_power_of_two().trailing_zeros().max(BLOCK_LOG2);
    let mut sides = [0; MAX_RANK];
    axes.iter().for_each(|k| sides[*k] = BLOCK_LOG2 as u8);
    let mut room = TILE_LOG2 - BLOCK_LOG2 * axes.len() as u32;
    while room > 0 {
        let longer = axes.iter().filter(|k| u32::from(sides[**k]) < most(**k));
        let Some(k) = longer.min_by_key(|k| (sides[**k], std::cmp::Reverse(**k))) else { break };
        sides[*k] += 1;
        room -= 1;
    }
    sides
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sides(lens: &[u64]) -> Vec<u8> {
        sides_log2(&Dims::new(lens).unwrap())[..lens.len()].to_vec()
    }

    #[test]
    fn tiles_hold_whole_blocks() {
        assert_eq!(sides(&[1 << 30]), [12]);
        assert_eq!(sides(&[0]), [2]);
        assert_eq!(sides(&[3, 2]), [2, 0]);
        assert_eq!(sides(&[2, 2]), [0, 2]);
        assert_eq!(sides(&[1000, 1000]), [6, 6]);
        assert_eq!(sides(&[5, 1000]), [3, 9]);
        assert_eq!(sides(&[512, 512, 512]), [4, 4, 4]);
        assert_eq!(sides(&[100, 3, 4, 512, 512]), [3, 0, 2, 3, 4]);
        assert_eq!(sides(&[9, 9, 9, 9]), [3; 4]);
        assert_eq!(sides(&[8, 9, 7, 6, 5]), [3, 3, 3, 3, 0]);
        assert_eq!(sides(&[480, 640, 3]), [6, 6, 0]);
        assert_eq!(sides(&[2; 32]).iter().sum::<u8>(), 2);
    }
}
