//! What must hold for any bytes: one module a target. A target panics when it does not.

pub mod arrays;
pub mod boxes;
pub mod capi;
pub mod codec;
pub mod filter;
pub mod header;
pub mod plane;
pub mod quest;
pub mod roundtrip;
pub mod sentinel;
pub mod stream;

/// Takes an input of the fuzzer, and panics where something does not hold.
pub type Target = fn(&[u8]);

/// Every target by its name.
pub const ALL: [(&str, Target); 14] = [
    ("decode", stream::decode),
    ("sealed", stream::sealed),
    ("header", header::run),
    ("plane", plane::run),
    ("sleek", codec::sleek),
    ("interp", codec::interp),
    ("others", codec::others),
    ("roundtrip", roundtrip::run),
    ("boxes", boxes::run),
    ("sentinel", sentinel::run),
    ("quest", quest::run),
    ("arrays", arrays::run),
    ("filter", filter::run),
    ("capi", capi::run),
];

/// Targets that take streams; the others take what arrays and requests are made of.
pub const OF_STREAMS: [&str; 5] = ["decode", "sealed", "header", "filter", "capi"];

/// Targets that encode arrays, and count what came of them.
pub const OF_ARRAYS: [&str; 6] = ["sleek", "interp", "others", "roundtrip", "boxes", "sentinel"];

use std::cell::Cell;

use sleek::{Bound, DType, Mode, Params, Profile};

use crate::vectors;

/// What this thread's executions came to.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    /// Requests that were refused, so that no array came of them.
    pub refused: u64,
    /// Arrays that were encoded, decoded and judged, by their bytes: below 256, 2048, 16384, and longer ones.
    pub coded: [u64; 4],
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { refused: 0, coded: [0; 4] }) };
}

/// Counts a request that was refused.
fn refused() {
    COUNTS.set(Counts { refused: COUNTS.get().refused + 1, ..COUNTS.get() });
}

/// Counts an array that was encoded, decoded and judged.
fn coded(bytes: usize) {
    let mut counts = COUNTS.get();
    counts.coded[[256, 2048, 16384].iter().filter(|end| bytes >= **end).count()] += 1;
    COUNTS.set(counts);
}

/// What has been counted since the last call.
pub fn take_counts() -> Counts {
    COUNTS.take()
}

/// Takes values off the front of the fuzzer's bytes; zeros when there are no more.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_at(N.min(self.0.len()));
        self.0 = rest;
        let mut all = [0; N];
        all[..head.len()].copy_from_slice(head);
        all
    }

    pub fn u8(&mut self) -> u8 {
        self.bytes::<1>()[0]
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// Any f64, or often one of the size that bounds have.
    pub fn f64(&mut self) -> f64 {
        match self.u8() {
            0..=63 => f64::from_bits(self.u64()),
            n => (1.0 + f64::from(self.u32() as u16)) * vectors::exact::power(i32::from(n) - 160),
        }
    }

    pub fn params(&mut self) -> Params {
        let [dtype, mode, flags, threads] = self.bytes();
        let mode = [Mode::Lossless, Mode::Abs, Mode::Noa, Mode::Rel][usize::from(mode % 4)];
        let bound = Bound::new(mode, self.f64()).unwrap();
        let mut params = Params::new(DType::ALL[usize::from(dtype) % DType::ALL.len()]);
        params.profile =
            [Profile::Adaptive, Profile::Fast, Profile::Small, Profile::Small][usize::from(flags & 1 | flags >> 3 & 2)];
        params.big_endian = flags & 2 != 0;
        params.bound = bound.of_range((flags & 4 != 0).then(|| self.f64()));
        params.missing = sleek::MissingValues::number((flags & 8 != 0).then(|| self.f64()));
        params.threads = u32::from(threads % 4);
        if flags & 16 != 0 {
            // Where others have noa and rel, zfp has a rate and a precision.
            params.codec = sleek::codec::zfp::format::CODEC_ZFP;
            params.bound = match params.bound {
                Bound::Noa { .. } => Bound::Rate(f64::from(threads) / 2.0),
                Bound::Rel(_) => Bound::Precision(u32::from(threads) / 2),
                bound => bound,
            };
        }
        params
    }
}
