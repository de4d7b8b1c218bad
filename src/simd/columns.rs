//! Vectors of a word of each of eight rows: how far words are from what predicts them, in samples.

use super::word::Word;

/// Rows that are looked at together.
pub const ROWS: usize = 8;
/// One of so many words of a row is a sample: of row 0 the last, of each further one the fourth before that.
pub const SAMPLED: usize = 32;

/// Vectors of a level with words of one width, each of another row. Where a lane has more bits than a word, the word
/// is its upper end and zeros are below.
pub trait Columns<W: Word>: Copy {
    /// A vector.
    type V: Copy;
    /// Rows of a vector.
    const N: usize;

    /// A word of each row from row `s` on.
    fn each(self, of: &[W; ROWS], s: usize) -> Self::V;
    /// The samples among the `SAMPLED` words of each row from `at` on, of rows from `s` on: themselves, the words
    /// before them, and those before these.
    fn samples<const S: usize>(self, x: &[[W; S]; ROWS], s: usize, at: usize) -> [Self::V; 3];
    /// Sum.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Difference.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// Distance from 0 as a signed number.
    fn magnitude(self, v: Self::V) -> Self::V;
    /// Half of the distance from `top` of a word rotated left by one bit; 0 for what is 0 but for its sign.
    fn half_code(self, word: Self::V, top: Self::V) -> Self::V;
    /// The width of each word, as a number that is not shifted up.
    fn width(self, v: Self::V) -> Self::V;
    /// The sum of the numbers of each vector.
    fn sums(self, of: [Self::V; 4]) -> [u32; 4];
}

/// Totals of the widths that the samples of eight rows have as distances: to the `least` of their row; in magnitude to
/// its first word; to the word before; as second difference, or, with `tops`, of half their code in a countdown from
/// that of their row.
#[inline(always)]
pub fn totals<W: Word, P: Columns<W>, const S: usize>(
    p: P,
    x: &[[W; S]; ROWS],
    least: &[W; ROWS],
    tops: Option<&[W; ROWS]>,
) -> [u32; 4] {
    const { assert!(S.is_multiple_of(SAMPLED)) };
    let mut firsts = [W::ZERO; ROWS];
    for s in 0..ROWS {
        firsts[s] = x[s][0];
    }
    let zero = p.each(&[W::ZERO; ROWS], 0);
    let mut totals = [zero; 4];
    for s in (0..ROWS).step_by(P::N) {
        let (first, least) = (p.each(&firsts, s), p.each(least, s));
        for at in (0..S).step_by(SAMPLED) {
            let [word, before, before2] = p.samples(x, s, at);
            let step = p.sub(word, before);
            let other = match tops {
                Some(tops) => p.half_code(word, p.each(tops, s)),
                None => p.magnitude(p.sub(step, p.sub(before, before2))),
            };
            let distances = [p.sub(word, least), p.magnitude(p.sub(word, first)), p.magnitude(step), other];
            for i in 0..4 {
                totals[i] = p.add(totals[i], p.width(distances[i]));
            }
        }
    }
    p.sums(totals)
}
