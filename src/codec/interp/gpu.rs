//! Codec interp on GPUs: which of `kernels/interp` does what is asked for, and with which arguments.

use super::Interp;
use super::format::{CODEC_INTERP, TILE_LOG2};
use crate::codec::predict::map::plan::Plan;
use crate::codec::traits::gpu::{GpuCodec, Part};
use crate::container::{Header, Layout};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::params::Params;
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::Session;
use crate::runtime::cuda::launch::*;
use crate::runtime::cuda::module::{Kernel, Loaded, need};

/// Bytes that a block shares.
const SHARED_BYTES: usize = INTERP_NUMBER_BYTES + INTERP_TOGETHER * INTERP_WARP_BYTES;

const _: () = assert!(INTERP_NUMBER_BYTES == 4 << TILE_LOG2);

/// The kernels for an element type in a context.
#[derive(Clone, Copy)]
struct Base {
    decompress: Kernel,
    list: Kernel,
}

impl Base {
    fn load(session: &Session, dtype: DType) -> Result<Base> {
        static LOADED: Loaded<Base> = Loaded::none();
        LOADED.get(session, need(CODEC_INTERP, dtype, "base")?, |module| {
            let decompress = module.kernel_sharing("decompress", SHARED_BYTES)?;
            Ok(Base { decompress, list: module.kernel("list")? })
        })
    }
}

/// Tiles of an array of which `count` elements are known, at least.
fn tiles(count: u64) -> u64 {
    count.div_ceil(1 << TILE_LOG2).max(1)
}

impl GpuCodec for Interp {
    fn prepare(&self, session: &Session, params: &Params) -> Result<()> {
        Base::load(session, params.dtype).map(|_| ())
    }

    fn refuses(&self, _: &Params, _: &Layout) -> Option<String> {
        Some("codec interp has no kernels that compress".into())
    }

    fn refuses_to_restore(&self, header: &Header, _: &Part) -> Option<String> {
        Plan::for_decoding(header).err().map(|e| e.message)
    }

    unsafe fn compress(&self, _: &Arrays, _: &Params, _: &Layout) -> Result<()> {
        fail!(Internal, "codec interp is to compress on a GPU")
    }

    unsafe fn decompress(&self, streams: &Arrays, dtype: DType, part: &Part) -> Result<()> {
        let session = streams.session;
        let Base { decompress, list } = Base::load(session, dtype)?;
        let (first, start, lens) = part.numbers();
        // SAFETY: the contract of this function; slots are zeroed before the kernel uses them, and the scratch memory
        // is freed behind it.
        unsafe {
            let batch = streams.tell(list, decompress, |item| tiles(item.count))?;
            let common = DecompressArgs { batch, first, dtype: dtype as u32, zero: 0 };
            batch.clear_slots(session)?;
            let blocks = decompress.blocks(batch.work_slots);
            // Codes have at least 32 bits.
            let word = dtype.size().max(4);
            let scratch = session.allocate((blocks as usize * INTERP_TOGETHER * word) << TILE_LOG2)?;
            let boxed = part.is_box().into();
            let args = InterpDecompressArgs { common, start, lens, scratch: scratch.start(), boxed, zero: 0 };
            decompress.launch(session, blocks, &args)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::predict::predict::interpolation;

    /// Errors that kernels keep of the finest level of a tile with these sides: those of classes Y, Z, XZ and YZ.
    /// Shorter sides have no more.
    fn errors([x, y, z]: [usize; 3]) -> usize {
        let coarse = |n: usize| if n == 1 { 1 } else { n / 2 + 1 };
        let [[cx, fx], [cy, fy], [cz, fz]] = [x, y, z].map(|n| [coarse(n), n - coarse(n)]);
        cx * fy * cz + cx * cy * fz + fx * cy * fz + cx * fy * fz
    }

    #[test]
    fn errors_of_nodes_have_room() {
        let mut most = 0;
        for [x, y, z] in (0..15usize.pow(3)).map(|n| [n % 15, n / 15 % 15, n / 225]) {
            let sides = [x, y, z].map(|side| 1 << side);
            if x + y + z > TILE_LOG2 as usize || !interpolation::is_for(sides) {
                continue;
            }
            // Of tiles in two axes y takes the place of z.
            most = most.max(errors(if z == 0 { [sides[0], 1, sides[1]] } else { sides }));
        }
        assert!(most > 8000 && most <= INTERP_ERRORS, "{most}");
    }
}
