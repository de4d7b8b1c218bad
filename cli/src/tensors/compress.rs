//! `sleek compress` of a safetensors file.

use sleek::bound::sub_down;
use sleek::container::Header;
use sleek::range::{join, value_range};
use sleek::{Bound, DType, Dims, Mode, Params};

use super::head::{Head, Tensor};
use super::packed;
use crate::io::{Block, Input, Output, tell};
use crate::pipeline;
use crate::progress::{Array, Progress, summary};

/// How a safetensors file is compressed.
pub struct Wish {
    /// What tensors of floats get; all others come back bit for bit.
    pub params: Params,
    /// Bytes of data in a stream.
    pub frame_bytes: usize,
    pub quiet: bool,
}

/// A part of a tensor, of which one stream is made.
struct TensorPart {
    tensor: usize,
    bytes: usize,
    /// Whether it is the tensor's first.
    first: bool,
    /// Whether another part of the tensor follows.
    more: bool,
    dims: Dims,
}

/// Compresses what `input` holds.
pub fn compress(
    wish: &Wish,
    mut input: Input,
    output: impl FnOnce(&Input) -> Result<Output, String>,
) -> Result<(), String> {
    let head = Head::read(&mut input)?;
    let mut params = each_params(wish, &head, &mut input)?;
    let parts = parts(&head, wish.frame_bytes);
    let mut output = output(&input)?;
    let mut progress = Progress::new("compressing", input.bytes, wish.quiet);
    let beginning = packed::beginning(&head).map_err(|e| format!("{}: {e}", input.name))?;
    output.write(&beginning)?;
    let (from, to) = (input.name.clone(), output.name.clone());
    let (mut bytes_in, mut bytes_out) = (head.bytes.len() as u64, beginning.len() as u64);
    let (mut to_read, mut to_pack) = (parts.iter(), parts.iter());
    pipeline::run(
        |block| match to_read.next() {
            Some(part) => fill(&mut input, block, part.bytes).map(|()| true),
            None if input.more()? => Err(format!("{}: goes on behind the last of its tensors", input.name)),
            None => Ok(false),
        },
        |block, outlet| {
            let mut stream = outlet.block()?;
            let Some(part) = to_pack.next() else { return Ok(()) };
            let blame = |e: sleek::Error| format!("{from}: tensor '{}': {e}", head.tensors[part.tensor].name);
            let of = Params { dims: part.dims, ..params[part.tensor].clone() };
            let (bytes, mode) = self::stream(of, block.data(), part).map_err(blame)?;
            // What is best for the first part is for all of the tensor: its streams must agree.
            if mode == Mode::Lossless {
                params[part.tensor] = lossless(&params[part.tensor]);
            }
            stream.keep_bytes(&bytes);
            bytes_in += block.data().len() as u64;
            bytes_out += stream.data().len() as u64;
            progress.add(block.data().len() as u64);
            outlet.send(stream)
        },
        |data| output.write(data),
    )?;
    output.finish()?;
    let time = progress.finish();
    if !wish.quiet {
        tell(&summary(Array::In, &from, &to, bytes_in, bytes_out, time));
    }
    Ok(())
}

/// Reads so many bytes, which the header says there are.
fn fill(input: &mut Input, block: &mut Block, bytes: usize) -> Result<(), String> {
    match input.fill(block, bytes)? == bytes {
        true => Ok(()),
        false => Err(format!("{}: ends within the data of its tensors", input.name)),
    }
}

/// The parameters of each tensor.
fn each_params(wish: &Wish, head: &Head, input: &mut Input) -> Result<Vec<Params>, String> {
    let mut each: Vec<Params> = head.tensors.iter().map(|tensor| params_of(wish, tensor)).collect();
    let measured = |params: &Params| params.bound.measures();
    if !each.iter().any(measured) {
        return Ok(each);
    }
    if input.bytes.is_none() {
        return Err(format!(
            "--noa needs the value range of each whole tensor, and {} can be read only once: give it with --range R",
            input.name
        ));
    }
    for (tensor, params) in head.tensors.iter().zip(&mut each) {
        match measured(params) {
            true => {
                let range = range(tensor.bytes(), params.dtype, wish.frame_bytes, input)?;
                params.bound = params.bound.of_range(range);
            }
            false => input.pass(tensor.bytes())?,
        }
    }
    input.skip(head.bytes.len() as u64)?;
    Ok(each)
}

fn params_of(wish: &Wish, tensor: &Tensor) -> Params {
    let params = Params { dtype: tensor.dtype, ..wish.params.clone() };
    if tensor.is_float() { params } else { lossless(&params) }
}

/// The value range of the tensor that comes next; none if it is zero.
fn range(bytes: u64, dtype: DType, frame_bytes: usize, input: &mut Input) -> Result<Option<f64>, String> {
    let (mut block, mut rest, mut range) = (Block::default(), bytes, None);
    while rest > 0 {
        let n = rest.min(frame_bytes as u64) as usize;
        fill(input, &mut block, n)?;
        range = join(range, value_range(dtype, false, &[], block.data()));
        rest -= n as u64;
    }
    Ok(range.filter(|(lo, hi)| hi > lo).map(|(lo, hi)| sub_down(hi, lo)))
}

/// The parts of all tensors, each of at most so many bytes.
fn parts(head: &Head, frame_bytes: usize) -> Vec<TensorPart> {
    let mut parts = Vec::new();
    for (place, tensor) in head.tensors.iter().enumerate() {
        let (size, mut rest) = (tensor.dtype.size() as u64, tensor.bytes());
        let dims = tensor.dims();
        let axis = dims.lens().iter().position(|len| *len > 1).unwrap_or(0);
        let row = dims.lens().iter().skip(axis + 1).product::<u64>() * size;
        // Two rows at least, for then the first stream shows along which axis they follow each other
        // (docs/reference/format.md).
        let in_rows = dims.rank() > 1 && row > 0 && (rest <= frame_bytes as u64 || 2 * row <= frame_bytes as u64);
        let step = if in_rows { frame_bytes as u64 / row * row } else { (frame_bytes as u64 / size * size).max(size) };
        while rest > 0 {
            let first = rest == tensor.bytes();
            let bytes = if rest <= frame_bytes as u64 { rest } else { step };
            rest -= bytes;
            let mut lens = dims.lens().to_vec();
            if in_rows {
                lens[axis] = bytes / row;
            }
            let dims = if in_rows { Dims::new(&lens).unwrap_or(Dims::NONE) } else { Dims::NONE };
            parts.push(TensorPart { tensor: place, bytes: bytes as usize, first, more: rest > 0, dims });
        }
    }
    parts
}

/// The stream of a part, and its mode: a bound that makes a tensor larger than it is without one is dropped.
fn stream(params: Params, data: &[u8], part: &TensorPart) -> sleek::Result<(Vec<u8>, Mode)> {
    let (mut stream, mut mode) = (sleek::compress(&params, data)?, params.bound.mode());
    if part.first && mode != Mode::Lossless {
        let exact = sleek::compress(&lossless(&params), data)?;
        if exact.len() <= stream.len() {
            (stream, mode) = (exact, Mode::Lossless);
        }
    }
    if part.more {
        Header::mark_more(&mut stream)?;
    }
    Ok((stream, mode))
}

fn lossless(params: &Params) -> Params {
    params.clone().with_bound(Bound::Lossless)
}
