//! What is asked of a whole array before it is encoded, by threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::threads::{COMPRESSED_PER_THREAD, tasks};
use crate::host::{fpu, helpers};
use crate::missing::MAX_MISSING;
use crate::missing::Missing;
use crate::params::Params;
use crate::primitives::range;

/// What is said of an array piece by piece, each thread taking some of them; nothing of it depends on their order.
pub fn of_pieces<T: Clone + Send + Sync>(
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
    helpers::run(tasks, &|| {
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
