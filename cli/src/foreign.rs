//! Files of other programs, where an array or a compressed file is needed.

use std::path::Path;

use sleek::container::constants::MAGIC;

use crate::io::Input;
use crate::npy;

/// How such files begin, what they are, and what helps.
const KNOWN: [(&[u8], &str); 9] = [
    (b"\x89SLTNS", "a compressed safetensors file: sleek.safetensors of Python reads it"),
    (b"\x89HDF", "an HDF5 or netCDF-4 file: sleek repack compresses its datasets, and takes its name, no pipe"),
    (b"CDF", "a classic netCDF file, which has no filters: nccopy -k nc4 makes one of it for sleek repack"),
    (b"PK\x03\x04", "a ZIP file, as .npz, .keras and .pt are: unzip it first"),
    (b"\x1f\x8b", "a gzip file: gunzip it first"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file: unzstd it first"),
    (b"\x93NUMPY", "an NPY file, which is not compressed; sleek compress does that"),
    (b"SIMPLE  =", "a FITS file: its arrays are to be taken out first"),
    (b"GRIB", "a GRIB file: its fields are to be taken out first, to netCDF-4 for sleek repack"),
];
/// Bytes of the longest of these.
const FIRST_BYTES: usize = 9;

/// What an input is that begins as a file of another program, and what helps.
pub fn foreign(input: &mut Input) -> Result<Option<&'static str>, String> {
    let first = input.peek(FIRST_BYTES)?;
    Ok(KNOWN.iter().find(|(magic, _)| first.starts_with(magic)).map(|(_, what)| *what))
}

/// What to say of an input whose element type nothing tells.
pub fn untyped(path: &Path, input: &mut Input) -> Result<String, String> {
    let name = input.name.clone();
    let what = match input.peek(MAGIC.len())? == MAGIC {
        true => Some("compressed already: sleek decompress restores it"),
        false => foreign(input)?,
    };
    Ok(match what {
        Some(what) => format!("{name}: is {what}. --dtype TYPE takes its bytes as they are"),
        None if npy::is_name(path) => {
            format!("{name}: is no NPY file: it begins with the bytes {:02x?}", input.peek(6)?)
        }
        None if path.extension().is_some_and(|end| end == "safetensors") => {
            format!("{name}: is a safetensors file; sleek.safetensors.pack of Python compresses its tensors")
        }
        None => format!(
            "{name}: --dtype TYPE is needed, such as --dtype f32; a name that ends in .f32, .f64, .bf16, … tells it too"
        ),
    })
}
