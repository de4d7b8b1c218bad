//! Differences along axes of a box of integers, and their inverse, sums: the Lorenzo predictor of any subset of axes.
//! All arithmetic is modulo 2^BITS, so that nothing is ever lost.
//!
//! A box has lengths [x, y, z]; x runs fastest. Its differences along a set of axes leave those elements alone whose
//! coordinates along all axes of the set are 0. Of these, the face, differences along the other axes are taken.

use crate::simd::word::Word;

/// The axes x, y and z; a set of axes has bit a for axis a.
pub const AXES: usize = 3;

/// Replaces the words of a box by their differences along a set of axes; the empty set leaves them as they are.
#[inline(always)]
pub fn forward<W: Word>(set: u8, lens: [usize; AXES], words: &mut [W]) {
    if set == 0 {
        return;
    }
    for axis in axes(set) {
        differences(axis, lens, words);
    }
    for axis in axes(!set) {
        on_face(set, axis, lens, words, true);
    }
}

/// The inverse of [`forward`].
#[inline(always)]
pub fn inverse<W: Word>(set: u8, lens: [usize; AXES], words: &mut [W]) {
    if set == 0 {
        return;
    }
    for axis in axes(!set) {
        on_face(set, axis, lens, words, false);
    }
    for axis in axes(set).rev() {
        sums(axis, lens, words);
    }
}

fn axes(set: u8) -> impl DoubleEndedIterator<Item = usize> {
    (0..AXES).filter(move |axis| set >> axis & 1 == 1)
}

fn strides(lens: [usize; AXES]) -> [usize; AXES] {
    [1, lens[0], lens[0] * lens[1]]
}

/// Takes from each word the one before it along `axis`.
#[inline(always)]
fn differences<W: Word>(axis: usize, lens: [usize; AXES], words: &mut [W]) {
    let (stride, len) = (strides(lens)[axis], lens[axis]);
    for block in words.chunks_exact_mut(stride * len) {
        if stride == 1 {
            let mut before = W::ZERO;
            for w in block {
                (*w, before) = (w.sub(before), *w);
            }
            continue;
        }
        for k in (1..len).rev() {
            let (before, row) = block[(k - 1) * stride..(k + 1) * stride].split_at_mut(stride);
            row.iter_mut().zip(before).for_each(|(w, b)| *w = w.sub(*b));
        }
    }
}

/// Adds to each word the sum of those before it along `axis`.
#[inline(always)]
fn sums<W: Word>(axis: usize, lens: [usize; AXES], words: &mut [W]) {
    let (stride, len) = (strides(lens)[axis], lens[axis]);
    for block in words.chunks_exact_mut(stride * len) {
        if stride == 1 {
            let mut sum = W::ZERO;
            for w in block {
                sum = sum.add(*w);
                *w = sum;
            }
            continue;
        }
        for k in 1..len {
            let (before, row) = block[(k - 1) * stride..(k + 1) * stride].split_at_mut(stride);
            row.iter_mut().zip(before).for_each(|(w, b)| *w = w.add(*b));
        }
    }
}

/// Differences, or sums, along an axis that is not in `set`, of the elements whose coordinates along the axes in it are
/// 0.
#[inline(always)]
fn on_face<W: Word>(set: u8, axis: usize, lens: [usize; AXES], words: &mut [W], differences: bool) {
    let stride = strides(lens);
    let mut face = lens;
    axes(set).for_each(|a| face[a] = 1);
    let (len, other) = (std::mem::replace(&mut face[axis], 1), stride[axis]);
    for z in 0..face[2] {
        for y in 0..face[1] {
            for x in 0..face[0] {
                let start = x * stride[0] + y * stride[1] + z * stride[2];
                let mut before = W::ZERO;
                for at in (0..len).map(|k| start + k * other) {
                    let w = words[at];
                    words[at] = if differences { w.sub(before) } else { w.add(before) };
                    before = if differences { w } else { words[at] };
                }
            }
        }
    }
}
