//! Codecs: what turns an array into a stream and back, behind one trait. Adding one is described in `docs/adding-a-codec.md`.

pub mod sleek;

use crate::bound::Step;
use crate::container::{Header, Index, Layout};
use crate::dtype::DType;
use crate::error::{Result, fail};
use crate::exec::ExecOptions;
use crate::host::memory::filled;
use crate::params::{Mode, Params, Profile};

/// A method of compression. It owns the chunk bodies; header, index and checksums are the container's.
pub trait Codec: Sync {
    /// The id in the stream header.
    fn id(&self) -> u8;
    /// The name, as the command shows it.
    fn name(&self) -> &'static str;
    /// Compresses `src` into `dst`; returns the bytes of the stream.
    fn compress(
        &self,
        params: &Params,
        layout: Layout,
        src: &[u8],
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<usize>;
    /// Restores elements `first .. first + dst.len() / size` of a verified header's stream.
    fn decompress(
        &self,
        header: &Header,
        index: &Index,
        first: u64,
        dst: &mut [u8],
        options: ExecOptions,
    ) -> Result<()>;
    /// Adds what the codec knows of its chunks to `info`.
    fn inspect(&self, header: &Header, index: &Index, info: &mut Info) -> Result<()>;
}

/// Every codec, in the order of their ids.
pub static REGISTRY: [&dyn Codec; 1] = [&sleek::Sleek];

fn codec(id: u8) -> Result<&'static dyn Codec> {
    match REGISTRY.iter().find(|c| c.id() == id) {
        Some(c) => Ok(*c),
        None => fail!(UnsupportedFormat, "codec {id} is not known to this library"),
    }
}

fn layout_of(params: &Params, src: &[u8]) -> Result<Layout> {
    params.check()?;
    if !src.len().is_multiple_of(params.dtype.size()) {
        return fail!(
            InvalidArgument,
            "{} bytes are not a whole number of {} elements",
            src.len(),
            params.dtype.name()
        );
    }
    Layout::new(params.dtype, (src.len() / params.dtype.size()) as u64)
}

/// See [`crate::compress_into`]; of `params` and `options` only the latter counts for threads.
pub fn compress_into(params: &Params, src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
    crate::host::environment::check()?;
    let layout = layout_of(params, src)?;
    if dst.len() < layout.bodies_at() {
        return fail!(
            BufferTooSmall,
            "{} bytes; header and index take {}, {} are always enough",
            dst.len(),
            layout.bodies_at(),
            layout.max_stream_bytes()?
        );
    }
    codec(sleek::constants::CODEC_SLEEK)?.compress(params, layout, src, dst, options)
}

/// See [`crate::compress`].
pub fn compress(params: &Params, src: &[u8]) -> Result<Vec<u8>> {
    let mut dst = filled(layout_of(params, src)?.max_stream_bytes()?, 0u8)?;
    let n = compress_into(params, src, &mut dst, ExecOptions::threads(params.threads))?;
    dst.truncate(n);
    dst.shrink_to_fit();
    Ok(dst)
}

fn open(src: &[u8]) -> Result<(Header, Index<'_>)> {
    let header = Header::read(src)?;
    if (src.len() as u64) > header.stream_bytes {
        return fail!(Corrupt, "{} bytes follow the end of the stream", src.len() as u64 - header.stream_bytes);
    }
    let index = Index::new(&header, src)?;
    Ok((header, index))
}

/// Bytes of the array, for one who is about to allocate them. The index is checked first: each chunk of it has a body of at
/// least 16 bytes in `src`, so this is less than 900 times as long as `src`, whatever the header says.
pub fn raw_bytes(src: &[u8]) -> Result<usize> {
    Ok(open(src)?.0.layout.raw_bytes as usize)
}

/// See [`crate::decompress_into`].
pub fn decompress_into(src: &[u8], dst: &mut [u8], options: ExecOptions) -> Result<usize> {
    crate::host::environment::check()?;
    let (header, index) = open(src)?;
    let need = header.layout.raw_bytes as usize;
    if dst.len() < need {
        return fail!(BufferTooSmall, "{} bytes; the array takes {need}", dst.len());
    }
    codec(header.codec)?.decompress(&header, &index, 0, &mut dst[..need], options)?;
    Ok(need)
}

/// See [`crate::decompress`].
pub fn decompress(src: &[u8]) -> Result<Vec<u8>> {
    let mut dst = filled(raw_bytes(src)?, 0u8)?;
    decompress_into(src, &mut dst, ExecOptions::threads(0))?;
    Ok(dst)
}

/// See [`crate::decompress_range_into`]; returns the bytes written.
pub fn decompress_range_into(src: &[u8], first: u64, count: usize, dst: &mut [u8]) -> Result<usize> {
    crate::host::environment::check()?;
    let (header, index) = open(src)?;
    let size = header.layout.dtype.size();
    let end = first.checked_add(count as u64).filter(|end| *end <= header.layout.count);
    let (Some(_), Some(bytes)) = (end, count.checked_mul(size)) else {
        return fail!(OutOfRange, "{count} elements from {first} on; the array has {}", header.layout.count);
    };
    if dst.len() < bytes {
        return fail!(BufferTooSmall, "{} bytes; {count} elements take {bytes}", dst.len());
    }
    codec(header.codec)?.decompress(&header, &index, first, &mut dst[..bytes], ExecOptions::threads(0))?;
    Ok(bytes)
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
    /// Chunks by kind: packed, raw, constant.
    pub chunks: [u64; 3],
    /// Subchunks of packed chunks by mode: offset, zigzag, delta, exponent map, second difference, constant.
    pub subchunks: [u64; 6],
    /// Subchunks with exceptions.
    pub patched: u64,
}

/// See [`crate::inspect`].
pub fn inspect(src: &[u8]) -> Result<Info> {
    let header = Header::read(src)?;
    let index = Index::new(&header, src)?;
    let layout = header.layout;
    let mut info = Info {
        version: crate::container::constants::VERSION,
        codec: header.codec,
        dtype: layout.dtype,
        mode: header.mode,
        profile: header.profile,
        big_endian: header.big_endian,
        count: layout.count,
        raw_bytes: layout.raw_bytes,
        stream_bytes: header.stream_bytes,
        bound: header.bound,
        range: header.range,
        abs_bound: header.abs_bound,
        step: Step { w: header.step_w, j: header.step_j }.value(),
        chunks: index.kinds(),
        subchunks: [0; 6],
        patched: 0,
    };
    codec(header.codec)?.inspect(&header, &index, &mut info)?;
    Ok(info)
}
