//! The toy codec on GPUs: two kernels in a row to compress, with scratch memory that depends on the array; one to
//! restore, ranges and boxes too.

use super::{ID, MAX_RANK, Toy, step_for};
use crate::codec::shared::gpu_codec::GpuCodec;
use crate::container::{Header, Layout, Wanted};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::params::{Bound, Params};
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::Session;
use crate::runtime::cuda::launch::Batch;
use crate::runtime::cuda::module::{Kernel, Loaded, need};

/// In scratch memory a tile has an entry of so many bytes, a word for each element, and its body.
const TOY_ENTRY_BYTES: usize = 16;

/// As `toy::CompressArgs` of toy.cu.
#[repr(C)]
struct CompressArgs {
    batch: Batch,
    lens: [u64; MAX_RANK],
    bound: f64,
    step: f64,
    scratch: *mut u8,
    scratch_of_array: u64,
    scratch_of_tile: u64,
    rank: u32,
    dtype: u32,
    mode: u32,
    big_endian: u32,
}
const _: () = assert!(size_of::<CompressArgs>() == 168);

/// As `toy::DecompressArgs` of toy.cu.
#[repr(C)]
struct DecompressArgs {
    batch: Batch,
    first: u64,
    start: [u64; MAX_RANK],
    lens: [u64; MAX_RANK],
    rank: u32,
    dtype: u32,
}
const _: () = assert!(size_of::<DecompressArgs>() == 160);

#[derive(Clone, Copy)]
struct Kernels {
    list: Kernel,
    encode: Kernel,
    assemble: Kernel,
    decode: Kernel,
}

impl Kernels {
    fn load(session: &Session, dtype: DType) -> Result<Kernels> {
        static LOADED: Loaded<Kernels> = Loaded::none();
        LOADED.get(session, need(ID, dtype, "base")?, |module| {
            let [list, encode, assemble, decode] = [
                module.kernel("list")?,
                module.kernel("encode")?,
                module.kernel("assemble")?,
                module.kernel("decode")?,
            ];
            Ok(Kernels { list, encode, assemble, decode })
        })
    }
}

/// The first of some lengths; the rest are 0.
fn padded(lens: &[u64]) -> [u64; MAX_RANK] {
    std::array::from_fn(|k| lens.get(k).copied().unwrap_or(0))
}

fn refused(layout: &Layout) -> Option<String> {
    let missing = layout.shape.missing.len();
    (missing > 0).then(|| format!("codec toy has no kernels for {missing} missing values"))
}

impl GpuCodec for Toy {
    fn prepare(&self, session: &Session, params: &Params) -> Result<()> {
        Kernels::load(session, params.dtype).map(|_| ())
    }

    fn refuses(&self, _: &Params, layout: &Layout) -> Option<String> {
        refused(layout)
    }

    fn refuses_to_restore(&self, header: &Header, wanted: &Wanted) -> Option<String> {
        if matches!(wanted, Wanted::Grid { .. }) {
            return Some("codec toy has no kernels for grids".into());
        }
        refused(&header.layout)
    }

    unsafe fn compress(&self, arrays: &Arrays, params: &Params, layout: &Layout) -> Result<()> {
        let session = arrays.session;
        let kernels = Kernels::load(session, params.dtype)?;
        let words = layout.chunk_bytes() / params.dtype.size() * size_of::<u64>();
        let of_tile = (TOY_ENTRY_BYTES + words + layout.chunk_bytes()) as u64;
        let of_array = of_tile * layout.chunks as u64;
        let Some(scratch_bytes) = (of_array as usize).checked_mul(arrays.items().len()) else {
            return fail!(
                OutOfMemory,
                "{of_array} bytes of scratch memory for each of {} arrays",
                arrays.items().len()
            );
        };
        let scratch = session.allocate(scratch_bytes)?;
        let bound = if let Bound::Abs(bound) = params.bound { bound } else { 0.0 };
        // SAFETY: the contract of this function; the scratch memory is freed behind the kernels.
        unsafe {
            let batch = arrays.tell(kernels.list, kernels.encode, |_| 1)?;
            let args = CompressArgs {
                batch,
                lens: padded(layout.shape.dims.lens()),
                bound,
                step: step_for(bound),
                scratch: scratch.start(),
                scratch_of_array: of_array,
                scratch_of_tile: of_tile,
                rank: layout.shape.dims.rank() as u32,
                dtype: params.dtype as u32,
                mode: params.bound.mode() as u32,
                big_endian: params.big_endian.into(),
            };
            kernels.encode.launch(session, kernels.encode.blocks(batch.count.into()), &args)?;
            kernels.assemble.launch(session, kernels.assemble.blocks(batch.count.into()), &args)
        }
    }

    unsafe fn decompress(&self, streams: &Arrays, dtype: DType, wanted: &Wanted, _: Option<&Header>) -> Result<()> {
        let session = streams.session;
        let kernels = Kernels::load(session, dtype)?;
        let (first, start, lens): (u64, &[u64], &[u64]) = match wanted {
            Wanted::Chunks { .. } => return fail!(Internal, "chunks were asked of kernels"),
            Wanted::Range { first, .. } => (*first, &[], &[]),
            Wanted::Region(region) | Wanted::Grid { region, .. } => (0, region.start(), region.lens()),
        };
        let (rank, start, lens, dtype) = (lens.len() as u32, padded(start), padded(lens), dtype as u32);
        // SAFETY: the contract of this function.
        unsafe {
            let batch = streams.tell(kernels.list, kernels.decode, |_| 1)?;
            let args = DecompressArgs { batch, first, start, lens, rank, dtype };
            kernels.decode.launch(session, kernels.decode.blocks(batch.count.into()), &args)
        }
    }
}
