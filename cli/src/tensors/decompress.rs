//! `sleek decompress` of a compressed file of tensors.

use super::head::Tensor;
use super::packed::Reader;
use crate::frames;
use crate::io::{Input, Output, tell};
use crate::npy;
use crate::pipeline;
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
    pipeline::run(
        |frame| if tensor.is_some() { reader.next_of(frame) } else { reader.next(frame) },
        |frame, outlet| {
            for piece in frames::pieces(&frames::header(frame)?) {
                let mut block = outlet.block()?;
                piece.restore(frame, &mut block).map_err(|e| format!("{from}: {e}"))?;
                bytes_out += block.data().len() as u64;
                outlet.send(block)?;
            }
            bytes_in += frame.data().len() as u64;
            progress.add(frame.data().len() as u64);
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
