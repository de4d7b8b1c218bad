//! All groups of a tile to words, by vectors.

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use super::lanes::lanes_of;
use crate::codec::predict::code::encode::Own;
use crate::codec::predict::code::states::{State, encode_classes};
use crate::codec::predict::format::{GROUPS, QUAD, RUN, RUNS, present_in};
use crate::primitives::rans::{LANES, Words};
use crate::simd::vec::Simd;

/// The groups of a tile, as they are encoded.
pub trait Groups<P: Simd<M>, const M: usize> {
    /// How many there are.
    fn count(&self) -> usize;
    /// Takes one apart, and tells its class.
    fn take(&mut self, p: P, g: usize) -> usize;
    /// Encodes the one that was taken last, which is not all 0.
    fn encode(&self, p: P, g: usize, x: &mut [P::V; M], words: &mut Words);
}

/// Encodes all groups, the last one first; see `encode`.
#[inline(always)]
pub fn encode_groups<P: Simd<M>, const M: usize>(p: P, groups: &mut impl Groups<P, M>, words: &mut Words) -> State {
    let mut state = State::new();
    let mut x = [p.splat(1); M];
    let mut classes = [0u8; GROUPS];
    for g in (0..groups.count()).rev() {
        let class = groups.take(p, g);
        classes[g] = class as u8;
        if class == 0 {
            continue;
        }
        let before = (x, words.at);
        loop {
            groups.encode(p, g, &mut x, words);
            if !state.is_small() {
                break;
            }
            let lanes = [lanes_of(p, &before.0), lanes_of(p, &x)];
            state.lanes = lanes[1];
            if state.holds((lanes[0], before.1), words, g + 1) {
                break;
            }
            for k in 0..M {
                x[k] = p.load(&state.lanes[k * (LANES / M)..]);
            }
        }
    }
    state.lanes = lanes_of(p, &x);
    encode_classes(&mut state, &classes[..groups.count()], words);
    state
}

/// The class of group g of n codes, beside a table, that has this one without; each lane has four tokens.
#[inline(always)]
pub fn class_beside(own: &Own, class: usize, tokens: &[u32; LANES], (n, g): (usize, usize)) -> usize {
    let (tokens, present) = (tokens.map(u32::to_le_bytes), present_in(n, g));
    if present == [u32::MAX; RUNS] {
        return own.class_of_whole(class, &tokens);
    }
    own.class(class, &tokens, |lane, j| present[lane * QUAD / RUN] >> ((lane * QUAD + j) % RUN) & 1 == 1)
}
