//! States of lanes by vectors, and groups that they are decoded to.

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use super::lanes::{has_value, lanes_of, quads_of};
use crate::codec::predict::format::{DIRECT, GROUP, QUAD, present_in};
use crate::primitives::rans::{LANES, RAW_BITS, TABLE_BITS};
use crate::simd::vec::Simd;

/// The most words that a group takes: one for each symbol, and for each of up to six rounds of raw bits.
const MOST_WORDS: usize = 7 * GROUP;
/// What may be read behind the last word that counts.
const READ_SLACK: usize = LANES;

/// The last words of a tile, and zeros behind them.
pub type Tail = [[u8; 2]; 2 * MOST_WORDS + READ_SLACK];

/// The words of a decoder, behind whose end there are zeros.
pub struct WordSource<'a> {
    words: &'a [[u8; 2]],
    /// The next one.
    pub at: usize,
    tail: &'a mut Tail,
    /// Where the tail begins, once it is read from.
    tail_at: Option<usize>,
}

impl<'a> WordSource<'a> {
    /// These words, from the one at `at` on; `tail` is of use meanwhile.
    pub fn new(words: &'a [[u8; 2]], at: usize, tail: &'a mut Tail) -> WordSource<'a> {
        WordSource { words, at, tail, tail_at: None }
    }

    /// Words, and where the next one is among them, which as many follow as a group may take; `None` if more were taken
    /// than there are.
    #[inline(always)]
    fn window(&mut self) -> Option<(&[[u8; 2]], usize)> {
        let rest = self.words.get(self.at..)?;
        if rest.len() >= MOST_WORDS + READ_SLACK {
            return Some((self.words, self.at));
        }
        let tail_at = match self.tail_at {
            Some(at) => at,
            None => {
                self.tail[..rest.len()].copy_from_slice(rest);
                self.tail[rest.len()..].fill([0; 2]);
                *self.tail_at.insert(self.at)
            }
        };
        Some((&self.tail[..], self.at - tail_at))
    }
}

/// States at work, and the words that they take.
pub struct States<'a, P: Simd<M>, const M: usize> {
    p: P,
    x: [P::V; M],
    threshold: P::V,
    /// The words.
    pub source: WordSource<'a>,
}

impl<'a, P: Simd<M>, const M: usize> States<'a, P, M> {
    /// These, which take words below the threshold.
    #[inline(always)]
    pub fn new(p: P, lanes: &[u32; LANES], threshold: u32, source: WordSource<'a>) -> Self {
        let mut states = States { p, x: [p.splat(0); M], threshold: p.splat(threshold), source };
        states.set(lanes);
        states
    }

    #[inline(always)]
    fn set(&mut self, lanes: &[u32; LANES]) {
        for k in 0..M {
            self.x[k] = self.p.load(&lanes[k * (LANES / M)..]);
        }
    }

    /// From here on they are these, and take no words.
    #[inline(always)]
    pub fn change(&mut self, lanes: &[u32; LANES]) {
        self.set(lanes);
        self.threshold = self.p.splat(0);
    }

    /// The states.
    #[inline(always)]
    pub fn lanes(&self) -> [u32; LANES] {
        lanes_of(self.p, &self.x)
    }
}

/// What a group is decoded by: the slots of its table, and which one it is of how many codes.
pub struct Turn<'a> {
    /// The slots.
    pub slots: &'a [u32; 1 << TABLE_BITS],
    /// The codes of the tile, and the group.
    pub place: (usize, usize),
    /// Tokens are codes.
    pub direct: bool,
}

/// A group each of N tiles whose tokens are decoded, four bytes a lane.
struct Tokens<'w, P: Simd<M>, const M: usize, const N: usize> {
    tokens: [[P::V; M]; N],
    x: [[P::V; M]; N],
    thresholds: [P::V; N],
    windows: [&'w [[u8; 2]]; N],
    /// Where the next words are in the windows.
    at: [usize; N],
}

/// Decodes the tokens of a group each of N tiles: while the states of one wait for their slots those of the others
/// work. `None` if words have ended before; `first` is where each began in its window.
#[inline(always)]
fn tokens<'w, P: Simd<M>, const M: usize, const N: usize, const WHOLE: bool>(
    p: P,
    states: &'w mut [&mut States<P, M>; N],
    turns: &[Turn; N],
    first: &mut [usize; N],
) -> Option<Tokens<'w, P, M, N>> {
    let low = p.splat((1 << TABLE_BITS) - 1);
    let (mut x, mut tokens, mut thresholds) = ([[low; M]; N], [[p.splat(0); M]; N], [low; N]);
    let (mut windows, mut at): ([&[[u8; 2]]; N], _) = ([&[]; N], [0; N]);
    for t in 0..N {
        (x[t], thresholds[t]) = (states[t].x, states[t].threshold);
    }
    for (t, states) in states.iter_mut().enumerate() {
        (windows[t], at[t]) = states.source.window()?;
    }
    *first = at;
    let mut has = [[p.splat(0); M]; N];
    if !WHOLE {
        for t in 0..N {
            let (n, g) = turns[t].place;
            has[t] = quads_of(p, &present_in(n, g));
        }
    }
    for j in 0..QUAD as u32 {
        let mut takes = [[p.mask(0); M]; N];
        for t in 0..N {
            for k in 0..M {
                let entry = p.look_up(turns[t].slots, x[t][k]);
                let frequency = p.and(p.right::<TABLE_BITS>(entry), low);
                let next = p.add(p.mul(frequency, p.right::<TABLE_BITS>(x[t][k])), p.and(entry, low));
                takes[t][k] = p.less(next, thresholds[t]);
                let mut symbol = p.right::<{ 2 * TABLE_BITS }>(entry);
                if WHOLE {
                    x[t][k] = next;
                } else {
                    let has = has_value(p, has[t][k], j);
                    x[t][k] = p.select(has, next, x[t][k]);
                    takes[t][k] = p.both(takes[t][k], has);
                    symbol = p.select(has, symbol, p.splat(0));
                }
                tokens[t][k] = p.or(tokens[t][k], p.left_by(symbol, p.splat(8 * j)));
            }
        }
        for t in 0..N {
            p.refill(&mut x[t], takes[t], windows[t], &mut at[t]);
        }
    }
    Some(Tokens { tokens, x, thresholds, windows, at })
}

/// Whether no token has raw bits.
#[inline(always)]
fn are_codes<P: Simd<M>, const M: usize>(p: P, tokens: &[P::V; M]) -> bool {
    let mut any = tokens[0];
    for other in &tokens[1..] {
        any = p.or(any, *other);
    }
    let is_long = p.and(p.or(p.right::<1>(any), any), p.splat(0x4040_4040));
    p.bits(p.less(p.splat(0), is_long)) == 0
}

/// Decodes the differences of a group each of N tiles. `None` if words have ended before; otherwise whether no token is
/// above `last`, for which there is no room in 32 bits, or in the words.
#[inline(always)]
pub fn decode<P: Simd<M>, const M: usize, const N: usize, const WHOLE: bool>(
    p: P,
    states: &mut [&mut States<P, M>; N],
    turns: &[Turn; N],
    out: &mut [&mut [u32; GROUP]; N],
    last: u32,
) -> Option<bool> {
    let n = LANES / M;
    let mut first = [0; N];
    let Tokens { tokens, mut x, thresholds, windows, mut at } = tokens::<P, M, N, WHOLE>(p, states, turns, &mut first)?;
    let mut fits = true;
    for t in 0..N {
        let out = &mut *out[t];
        if turns[t].direct || are_codes::<P, M>(p, &tokens[t]) {
            let (ones, halves) = (p.splat(0x0101_0101), p.splat(0x7F7F_7F7F));
            for k in 0..M {
                // Of each byte the bits above the lowest one, turned if that is set: no byte takes from another.
                let sign = p.and(tokens[t][k], ones);
                let turn = p.sub(p.left::<8>(sign), sign);
                let half = p.and(p.right::<1>(tokens[t][k]), halves);
                p.unpack_bytes(p.xor(half, turn), &mut out[k * n * QUAD..(k + 1) * n * QUAD]);
            }
        } else {
            fits &= raw(p, thresholds[t], &mut x[t], &tokens[t], last, windows[t], &mut at[t], out);
        }
    }
    for t in 0..N {
        states[t].x = x[t];
        states[t].source.at += at[t] - first[t];
    }
    Some(fits)
}

/// Decodes the codes of a group, whole or not, of 64 bits; `None` if words have ended before.
#[inline(always)]
pub fn decode_wide<P: Simd<M>, const M: usize>(
    p: P,
    states: &mut States<P, M>,
    turn: Turn,
    out: &mut [u64; GROUP],
) -> Option<()> {
    let (mut one, mut first, direct) = ([&mut *states], [0], turn.direct);
    let Tokens { tokens: [tokens], x: [mut x], thresholds: [threshold], windows: [window], at: [mut at] } =
        tokens::<P, M, 1, false>(p, &mut one, &[turn], &mut first)?;
    let (mut low, mut high) = ([0; GROUP], [0; GROUP]);
    if direct || are_codes::<P, M>(p, &tokens) {
        let n = LANES / M;
        for k in 0..M {
            let quads = quad_of::<P, M>(p, tokens[k]);
            p.store_quads(quads, &mut low[k * n * QUAD..(k + 1) * n * QUAD]);
        }
    } else {
        raw_wide(p, threshold, &mut x, &tokens, window, &mut at, [&mut low, &mut high]);
    }
    for (i, code) in out.iter_mut().enumerate() {
        *code = u64::from(low[i]) | u64::from(high[i]) << 32;
    }
    states.x = x;
    states.source.at += at - first[0];
    Some(())
}

/// The four tokens of each lane.
#[inline(always)]
fn quad_of<P: Simd<M>, const M: usize>(p: P, tokens: P::V) -> [P::V; QUAD] {
    let mut quads = [tokens; QUAD];
    for j in 0..QUAD {
        quads[j] = p.and(p.right_by(tokens, p.splat(8 * j as u32)), p.splat(255));
    }
    quads
}

/// Takes as many raw bits from each state.
#[inline(always)]
fn take_raw<P: Simd<M>, const M: usize>(
    p: P,
    threshold: P::V,
    x: &mut [P::V; M],
    len: &[P::V; M],
    words: &[[u8; 2]],
    at: &mut usize,
) -> [P::V; M] {
    let (one, zero) = (p.splat(1), p.splat(0));
    let (mut bits, mut takes) = (*x, [p.mask(0); M]);
    for k in 0..M {
        bits[k] = p.and(x[k], p.sub(p.left_by(one, len[k]), one));
        x[k] = p.right_by(x[k], len[k]);
        takes[k] = p.both(p.less(x[k], threshold), p.less(zero, len[k]));
    }
    p.refill(x, takes, words, at);
    bits
}

/// The differences of tokens with raw bits; whether no token is above `last`.
#[inline(always)]
#[allow(clippy::too_many_arguments)] // What a group has at hand.
fn raw<P: Simd<M>, const M: usize>(
    p: P,
    threshold: P::V,
    x: &mut [P::V; M],
    tokens: &[P::V; M],
    last: u32,
    words: &[[u8; 2]],
    at: &mut usize,
    out: &mut [u32; GROUP],
) -> bool {
    let (zero, one) = (p.splat(0), p.splat(1));
    let (mut lens, mut codes) = ([[zero; M]; QUAD], [[zero; M]; QUAD]);
    let (mut largest, mut total) = (zero, [zero; M]);
    for j in 0..QUAD {
        for k in 0..M {
            let token = p.and(p.right_by(tokens[k], p.splat(8 * j as u32)), p.splat(255));
            let is_direct = p.less(token, p.splat(DIRECT));
            let len = p.select(is_direct, zero, p.sub(p.right::<1>(token), p.splat(27)));
            let code = p.left_by(p.add(p.and(token, one), p.splat(2)), len);
            codes[j][k] = p.select(is_direct, token, code);
            lens[j][k] = len;
            total[k] = p.add(total[k], len);
            largest = p.max(largest, token);
        }
    }
    let largest = p.largest(largest);
    if largest > last {
        return false;
    }
    let mut most = total[0];
    for other in &total[1..] {
        most = p.max(most, *other);
    }
    if p.largest(most) <= RAW_BITS {
        let mut bits = take_raw(p, threshold, x, &total, words, at);
        for j in 0..QUAD {
            for k in 0..M {
                let len = lens[j][k];
                codes[j][k] = p.or(codes[j][k], p.and(bits[k], p.sub(p.left_by(one, len), one)));
                bits[k] = p.right_by(bits[k], len);
            }
        }
    } else {
        let longest = (largest >> 1) - 27;
        for round in 0..longest.div_ceil(RAW_BITS) {
            let from = p.splat(round * RAW_BITS);
            for j in 0..QUAD {
                let mut len = [zero; M];
                for k in 0..M {
                    len[k] = p.min(p.sub(p.max(lens[j][k], from), from), p.splat(RAW_BITS));
                }
                let bits = take_raw(p, threshold, x, &len, words, at);
                for k in 0..M {
                    codes[j][k] = p.or(codes[j][k], p.left_by(bits[k], from));
                }
            }
        }
    }
    let n = LANES / M;
    for k in 0..M {
        let mut quads = [zero; QUAD];
        for j in 0..QUAD {
            let code = codes[j][k];
            quads[j] = p.xor(p.right::<1>(code), p.sub(zero, p.and(code, one)));
        }
        p.store_quads(quads, &mut out[k * n * QUAD..(k + 1) * n * QUAD]);
    }
    true
}

/// The codes of tokens with raw bits: their lower and their upper 32 bits.
#[inline(always)]
fn raw_wide<P: Simd<M>, const M: usize>(
    p: P,
    threshold: P::V,
    x: &mut [P::V; M],
    tokens: &[P::V; M],
    words: &[[u8; 2]],
    at: &mut usize,
    [low, high]: [&mut [u32; GROUP]; 2],
) {
    let (zero, one, half) = (p.splat(0), p.splat(1), p.splat(32));
    let (mut lens, mut lows, mut highs) = ([[zero; QUAD]; M], [[zero; QUAD]; M], [[zero; QUAD]; M]);
    let (mut largest, mut total) = (zero, [zero; M]);
    for k in 0..M {
        let quads = quad_of::<P, M>(p, tokens[k]);
        for j in 0..QUAD {
            let token = quads[j];
            let is_direct = p.less(token, p.splat(DIRECT));
            let len = p.select(is_direct, zero, p.sub(p.right::<1>(token), p.splat(27)));
            let leading = p.select(is_direct, token, p.add(p.and(token, one), p.splat(2)));
            let over = p.left_by(leading, p.sub(p.max(len, half), half));
            let beyond = p.right_by(leading, p.sub(half, p.min(len, half)));
            lows[k][j] = p.left_by(leading, len);
            highs[k][j] = p.select(p.less(len, half), beyond, over);
            lens[k][j] = len;
            total[k] = p.add(total[k], len);
            largest = p.max(largest, token);
        }
    }
    let mut most = total[0];
    for other in &total[1..] {
        most = p.max(most, *other);
    }
    if p.largest(most) <= RAW_BITS {
        let mut bits = take_raw(p, threshold, x, &total, words, at);
        for k in 0..M {
            for j in 0..QUAD {
                let len = lens[k][j];
                lows[k][j] = p.or(lows[k][j], p.and(bits[k], p.sub(p.left_by(one, len), one)));
                bits[k] = p.right_by(bits[k], len);
            }
        }
    } else {
        let longest = (p.largest(largest) >> 1) - 27;
        for round in 0..longest.div_ceil(RAW_BITS) {
            let from = round * RAW_BITS;
            let first = p.splat(from);
            for j in 0..QUAD {
                let mut len = [zero; M];
                for k in 0..M {
                    len[k] = p.min(p.sub(p.max(lens[k][j], first), first), p.splat(RAW_BITS));
                }
                let bits = take_raw(p, threshold, x, &len, words, at);
                for k in 0..M {
                    lows[k][j] = p.or(lows[k][j], p.left_by(bits[k], first));
                    let over = if from < 32 {
                        p.right_by(bits[k], p.splat(32 - from))
                    } else {
                        p.left_by(bits[k], p.splat(from - 32))
                    };
                    highs[k][j] = p.or(highs[k][j], over);
                }
            }
        }
    }
    let n = LANES / M;
    for k in 0..M {
        let places = k * n * QUAD..(k + 1) * n * QUAD;
        p.store_quads(lows[k], &mut low[places.clone()]);
        p.store_quads(highs[k], &mut high[places]);
    }
}
