//! What codecs share: what a codec is for those who call it, and from a bound to the step and the header that keep it.

pub mod colliding;
#[allow(unsafe_code)] // what launches of kernels ask of callers
#[cfg(feature = "cuda")]
pub mod gpu_codec;
pub mod promise;
pub mod reader;

use crate::container::{Dims, Header, Index, Layout, Shape, Wanted};
use crate::dtype::DType;
use crate::error::Result;
use crate::exec::ExecOptions;
use crate::missing::Missing;
use crate::params::{Mode, Params, Profile};
use crate::primitives::range::Ends;

/// What a codec can do.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// Element types that it takes.
    pub dtypes: &'static [DType],
    /// Modes; those with a bound are for floats alone.
    pub modes: &'static [Mode],
    /// The highest rank whose dimensions it makes use of; 1 if it takes every array as a line.
    pub rank: usize,
}

/// A method of compression. It owns the chunk bodies and a section of the header; everything else is the container's.
pub trait Codec: Sync {
    /// The id in the stream header; never 0, and never one that was used before.
    fn id(&self) -> u8;
    /// The name, as the command shows it and requests name it.
    fn name(&self) -> &'static str;
    /// The profiles that it serves; requests with one of them that name no codec are its own.
    fn profiles(&self) -> &'static [Profile] {
        &[]
    }
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
    /// How it cuts an array of `shape`, which is a line of 16 KiB runs with the dimensions and missing values asked
    /// for.
    fn shape(&self, _: &Params, shape: Shape) -> Result<Shape> {
        Ok(shape)
    }
    /// Its side for the CPU.
    fn cpu(&self) -> &dyn CpuCodec;
    /// Its side for GPUs, if it has one; without one the CPU does the work, or the call says that there are no kernels
    /// where only a GPU could do it.
    #[cfg(feature = "cuda")]
    fn gpu(&self) -> Option<&dyn gpu_codec::GpuCodec> {
        None
    }
}

/// Is shown chunks: the number of each, and its bytes.
pub type ShowChunk<'a> = &'a (dyn Fn(usize, &[u8]) + Sync);

/// A codec's side for the CPU.
pub trait CpuCodec: Sync {
    /// Compresses `src` into `dst`; returns the bytes of the stream.
    fn compress(
        &self,
        params: &Params,
        layout: &Layout,
        src: &[u8],
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<usize>;
    /// Whether `compress_told` tells the ends of such a request.
    fn tells_ends(&self, _: &Params) -> bool {
        false
    }
    /// The same, and two numbers that no element lies beyond, as far as coding shows them by the way. Missing values
    /// are none; NaN and infinities lie beyond all.
    fn compress_told(
        &self,
        params: &Params,
        layout: &Layout,
        src: &[u8],
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<(usize, Ends)> {
        Ok((self.compress(params, layout, src, dst, options)?, Ends::UNKNOWN))
    }
    /// Whether elements of a stream with this header may come back as these bits. It is asked of codecs that round by
    /// what is around an element; others say no.
    fn restores(&self, _: &Header, _: u64) -> Result<bool> {
        Ok(false)
    }
    /// Restores what is `wanted` of a stream whose header and index are verified.
    fn decompress(&self, index: &Index, wanted: &Wanted, dst: &mut [u8], options: ExecOptions) -> Result<()>;
    /// Shows the bytes of each chunk of such a stream, by its number, in whatever order and from several threads.
    fn each_chunk(&self, index: &Index, options: ExecOptions, show: ShowChunk) -> Result<()>;
    /// Adds what the codec knows of its chunks to `info`.
    fn inspect(&self, index: &Index, info: &mut Info) -> Result<()>;
}

/// What is known of a stream without decoding it.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// Format version.
    pub version: u16,
    /// Codec id.
    pub codec: u8,
    /// Element type.
    pub dtype: DType,
    /// What the user asked for.
    pub mode: Mode,
    /// The profile of the encoder.
    pub profile: Profile,
    /// Elements are big-endian in the restored array.
    pub big_endian: bool,
    /// Elements.
    pub count: u64,
    /// Bytes of the array.
    pub raw_bytes: u64,
    /// Bytes of the stream.
    pub stream_bytes: u64,
    /// The bound as given.
    pub bound: f64,
    /// The value range that `Noa` used.
    pub range: f64,
    /// The guaranteed absolute bound; 0 when none is in force.
    pub abs_bound: f64,
    /// Distance of neighbouring quantized values; 0 when not quantized.
    pub step: f64,
    /// The array's dimensions.
    pub dims: Dims,
    /// Its missing values, with how many of them nobody named.
    pub missing: Missing,
    /// Chunks by kind: packed, raw, constant, masked.
    pub chunks: [u64; 4],
    /// What the codec itself tells of its packed chunks.
    pub details: Vec<Detail>,
}

/// Something that a codec counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Detail {
    /// What is counted.
    pub name: &'static str,
    /// How many there are of each kind; one kind that may be among those of another detail, or all that there are.
    pub counts: Vec<(&'static str, u64)>,
}
