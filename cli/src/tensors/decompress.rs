//! `sleek decompress` of a compressed file of tensors.

use sleek::container::Header;

use super::head::Tensor;
use super::packed::Reader;
use super::side_by_side::{self, SMALL_BYTES, TOGETHER_BYTES};
use crate::frames;
use crate::io::{Block, Input, Output, tell};
use crate::npy;
use crate::pipeline::{self, Outlet};
use crate::progress::{Array, Progress, summary};

/// Restores the safetensors file, or one of its tensors, as plain bytes or as an NPY file.
pub fn decompress(
    input: Input,
    tensor: Option<&str>,
    as_npy: bool,
    quiet: bool,
    output: impl FnOnce(&Input) -> Result<Output, String>,
) -> Result<(), String> {
    let mut output = output(&input)?;
    let mut reader = Reader::new(input)?;
    let mut progress = Progress::new("restoring", reader.bytes, quiet);
    let (from, to) = (reader.name.clone(), output.name.clone());
    let (mut bytes_in, mut bytes_out) = (0, 0);
    match tensor {
        Some(name) => {
            reader.seek(name)?;
            if as_npy {
                let tensor = reader.tensor();
                let header = npy_header(tensor).map_err(|e| format!("{from}: tensor '{name}': {e}"))?;
                output.write(&header)?;
            }
        }
        None => {
            output.write(&reader.head.bytes)?;
            (bytes_in, bytes_out) = (reader.beginning, reader.head.bytes.len() as u64);
        }
    }
    let mut groups = Groups { next: Block::default(), is_held: false };
    pipeline::run(
        |group| groups.fill(group, |frame| if tensor.is_some() { reader.next_of(frame) } else { reader.next(frame) }),
        |group, outlet| {
            restore(group, outlet, &mut bytes_out).map_err(|e| format!("{from}: {e}"))?;
            bytes_in += group.data().len() as u64;
            progress.add(group.data().len() as u64);
            Ok(())
        },
        |data| output.write(data),
    )?;
    output.finish()?;
    let time = progress.finish();
    if !quiet {
        tell(&summary(Array::Out, &from, &to, bytes_in, bytes_out, time));
    }
    Ok(())
}

/// The header of an NPY file with a tensor.
fn npy_header(tensor: &Tensor) -> Result<Vec<u8>, String> {
    let descr = match tensor.kind.as_str() {
        "BOOL" => "|b1".into(),
        "C64" => "<c8".into(),
        _ if tensor.is_number() => npy::name(tensor.dtype, false),
        kind => return Err(format!("NumPy has no type for {kind}; a name without .npy gets its plain bytes")),
    };
    Ok(npy::header_of(&descr, &tensor.shape))
}

/// Takes small frames together.
struct Groups {
    /// The frame that was read last.
    next: Block,
    /// Whether it waits for the next group.
    is_held: bool,
}

impl Groups {
    /// Fills a block with the next frame, and with those behind it as long as they are small; false if there is none.
    fn fill(
        &mut self,
        group: &mut Block,
        mut read: impl FnMut(&mut Block) -> Result<bool, String>,
    ) -> Result<bool, String> {
        group.room(0);
        let mut bytes = 0;
        while self.is_held || read(&mut self.next)? {
            let own = raw_bytes(&frames::header(&self.next)?);
            let (is_small, is_first) = (own <= SMALL_BYTES as u64, group.data().is_empty());
            self.is_held = !is_first && (!is_small || bytes + own > TOGETHER_BYTES as u64);
            if self.is_held {
                break;
            }
            if !is_small {
                std::mem::swap(group, &mut self.next);
                break;
            }
            group.push(self.next.data());
            bytes += own;
        }
        Ok(!group.data().is_empty())
    }
}

/// Bytes of the array in a stream.
fn raw_bytes(header: &Header) -> u64 {
    header.layout.count.saturating_mul(header.layout.dtype.size() as u64)
}

/// Restores a group of frames: one by itself in pieces, several side by side.
fn restore(group: &Block, outlet: &Outlet, bytes_out: &mut u64) -> Result<(), String> {
    let (mut streams, mut rest) = (Vec::new(), group.data());
    while !rest.is_empty() {
        let header = Header::read(rest).map_err(|e| e.to_string())?;
        let (stream, behind) = rest.split_at(header.stream_bytes as usize);
        streams.push((stream, raw_bytes(&header) as usize));
        rest = behind;
    }
    if streams.len() == 1 {
        for piece in frames::pieces(&frames::header(group)?) {
            let mut block = outlet.block()?;
            piece.restore(group, &mut block)?;
            *bytes_out += block.data().len() as u64;
            outlet.send(block)?;
        }
        return Ok(());
    }
    let mut block = outlet.block()?;
    let total = streams.iter().map(|(_, bytes)| bytes).sum();
    let mut room = block.room(total);
    let mut jobs = Vec::new();
    for (stream, bytes) in streams {
        let (place, behind) = room.split_at_mut(bytes);
        jobs.push((stream, place));
        room = behind;
    }
    side_by_side::all(jobs, |(stream, place)| {
        sleek::decompress_into_with(stream, place, 1).map_err(|e| e.to_string())
    })?;
    *bytes_out += total as u64;
    outlet.send(block)
}
