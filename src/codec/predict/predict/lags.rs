//! Words that are near those at a distance, which each segment of a tile names: periods, repeated rows, mirrored
//! planes.

// Iterators and closures may stay calls, which code without a level's instructions then makes.
#![allow(clippy::needless_range_loop)]

use super::axes;
use crate::codec::interp::reader::{take, take16};
use crate::codec::predict::format::TILE_LOG2;
use crate::codec::predict::rules::{
    ASKED, ASKED_CHANGE, ASKED_WORDS, CHANGE_COST, ENTERED, HASH_LOG2, MOST_LEADING, PROBED_EVERY,
};
use crate::error::{Result, fail};
use crate::host::memory::boxed;
use crate::primitives::lorenzo::AXES;
use crate::simd::Task;
use crate::simd::lanes::Lanes;
use crate::simd::word::Word;

/// Words of a segment, the last of which may be shorter.
pub const SEGMENT: usize = 16;
/// Segments of a tile, at most.
pub const SEGMENTS: usize = (1 << TILE_LOG2) / SEGMENT;
/// Distances of segments: 0 for none, 1, or from `SEGMENT` on up to where the segment starts.
pub type Lags = [u16; SEGMENTS];

/// The words of a segment that are asked, where few segments are.
const PROBED: [usize; ASKED_WORDS] = [0, 1, 2, 3, 8, 9, 10, 11];

/// Where pairs of words with these leading bits were seen last.
pub struct Seen(Box<[u16; 1 << HASH_LOG2]>);

impl Seen {
    /// Nothing yet.
    pub fn new() -> Result<Seen> {
        Ok(Seen(boxed(0)?))
    }
}

/// Where words hash that are followed by others: by the leading bits of both, so few that words which are near each
/// other share them.
#[inline(always)]
fn hash<W: Word>(word: W, next: W) -> u16 {
    let leading = match W::BITS {
        64 => MOST_LEADING,
        32 => 12,
        bits => bits.min(10),
    };
    let shift = W::BITS - leading;
    let both = (word >> shift).to_u64() << MOST_LEADING | (next >> shift).to_u64();
    (both.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - HASH_LOG2)) as u16
}

/// Where word i hashes; the last one is followed by itself.
#[inline(always)]
fn hash_of<W: Word>(words: &[W], i: usize) -> u16 {
    hash(words[i], words[(i + 1).min(words.len() - 1)])
}

/// Where the words of the segment from `from` on hash.
#[inline(always)]
fn hashes<W: Word>(words: &[W], from: usize) -> [u16; SEGMENT] {
    let mut hashes = [0; SEGMENT];
    if let Some(words) = words[from..].first_chunk::<{ SEGMENT + 1 }>() {
        for i in 0..SEGMENT {
            hashes[i] = hash(words[i], words[i + 1]);
        }
        return hashes;
    }
    for i in 0..SEGMENT.min(words.len() - from) {
        hashes[i] = hash_of(words, from + i);
    }
    hashes
}

/// The word `lag` before word `i`.
#[inline(always)]
fn before<W: Word>(words: &[W], i: usize, lag: usize) -> W {
    if lag == 0 || lag > i { W::ZERO } else { words[i - lag] }
}

/// Bits that the differences of a segment take.
#[inline(always)]
fn bits<W: Word>(words: &[W], from: usize, to: usize, lag: usize) -> u32 {
    match (words[from..to].first_chunk(), lag) {
        (Some(own), 0) => widths(own, &[W::ZERO; SEGMENT]),
        (Some(own), _) if lag <= from => {
            widths(own, words[from - lag..].first_chunk().expect("a segment has as many words"))
        }
        _ => (from..to).map(|i| words[i].sub(before(words, i, lag)).magnitude().width()).sum(),
    }
}

/// Bits that the differences of words take from others.
#[inline(always)]
fn widths<W: Word>(words: &[W; SEGMENT], others: &[W; SEGMENT]) -> u32 {
    let mut bits = 0;
    for i in 0..SEGMENT {
        bits += words[i].sub(others[i]).magnitude().width();
    }
    bits
}

/// The distance, not below a segment, at which the like of word i of the segment from `from` on has been.
#[inline(always)]
fn probe(hash: u16, from: usize, i: usize, seen: &Seen) -> Option<usize> {
    // Positions count from 1.
    let at = usize::from(seen.0[usize::from(hash)]);
    let lag = (i + 1).wrapping_sub(at);
    (at > 0 && (SEGMENT..=from).contains(&lag)).then_some(lag)
}

/// Enters that a word is word i.
#[inline(always)]
fn enter(hash: u16, i: usize, seen: &mut Seen) {
    seen.0[usize::from(hash)] = i as u16 + 1;
}

/// Bits of some segments' differences at distances, and of those along a set of axes.
pub struct Ask<'a, W> {
    pub words: &'a [W],
    pub set: u8,
    pub lens: [usize; AXES],
    pub seen: &'a mut Seen,
}

impl<W: Word> Task for Ask<'_, W> {
    type Done = [u32; 2];

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> [u32; 2] {
        let Ask { words, set, lens, seen } = self;
        seen.0.fill(0);
        let (mut along, mut far, mut last) = (0, 0, 1);
        let mut differences = [W::ZERO; SEGMENT];
        for (s, from) in (0..words.len() / SEGMENT).map(|s| (s, s * SEGMENT)) {
            let to = from + SEGMENT;
            if s % ASKED == ASKED - 1 {
                axes::difference(set, lens, words, from, &mut differences);
                along += differences.iter().map(|d| d.magnitude().width()).sum::<u32>();
                let mut candidates = [last; 3 + PROBED.len()];
                (candidates[1], candidates[2]) = (0, 1);
                for (candidate, i) in candidates[3..].iter_mut().zip(PROBED) {
                    *candidate = probe(hash_of(words, from + i), from, from + i, seen).unwrap_or(last);
                }
                let mut best = (u32::MAX, last);
                for (k, lag) in candidates.into_iter().enumerate() {
                    if k == 0 || lag != last {
                        let change = if k == 0 { 0 } else { ASKED_CHANGE };
                        best = best.min((bits(words, from, to, lag) + change, lag));
                    }
                }
                far += best.0;
                last = best.1;
            }
            for i in (from..to).step_by(ENTERED) {
                enter(hash_of(words, i), i, seen);
            }
        }
        [far, along]
    }
}

/// Chooses distances; whether any is worth more than the word before.
pub struct Choose<'a, W> {
    pub words: &'a [W],
    pub seen: &'a mut Seen,
    pub lags: &'a mut Lags,
}

impl<W: Word> Task for Choose<'_, W> {
    type Done = bool;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> bool {
        let Choose { words, seen, lags } = self;
        seen.0.fill(0);
        let (mut last, mut any) = (1, false);
        for (s, from) in (0..words.len()).step_by(SEGMENT).enumerate() {
            let (to, hashes) = ((from + SEGMENT).min(words.len()), hashes(words, from));
            let mut best = (bits(words, from, to, last), last);
            let mut candidates = [1, 0, last, last, last, last];
            for i in (0..to - from).step_by(PROBED_EVERY) {
                candidates[2 + i / PROBED_EVERY] = probe(hashes[i], from, from + i, seen).unwrap_or(last);
            }
            for lag in candidates {
                if lag != best.1 && lag != last {
                    best = best.min((bits(words, from, to, lag) + CHANGE_COST, lag));
                }
            }
            last = best.1;
            any |= last > 1;
            lags[s] = last as u16;
            for i in 0..to - from {
                enter(hashes[i], from + i, seen);
            }
        }
        any
    }
}

/// The differences of words.
pub struct Forward<'a, W> {
    pub words: &'a [W],
    pub lags: &'a Lags,
    pub differences: &'a mut [W],
}

impl<W: Word> Task for Forward<'_, W> {
    type Done = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let Forward { words, lags, differences } = self;
        for (s, differences) in differences.chunks_mut(SEGMENT).enumerate() {
            let (from, lag) = (s * SEGMENT, usize::from(lags[s]));
            let own = &words[from..from + differences.len()];
            if lag == 0 {
                differences.copy_from_slice(own);
            } else if lag <= from {
                let others = &words[from - lag..];
                for i in 0..own.len() {
                    differences[i] = own[i].sub(others[i]);
                }
            } else {
                for i in 0..own.len() {
                    differences[i] = own[i].sub(before(words, from + i, lag));
                }
            }
        }
    }
}

/// The inverse of [`Forward`].
pub fn inverse<W: Word>(lags: &Lags, words: &mut [W]) {
    for from in (0..words.len()).step_by(SEGMENT) {
        let (done, rest) = words.split_at_mut(from);
        let len = SEGMENT.min(rest.len());
        let segment = &mut rest[..len];
        match usize::from(lags[from / SEGMENT]) {
            0 => {}
            1 => {
                let mut sum = done.last().copied().unwrap_or(W::ZERO);
                for w in segment {
                    sum = sum.add(*w);
                    *w = sum;
                }
            }
            lag => segment.iter_mut().zip(&done[from - lag..]).for_each(|(w, b)| *w = w.add(*b)),
        }
    }
}

/// Writes which segments have another distance than the one before, and these.
pub fn write(n: usize, lags: &Lags, out: &mut Vec<u8>) {
    let lags = &lags[..n.div_ceil(SEGMENT)];
    let changed = |s: usize| lags[s] != if s == 0 { 1 } else { lags[s - 1] };
    for first in (0..lags.len()).step_by(16) {
        let mask = (first..lags.len().min(first + 16)).fold(0u16, |m, s| m | u16::from(changed(s)) << (s - first));
        out.extend(mask.to_le_bytes());
    }
    (0..lags.len()).filter(|s| changed(*s)).for_each(|s| out.extend(lags[s].to_le_bytes()));
}

/// Bits that `write` adds.
pub fn cost(n: usize, lags: &Lags) -> u64 {
    let lags = &lags[..n.div_ceil(SEGMENT)];
    let changes = (0..lags.len()).filter(|s| lags[*s] != if *s == 0 { 1 } else { lags[s - 1] }).count();
    16 * (lags.len().div_ceil(16) + changes) as u64
}

/// Reads what `write` wrote for `n` words.
pub fn read(rest: &mut &[u8], n: usize, lags: &mut Lags) -> Result<()> {
    let segments = n.div_ceil(SEGMENT);
    let mut masks = *rest;
    take(rest, segments.div_ceil(16) * 2)?;
    let (mut lag, mut mask) = (1, 0);
    for (s, own) in lags[..segments].iter_mut().enumerate() {
        if s % 16 == 0 {
            mask = take16(&mut masks)?;
        }
        if mask >> (s % 16) & 1 == 1 {
            lag = take16(rest)?;
            if lag > 1 && !(SEGMENT..=s * SEGMENT).contains(&lag.into()) {
                return fail!(Corrupt, "segment {s} of a tile is predicted by words {lag} before it");
            }
        }
        *own = lag;
    }
    if !segments.is_multiple_of(16) && mask >> (segments % 16) != 0 {
        return fail!(Corrupt, "padding bits are not zero");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::lanes::Portable;

    #[test]
    fn repeats_are_found_and_come_back() {
        let word = |i: usize| (i as u64 % 371).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i as u64 & 3;
        let words: Vec<u64> = (0..3000).map(word).collect();
        let (mut seen, mut lags) = (Seen::new().unwrap(), [0; SEGMENTS]);
        assert!(Choose { words: &words, seen: &mut seen, lags: &mut lags }.run(Portable));
        assert!(lags[40..188].iter().all(|lag| lag % 371 == 0 && *lag > 0), "{:?}", &lags[..188]);
        let mut differences = vec![0; words.len()];
        Forward { words: &words, lags: &lags, differences: &mut differences }.run(Portable);
        assert!(differences[640..].iter().all(|d| d.magnitude() < 4));
        let mut bytes = Vec::new();
        write(words.len(), &lags, &mut bytes);
        assert_eq!(8 * bytes.len() as u64, cost(words.len(), &lags));
        let mut again = [0; SEGMENTS];
        let rest = &mut &bytes[..];
        read(rest, words.len(), &mut again).unwrap();
        assert!(rest.is_empty() && again[..188] == lags[..188]);
        inverse(&again, &mut differences);
        assert_eq!(differences, words);
    }

    #[test]
    fn distances_behind_the_start_are_refused() {
        let mut lags = [0; SEGMENTS];
        for (lag, legal) in [(0u16, true), (1, true), (2, false), (15, false), (16, true), (17, false)] {
            let bytes = [[2, 0], lag.to_le_bytes()].concat();
            assert_eq!(read(&mut &bytes[..], 32, &mut lags).is_ok(), legal, "{lag}");
        }
        assert!(read(&mut &[4, 0, 0, 0][..], 32, &mut lags).is_err());
        assert!(read(&mut &[0][..], 32, &mut lags).is_err());
    }
}
