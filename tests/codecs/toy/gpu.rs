//! The toy codec on GPUs: lines, one kernel each way. What has dimensions or missing values, boxes and previews are
//! left to the CPU.

use super::{ID, Toy, step_for};
use crate::codec::shared::gpu_codec::{GpuCodec, arguments};
use crate::container::{Header, Layout, Wanted};
use crate::dtype::DType;
use crate::error::Result;
use crate::params::{Bound, Params};
use crate::runtime::cuda::arrays::Arrays;
use crate::runtime::cuda::driver::Session;
use crate::runtime::cuda::launch::Batch;
use crate::runtime::cuda::module::{Kernel, Loaded, need};

/// As `toy::CompressArgs` of toy.cu.
#[repr(C)]
struct CompressArgs {
    batch: Batch,
    bound: f64,
    step: f64,
    dtype: u32,
    mode: u32,
    big_endian: u32,
    zero: u32,
}
const _: () = assert!(size_of::<CompressArgs>() == 112);

#[derive(Clone, Copy)]
struct Kernels {
    list: Kernel,
    compress: Kernel,
    decompress: Kernel,
}

impl Kernels {
    fn load(session: &Session, dtype: DType) -> Result<Kernels> {
        static LOADED: Loaded<Kernels> = Loaded::none();
        LOADED.get(session, need(ID, dtype, "base")?, |module| {
            let [list, compress, decompress] =
                [module.kernel("list")?, module.kernel("compress")?, module.kernel("decompress")?];
            Ok(Kernels { list, compress, decompress })
        })
    }
}

fn refused(layout: &Layout) -> Option<String> {
    let (rank, missing) = (layout.shape.dims.rank(), layout.shape.missing.len());
    (missing > 0 || rank > 1)
        .then(|| format!("codec toy has no kernels for {rank} dimensions with {missing} missing values"))
}

impl GpuCodec for Toy {
    fn prepare(&self, session: &Session, params: &Params) -> Result<()> {
        Kernels::load(session, params.dtype).map(|_| ())
    }

    fn refuses(&self, _: &Params, layout: &Layout) -> Option<String> {
        refused(layout)
    }

    fn refuses_to_restore(&self, header: &Header, wanted: &Wanted) -> Option<String> {
        match wanted {
            Wanted::Range { .. } => refused(&header.layout),
            _ => Some("codec toy has no kernels for boxes".into()),
        }
    }

    unsafe fn compress(&self, arrays: &Arrays, params: &Params, _: &Layout) -> Result<()> {
        let (session, kernels) = (arrays.session, Kernels::load(arrays.session, params.dtype)?);
        let bound = if let Bound::Abs(bound) = params.bound { bound } else { 0.0 };
        // SAFETY: the contract of this function.
        unsafe {
            let args = CompressArgs {
                batch: arrays.tell(kernels.list, Some(kernels.compress), |_| 1)?,
                bound,
                step: step_for(bound),
                dtype: params.dtype as u32,
                mode: params.bound.mode() as u32,
                big_endian: params.big_endian.into(),
                zero: 0,
            };
            kernels.compress.launch(session, kernels.compress.blocks(args.batch.count.into()), &args)
        }
    }

    unsafe fn decompress(&self, streams: &Arrays, dtype: DType, wanted: &Wanted, _: Option<&Header>) -> Result<()> {
        let (session, kernels) = (streams.session, Kernels::load(streams.session, dtype)?);
        // SAFETY: the contract of this function.
        unsafe {
            let batch = streams.tell(kernels.list, Some(kernels.decompress), |_| 1)?;
            let blocks = kernels.decompress.blocks(batch.count.into());
            kernels.decompress.launch(session, blocks, &arguments(batch, dtype, wanted))
        }
    }
}
