//! Words to groups of codes, by vectors.

// Iterators and closures over vectors may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use super::low::Bits;
use super::tables::{OWN, Slots, TOKEN_SLOTS, shift_of, table_of};
use crate::codec::interp::entropy::states::{check_end, lower};
use crate::codec::interp::format::*;
use crate::error::{Result, fail};
use crate::primitives::rans::{LANES, RAW_BITS, TABLE_BITS};
use crate::simd::Task;
use crate::simd::numbers::CodeVectors;
use crate::simd::word::Word;

/// The most words that a group takes: one for each symbol, and for each of up to six rounds of raw bits.
const MOST_WORDS: usize = 7 * GROUP;
/// What may be read behind the last word that counts.
const READ_SLACK: usize = LANES;
/// The greatest token whose code fits 16 bits.
const LAST_SHORT: u32 = 83;
const _: () = assert!(code(LAST_SHORT).1 < 1 << 16 && code(LAST_SHORT + 1).1 == 1 << 16);

/// The last words of a tile, and zeros behind them.
pub type Tail = [[u8; 2]; 2 * MOST_WORDS + READ_SLACK];

/// A tile whose classes are known.
#[derive(Clone, Copy)]
pub struct Classed<'a> {
    pub head: &'a Head,
    /// So many codes, and groups that are wanted, the first ones.
    pub n: usize,
    pub wanted: usize,
    pub classes: [u8; GROUPS],
    pub own: &'a Slots,
    /// The states behind the classes.
    pub lanes: [u32; LANES],
    pub threshold: u32,
    /// The words behind those of the classes.
    pub words: &'a [[u8; 2]],
    pub low: &'a [u8],
}

/// States at work, and the words that they take, behind whose end there are zeros.
struct Course<'a, P: CodeVectors<M>, const M: usize> {
    p: P,
    tile: Classed<'a>,
    x: [P::V; M],
    threshold: P::V,
    at: usize,
    tail: &'a mut Tail,
    /// Where the tail begins, once it is read from.
    tail_at: Option<usize>,
    /// The group that is next, and the one before which states become smaller.
    g: usize,
    switch: usize,
    bits: Bits<'a>,
}

impl<'a, P: CodeVectors<M>, const M: usize> Course<'a, P, M> {
    #[inline(always)]
    fn begin(p: P, tile: Classed<'a>, tail: &'a mut Tail) -> Self {
        let (threshold, switch, bits) = (p.splat(tile.threshold), tile.head.switch, Bits::new(tile.low));
        let x = [p.splat(0); M];
        let mut course = Course { p, tile, x, threshold, at: 0, tail, tail_at: None, g: 0, switch, bits };
        course.set(&tile.lanes);
        course
    }

    #[inline(always)]
    fn set(&mut self, lanes: &[u32; LANES]) {
        for k in 0..M {
            self.x[k] = self.p.load(&lanes[k * (LANES / M)..]);
        }
    }

    #[inline(always)]
    fn lanes(&self) -> [u32; LANES] {
        let mut lanes = [0; LANES];
        for k in 0..M {
            self.p.store(self.x[k], &mut lanes[k * (LANES / M)..]);
        }
        lanes
    }

    /// What comes before the next group.
    #[inline(always)]
    fn reach(&mut self) -> Result<()> {
        if self.g == self.switch {
            let mut lanes = self.lanes();
            lower(&mut lanes)?;
            self.set(&lanes);
            (self.threshold, self.switch) = (self.p.splat(0), NEVER);
        }
        Ok(())
    }

    /// Goes on to the next group that has codes other than 0, of which those before it get zeros: its table, if there
    /// is one.
    #[inline(always)]
    fn next<W: Word>(&mut self, codes: &mut [[W; GROUP]]) -> Result<Option<&'a Slots>> {
        while self.g < self.tile.wanted {
            self.reach()?;
            let slots = self.tile.slots(self.g);
            if slots.is_some() {
                return Ok(slots);
            }
            codes[self.g].fill(W::ZERO);
            self.g += 1;
        }
        Ok(None)
    }

    /// Of the next group how many codes are there; at least as many.
    #[inline(always)]
    fn there(&self) -> usize {
        self.tile.n - self.g * GROUP
    }

    /// Checks how it ended, if it did.
    #[inline(always)]
    fn end(mut self) -> Result<()> {
        if self.tile.wanted < groups(self.tile.n) {
            return Ok(());
        }
        if !self.bits.end_in_zeros() {
            return fail!(Corrupt, "bits behind a tile's last low bits are not zero");
        }
        self.reach()?;
        check_end(&self.lanes(), self.tile.words.get(self.at..))
    }

    /// Sees to it that as many words follow as a group may take.
    #[inline(always)]
    fn prepare(&mut self) -> Result<()> {
        let Some(rest) = self.tile.words.get(self.at..) else { return fail!(Corrupt, "a tile's words end early") };
        if rest.len() < MOST_WORDS + READ_SLACK && self.tail_at.is_none() {
            self.tail[..rest.len()].copy_from_slice(rest);
            self.tail[rest.len()..].fill([0; 2]);
            self.tail_at = Some(self.at);
        }
        Ok(())
    }

    /// Words from the next one on, and where it is among them.
    #[inline(always)]
    fn window(&self) -> (&[[u8; 2]], usize) {
        self.tail_at.map_or((self.tile.words, self.at), |at| (&self.tail[..], self.at - at))
    }

    /// Of tokens with raw bits the lower and, if there are any, the upper 32 bits of the codes.
    #[inline(always)]
    fn raw<const HIGH: bool>(
        &mut self,
        tokens: &[P::V; M],
        low: &mut [u32; GROUP],
        high: &mut [u32; GROUP],
    ) -> Result<()> {
        let (p, threshold, mut x) = (self.p, self.threshold, self.x);
        let (zero, one, half) = (p.splat(0), p.splat(1), p.splat(32));
        let (mut lens, mut lows, mut highs) = ([[zero; QUAD]; M], [[zero; QUAD]; M], [[zero; QUAD]; M]);
        let mut longest = zero;
        for k in 0..M {
            for j in 0..QUAD {
                let token = p.and(p.right_by(tokens[k], p.splat(8 * j as u32)), p.splat(255));
                let is_direct = p.less(token, p.splat(DIRECT));
                let len = p.select(is_direct, zero, p.sub(p.right::<1>(token), p.splat(27)));
                let leading = p.select(is_direct, token, p.add(p.and(token, one), p.splat(2)));
                lows[k][j] = p.left_by(leading, len);
                if HIGH {
                    let over = p.left_by(leading, p.sub(p.max(len, half), half));
                    let beyond = p.right_by(leading, p.sub(half, p.min(len, half)));
                    highs[k][j] = p.select(p.less(len, half), beyond, over);
                }
                lens[k][j] = len;
                longest = p.max(longest, len);
            }
        }
        let longest = p.largest(longest);
        self.prepare()?;
        let (words, first) = self.window();
        let mut at = first;
        for round in 0..longest.div_ceil(RAW_BITS) {
            let from = round * RAW_BITS;
            let from_v = p.splat(from);
            for j in 0..QUAD {
                let (mut bits, mut takes) = ([zero; M], [p.mask(0); M]);
                for k in 0..M {
                    let len = p.min(p.sub(p.max(lens[k][j], from_v), from_v), p.splat(RAW_BITS));
                    bits[k] = p.and(x[k], p.sub(p.left_by(one, len), one));
                    x[k] = p.right_by(x[k], len);
                    takes[k] = p.both(p.less(x[k], threshold), p.less(zero, len));
                }
                p.refill(&mut x, takes, words, &mut at);
                for k in 0..M {
                    lows[k][j] = p.or(lows[k][j], p.left_by(bits[k], from_v));
                    if HIGH {
                        let over = match from < 32 {
                            true => p.right_by(bits[k], p.splat(32 - from)),
                            false => p.left_by(bits[k], p.splat(from - 32)),
                        };
                        highs[k][j] = p.or(highs[k][j], over);
                    }
                }
            }
        }
        let n = LANES / M;
        for k in 0..M {
            p.store_quads(lows[k], &mut low[k * n * QUAD..(k + 1) * n * QUAD]);
            if HIGH {
                p.store_quads(highs[k], &mut high[k * n * QUAD..(k + 1) * n * QUAD]);
            }
        }
        self.x = x;
        self.at += at - first;
        Ok(())
    }
}

/// Decodes the tokens of the next group of each course, four bytes a lane: several at once, as each symbol waits for
/// the one before it. All groups are whole, or `there` codes of one.
#[inline(always)]
fn tokens<P: CodeVectors<M>, const M: usize, const T: usize, const WHOLE: bool>(
    courses: &mut [&mut Course<P, M>; T],
    slots: [&Slots; T],
    there: usize,
) -> Result<[[P::V; M]; T]> {
    for course in courses.iter_mut() {
        course.prepare()?;
    }
    let p = courses[0].p;
    let (mut x, mut tokens) = ([[p.splat(0); M]; T], [[p.splat(0); M]; T]);
    let (mut words, mut first, mut thresholds) = ([&[][..]; T], [0; T], [p.splat(0); T]);
    for t in 0..T {
        (x[t], thresholds[t]) = (courses[t].x, courses[t].threshold);
        (words[t], first[t]) = courses[t].window();
    }
    let (low, mut at) = (p.splat((1 << TABLE_BITS) - 1), first);
    for j in 0..QUAD {
        for t in 0..T {
            let x = &mut x[t];
            let mut takes = [p.mask(0); M];
            for k in 0..M {
                let entry = p.look_up(slots[t], x[k]);
                let frequency = p.and(p.right::<TABLE_BITS>(entry), low);
                let next = p.add(p.mul(frequency, p.right::<TABLE_BITS>(x[k])), p.and(entry, low));
                takes[k] = p.less(next, thresholds[t]);
                let mut symbol = p.right::<{ 2 * TABLE_BITS }>(entry);
                if WHOLE {
                    x[k] = next;
                } else {
                    // Lanes up to the last one that has value j.
                    let has = (there + QUAD - 1 - j) / QUAD;
                    let bits = (1u64 << has.saturating_sub(k * (LANES / M)).min(LANES / M)) - 1;
                    let has = p.mask(bits as u32);
                    takes[k] = p.both(takes[k], has);
                    x[k] = p.select(has, next, x[k]);
                    symbol = p.select(has, symbol, p.splat(0));
                }
                tokens[t][k] = p.or(tokens[t][k], p.left_by(symbol, p.splat(8 * j as u32)));
            }
            p.refill(x, takes, words[t], &mut at[t]);
        }
    }
    for t in 0..T {
        courses[t].x = x[t];
        courses[t].at += at[t] - first[t];
    }
    Ok(tokens)
}

/// The tokens of the next group of a course.
#[inline(always)]
fn tokens_of_one<P: CodeVectors<M>, const M: usize>(course: &mut Course<P, M>, slots: &Slots) -> Result<[P::V; M]> {
    let there = course.there();
    let all = match there >= GROUP {
        true => tokens::<P, M, 1, true>(&mut [course], [slots], there)?,
        false => tokens::<P, M, 1, false>(&mut [course], [slots], there)?,
    };
    Ok(all[0])
}

/// Whether no token has raw bits.
#[inline(always)]
fn are_codes<P: CodeVectors<M>, const M: usize>(p: P, tokens: &[P::V; M]) -> bool {
    let mut any = tokens[0];
    for other in &tokens[1..] {
        any = p.or(any, *other);
    }
    let is_long = p.and(p.or(p.right::<1>(any), any), p.splat(0x4040_4040));
    p.bits(p.less(p.splat(0), is_long)) == 0
}

/// The greatest token.
#[inline(always)]
fn last_token<P: CodeVectors<M>, const M: usize>(p: P, tokens: &[P::V; M]) -> u32 {
    let mut last = p.splat(0);
    for k in 0..M {
        for j in 0..QUAD {
            last = p.max(last, p.and(p.right_by(tokens[k], p.splat(8 * j as u32)), p.splat(255)));
        }
    }
    p.largest(last)
}

/// Tokens as numbers.
#[inline(always)]
fn numbers<P: CodeVectors<M>, const M: usize>(p: P, tokens: &[P::V; M], to: &mut [u32; GROUP]) {
    let mut lanes = [0; LANES];
    for k in 0..M {
        p.store(tokens[k], &mut lanes[k * (LANES / M)..]);
    }
    let bytes = lanes.map(u32::to_le_bytes);
    for (number, byte) in to.iter_mut().zip(bytes.as_flattened()) {
        *number = u32::from(*byte);
    }
}

/// A tile, room for its tail, and where its codes go as signed numbers, or as they are where tokens are numbers: whole
/// groups.
pub type Job<'a, N> = (Classed<'a>, &'a mut Tail, &'a mut [N]);

/// Codes of a tile on their way.
struct Decoding<'a, P: CodeVectors<M>, N, const M: usize> {
    course: Course<'a, P, M>,
    codes: &'a mut [[N; GROUP]],
}

impl<'a, P: CodeVectors<M>, N: Word, const M: usize> Decoding<'a, P, N, M> {
    #[inline(always)]
    fn begin(p: P, (tile, tail, codes): Job<'a, N>) -> Self {
        Decoding { course: Course::begin(p, tile, tail), codes: codes.as_chunks_mut().0 }
    }

    /// Puts the codes of the next group to their places; whether all fit.
    #[inline(always)]
    fn put(&mut self, tokens: &[P::V; M]) -> Result<bool> {
        let (p, course) = (self.course.p, &mut self.course);
        let (out, shift) = (&mut self.codes[course.g], course.tile.shift(course.g));
        let direct = course.tile.head.predictor == Predictor::Symbols;
        let is_plain = direct || are_codes(p, tokens);
        if let Some(out) = N::short_mut(out) {
            if is_plain && shift == 0 {
                let (ones, halves) = (p.splat(0x0101_0101), p.splat(0x7F7F_7F7F));
                for k in 0..M {
                    // Of each byte the bits above the lowest one, turned if that is set: no byte takes from another.
                    let sign = p.and(tokens[k], ones);
                    let turn = p.sub(p.left::<8>(sign), sign);
                    let half = p.and(p.right::<1>(tokens[k]), halves);
                    p.unpack_short(p.xor(half, turn), &mut out[k * GROUP / M..(k + 1) * GROUP / M]);
                }
                course.g += 1;
                return Ok(true);
            }
            if last_token(p, tokens) > LAST_SHORT {
                return Ok(false);
            }
        }
        let (mut low, mut high) = ([0; GROUP], [0; GROUP]);
        match N::BITS {
            _ if is_plain => numbers(p, tokens, &mut low),
            64 => course.raw::<true>(tokens, &mut low, &mut high)?,
            _ => course.raw::<false>(tokens, &mut low, &mut high)?,
        }
        if shift > 0 {
            let there = course.there();
            match N::BITS {
                64 => course.bits.append::<P, M, true>(p, shift, there, [&mut low, &mut high]),
                _ => course.bits.append::<P, M, false>(p, shift, there, [&mut low, &mut high]),
            }
        }
        let mut any = 0;
        for i in 0..GROUP {
            any |= low[i];
            let high = if N::BITS == 64 { u64::from(high[i]) << 32 } else { 0 };
            let code = N::from_u64(u64::from(low[i]) | high);
            out[i] = if direct { code } else { code.unzigzag() };
        }
        course.g += 1;
        Ok(N::BITS > 16 || any >> 16 == 0)
    }

    /// All that is left; whether all fit.
    #[inline(always)]
    fn finish(mut self) -> Result<bool> {
        while let Some(slots) = self.course.next(self.codes)? {
            let tokens = tokens_of_one(&mut self.course, slots)?;
            if !self.put(&tokens)? {
                return Ok(false);
            }
        }
        self.course.end()?;
        Ok(true)
    }

    /// A group of this one and of another at once, if both have a whole one; whether to go on so.
    #[inline(always)]
    fn both(&mut self, other: &mut Self, done: &mut [Option<Result<bool>>; 2]) -> bool {
        // What is wrong is told by `finish`.
        let (Ok(Some(a)), Ok(Some(b))) = (self.course.next(self.codes), other.course.next(other.codes)) else {
            return false;
        };
        if self.course.there().min(other.course.there()) < GROUP {
            return false;
        }
        let two = &mut [&mut self.course, &mut other.course];
        let Ok([of_self, of_other]) = tokens::<P, M, 2, true>(two, [a, b], GROUP) else { return false };
        for (done, put) in done.iter_mut().zip([self.put(&of_self), other.put(&of_other)]) {
            if !matches!(put, Ok(true)) {
                *done = Some(put);
            }
        }
        done.iter().all(Option::is_none)
    }
}

/// Decodes the codes of a tile; whether all fit.
pub struct One<'a, N>(pub Job<'a, N>);

impl<N: Word> Task for One<'_, N> {
    type Done = Result<bool>;

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, p: P) -> Result<bool> {
        Decoding::<P, N, M>::begin(p, self.0).finish()
    }
}

/// Decodes those of two tiles meanwhile.
pub struct Two<'a>(pub [Job<'a, u16>; 2]);

impl Task for Two<'_> {
    type Done = [Result<bool>; 2];

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, p: P) -> [Result<bool>; 2] {
        let [first, second] = self.0;
        let (mut first, mut second) = (Decoding::<P, u16, M>::begin(p, first), Decoding::begin(p, second));
        let mut done = [None, None];
        while first.both(&mut second, &mut done) {}
        let [of_first, of_second] = done;
        // In closures vectors would be those of no level.
        let of_first = match of_first {
            Some(done) => done,
            None => first.finish(),
        };
        let of_second = match of_second {
            Some(done) => done,
            None => second.finish(),
        };
        [of_first, of_second]
    }
}

impl<'a> Classed<'a> {
    /// The table of group `g`; nothing if its codes are 0.
    #[inline(always)]
    pub fn slots(&self, g: usize) -> Option<&'a Slots> {
        match usize::from(self.classes[g]) {
            0 => None,
            OWN if self.head.has_table => Some(self.own),
            class => Some(&TOKEN_SLOTS[table_of(class)]),
        }
    }

    /// Low bits of its codes.
    #[inline(always)]
    pub fn shift(&self, g: usize) -> u32 {
        shift_of(self.classes[g].into(), self.head.low)
    }

    /// Whether codes may be short: those of 16 bits have room for low bits, too, behind a number of 16 bits.
    pub fn may_be_short(&self) -> bool {
        (0..self.wanted).all(|g| self.shift(g) < 16)
    }
}
