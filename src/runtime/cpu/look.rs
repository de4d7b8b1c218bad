//! What is said of an array before it is encoded.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::threads::{COMPRESSED_PER_THREAD, tasks};
use crate::container::Missing;
use crate::container::missing::MAX_MISSING;
use crate::exec::Isa;
use crate::host::{fpu, pool};
use crate::params::Params;
use crate::primitives::marks::{self, Look};
use crate::primitives::range::{self, Watch};

/// What is said of an array piece by piece, each thread taking some of them; nothing of it depends on their order.
fn of_pieces<T: Clone + Send + Sync>(
    threads: u32,
    src: &[u8],
    nothing: T,
    add: impl Fn(&mut T, &[u8]) + Sync,
    join: impl Fn(&mut T, &T) + Sync,
) -> T {
    const PIECE: usize = 128 << 10;
    // It takes a tenth of the time of coding, so threads pay later.
    let tasks = tasks(threads, src.len() / 10, COMPRESSED_PER_THREAD);
    let mut all = nothing.clone();
    if tasks == 1 {
        add(&mut all, src);
        return all;
    }
    let (next, whole) = (AtomicUsize::new(0), Mutex::new(all));
    pool::run(tasks, &|| {
        let _fpu = fpu::Guard::standard();
        let mut own = nothing.clone();
        while let Some(piece) = src.chunks(PIECE).nth(next.fetch_add(1, Ordering::Relaxed)) {
            add(&mut own, piece);
        }
        join(&mut whole.lock().unwrap_or_else(|e| e.into_inner()), &own);
    });
    whole.into_inner().unwrap_or_else(|e| e.into_inner())
}

/// The value range of an array beside up to four numbers.
pub fn value_range(params: &Params, fills: &[f64], src: &[u8]) -> Option<(f64, f64)> {
    let of = |piece: &[u8]| range::value_range(params.dtype, params.big_endian, fills, piece);
    let add = |own: &mut Option<_>, piece: &[u8]| *own = range::join(*own, of(piece));
    of_pieces(params.threads, src, None, add, |whole, own| *whole = range::join(*whole, *own))
}

/// The same beside missing values.
pub fn range_without(params: &Params, missing: &Missing, src: &[u8]) -> Option<(f64, f64)> {
    let mut fills = [0.0; MAX_MISSING];
    fills.iter_mut().zip(missing.bits()).for_each(|(fill, bits)| *fill = params.dtype.number(*bits));
    value_range(params, &fills[..missing.len()], src)
}

/// Sees all of an array but the numbers `fills`.
#[inline(never)]
pub fn survey(params: &Params, fills: &[f64], src: &[u8]) -> Watch {
    let watch = Watch::new(Isa::best(), params.dtype, params.big_endian, fills);
    of_pieces(params.threads, src, watch, |own, piece| own.see_far(piece), |whole, own| whole.join(own))
}

/// What a part of an array has beside `fills`, as far as it takes to tell that the ends, which are the last two, are no
/// marks.
pub fn sample_without(params: &Params, fills: &[f64], src: &[u8]) -> Option<(f64, f64)> {
    const PART: usize = 2 << 10;
    const PARTS: usize = 128;
    let ends = [fills[fills.len() - 2], fills[fills.len() - 1]];
    let mut others = None;
    for part in src.chunks((src.len() / PARTS).next_multiple_of(PART).max(4 * PART)) {
        let part = &part[..part.len().min(PART)];
        others = range::join(others, range::value_range(params.dtype, params.big_endian, fills, part));
        if others.is_some_and(|others| marks::are_none(params.dtype, ends, others)) {
            return others;
        }
    }
    others
}

/// See [`Look::at`], of an array.
#[inline(never)]
pub fn look(params: &Params, fills: &[f64], src: &[u8]) -> Look {
    let ends = [fills[fills.len() - 2], fills[fills.len() - 1]];
    let some = sample_without(params, fills, src);
    if some.is_some_and(|some| marks::are_none(params.dtype, ends, some)) {
        return Look { others: some, repeats: [true; 2] };
    }
    let of = |piece: &[u8]| Look::counts(params.dtype, params.big_endian, ends, piece);
    let sum = |a: &mut [usize; 2], b: [usize; 2]| (0..2).for_each(|end| a[end] += b[end]);
    let counts =
        of_pieces(params.threads, src, [0; 2], |own, piece| sum(own, of(piece)), |whole, own| sum(whole, *own));
    Look { others: value_range(params, fills, src), repeats: counts.map(|count| count > 1) }
}
