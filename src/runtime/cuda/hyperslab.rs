//! The kernels of `kernels/hyperslab`: hyperslabs of an array to and from chunks, and streams side by side.

use super::driver::{Pinned, Session};
use super::launch::{Outcome, PIECE_ELEMENTS, PackArgs};
use super::module::{Kernel, Loaded, shared};
use crate::error::Result;

pub use super::launch::SlabArgs;

/// Warps of a block.
const WARPS: u64 = 8;
/// Blocks that copy one stream.
const PARTS: u32 = 8;

impl SlabArgs {
    /// For an array of `size` elements in chunks of `tile`, at most [`MAX_DIMS`](super::launch::MAX_DIMS) dimensions
    /// each.
    pub fn new(array: *mut u8, size: &[u64], tile: &[u64], pad: u64, swap: bool) -> SlabArgs {
        let dims = |of: &[u64]| std::array::from_fn(|d| of.get(d).copied().unwrap_or(1));
        let last = tile.len() - 1;
        let (rows, pieces) = (tile[..last].iter().product(), tile[last].div_ceil(PIECE_ELEMENTS));
        let (size, tile, rank, swap) = (dims(size), dims(tile), tile.len() as u32, swap.into());
        SlabArgs { array, rows, pieces, pad, size, tile, rank, swap, ..SlabArgs::ZERO }
    }

    fn turns(&self) -> u64 {
        (self.count * self.rows * self.pieces).div_ceil(WARPS)
    }
}

impl Pinned {
    /// The first `n` outcomes in it.
    pub fn outcomes(&self, n: usize) -> &[Outcome] {
        if n == 0 {
            return &[];
        }
        assert!(n * size_of::<Outcome>() <= self.bytes().len());
        // SAFETY: within the memory, whose pages are aligned; every bit pattern is an outcome.
        unsafe { std::slice::from_raw_parts(self.start().cast(), n) }
    }
}

/// The kernels in a context.
#[derive(Clone, Copy)]
pub struct Hyperslabs {
    gather: Kernel,
    scatter: Kernel,
    pack: Kernel,
}

impl Hyperslabs {
    /// Those for elements of 1, 2, 4 or 8 bytes in the session's context.
    pub fn load(session: &Session, element: usize) -> Result<Hyperslabs> {
        static LOADED: Loaded<[Hyperslabs; 4]> = Loaded::none();
        let all = LOADED.get(session, shared("hyperslab")?, |module| {
            let pack = module.kernel("pack")?;
            let [a, b, c, d] = [1, 2, 4, 8].map(|bytes| {
                let [gather, scatter] = ["gather", "scatter"].map(|role| module.kernel(&format!("{role}_{bytes}")));
                Ok(Hyperslabs { gather: gather?, scatter: scatter?, pack })
            });
            Ok([a?, b?, c?, d?])
        })?;
        Ok(all[element.trailing_zeros() as usize])
    }

    /// Enqueues copying chunks out of the array.
    ///
    /// # Safety
    /// `args.array` holds the array, `args.chunks` room for `args.count` chunks at `args.stride`, until the stream has
    /// passed.
    pub unsafe fn gather(&self, session: &Session, args: &SlabArgs) -> Result<()> {
        // SAFETY: the contract.
        unsafe { self.gather.launch(session, self.gather.blocks(args.turns()), args) }
    }

    /// Enqueues copying chunks into the array.
    ///
    /// # Safety
    /// `args.array` has room for the array, and `args.sources` lists `args.count` addresses of whole chunks or 0, until
    /// the stream has passed.
    pub unsafe fn scatter(&self, session: &Session, args: &SlabArgs) -> Result<()> {
        // SAFETY: the contract.
        unsafe { self.scatter.launch(session, self.scatter.blocks(args.turns()), args) }
    }

    /// Enqueues copying `count` streams, as long as `outcomes` say, from `streams` at every `stride` to `packed`, one
    /// behind the other, each at a multiple of 16.
    ///
    /// # Safety
    /// All of it is there until the stream has passed; `streams` and `packed` are aligned to 16 and do not overlap.
    pub unsafe fn pack(
        &self,
        session: &Session,
        streams: *const u8,
        stride: usize,
        outcomes: *const Outcome,
        packed: *mut u8,
        count: usize,
    ) -> Result<()> {
        let args = PackArgs { streams, stride: stride as u64, outcomes, packed, count: count as u32, parts: PARTS };
        // SAFETY: the contract.
        unsafe { self.pack.launch(session, self.pack.blocks(count as u64 * u64::from(PARTS)), &args) }
    }
}
