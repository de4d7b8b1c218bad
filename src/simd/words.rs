//! Vectors of words of 16, 32 and 64 bits, as each level has them: loops over words have one source for all widths.

use super::word::Word;

/// The vectors of a level for words of one width, which lie one behind the other.
pub trait WordVectors<W: Word>: Copy {
    /// Words of a vector.
    const N: usize;
    /// A vector.
    type V: Copy;

    /// The first words of a slice.
    fn load(self, from: &[W]) -> Self::V;
    /// Stores them at the start of a slice.
    fn store(self, v: Self::V, to: &mut [W]);
    /// The same word everywhere.
    fn splat(self, word: W) -> Self::V;
    /// Sum modulo 2^BITS.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Difference modulo 2^BITS.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// Bits that one of them has.
    fn or(self, a: Self::V, b: Self::V) -> Self::V;
    /// 0, 1, 2, 3, … to 0, −1, 1, −2, ….
    fn unzigzag(self, v: Self::V) -> Self::V;
    /// For each word the sum of those up to it and of `carry`, which becomes the sum of all, in every place.
    fn running_sums(self, v: Self::V, carry: &mut Self::V) -> Self::V;
    /// All bits that any of the words has.
    fn any(self, v: Self::V) -> W;
    /// Whether any word has its top bit.
    fn any_negative(self, v: Self::V) -> bool;
}

/// The width of the largest word.
#[inline(always)]
pub fn width<W: Word, P: WordVectors<W>, const S: usize>(p: P, words: &[W; S]) -> u32 {
    const { assert!(S.is_multiple_of(2 * P::N)) };
    let v = |i: usize| p.load(&words[i * P::N..][..P::N]);
    let mut all = [v(0), v(1)];
    let mut i = 2;
    while i < S / P::N {
        all = [p.or(all[0], v(i)), p.or(all[1], v(i + 1))];
        i += 2;
    }
    p.any(p.or(all[0], all[1])).width()
}

/// Undoes zigzag and differences: replaces every code by the sum of `start` and what the codes up to it stand for;
/// `twice`, of these sums (from 0 on) once more. Whether no sum takes more than two bits less than a word, if
/// `WATCHED`.
#[inline(always)]
pub fn undo_differences<W: Word, P: WordVectors<W>, const WATCHED: bool>(
    p: P,
    start: W,
    twice: bool,
    codes: &mut [W],
) -> bool {
    assert!(codes.len().is_multiple_of(P::N));
    let (zero, limit) = (p.splat(W::ZERO), p.splat(W::ONE << (W::BITS - 2)));
    let (mut slope, mut carry, mut beyond) = (zero, p.splat(start), zero);
    let mut at = 0;
    while at < codes.len() {
        let mut v = p.unzigzag(p.load(&codes[at..]));
        if twice {
            v = p.running_sums(v, &mut slope);
            if WATCHED {
                beyond = p.or(beyond, p.add(v, limit));
            }
        }
        v = p.running_sums(v, &mut carry);
        if WATCHED {
            beyond = p.or(beyond, p.add(v, limit));
        }
        p.store(v, &mut codes[at..]);
        at += P::N;
    }
    !WATCHED || !p.any_negative(beyond)
}

/// For each number the sum of `start` and those before it.
#[inline(always)]
pub fn sums_before<W: Word, P: WordVectors<W>, const S: usize>(p: P, numbers: &[W; S], start: W) -> [W; S] {
    const { assert!(S.is_multiple_of(P::N)) };
    let (mut sums, mut carry) = ([W::ZERO; S], p.splat(start));
    for at in (0..S).step_by(P::N) {
        let v = p.load(&numbers[at..]);
        p.store(p.sub(p.running_sums(v, &mut carry), v), &mut sums[at..]);
    }
    sums
}
