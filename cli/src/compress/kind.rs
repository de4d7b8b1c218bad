//! What an input is, where no argument says it.

use std::path::Path;

use crate::io::Input;
use crate::npy;

/// How files of other kinds begin, what they are, and what is for them.
const OTHERS: [(&[u8], &str, &str); 8] = [
    (b"\x89HDF\r\n\x1a\n", "an HDF5 or netCDF-4 file", "sleek repack compresses its datasets"),
    (b"CDF\x01", "a netCDF file of the classic format", "nccopy -k nc4 makes a netCDF-4 file of it for sleek repack"),
    (b"CDF\x02", "a netCDF file of the classic format", "nccopy -k nc4 makes a netCDF-4 file of it for sleek repack"),
    (b"CDF\x05", "a netCDF file of the classic format", "nccopy -k nc4 makes a netCDF-4 file of it for sleek repack"),
    (b"PK\x03\x04", "a ZIP file, as NumPy's .npz are", "unzip takes its .npy files out"),
    (b"SIMPLE  =", "a FITS file", "its arrays are to be taken out first"),
    (b"GRIB", "a GRIB file", "its fields are to be taken out first, to netCDF-4 for sleek repack"),
    (b"\x89SLEEK", "compressed already", "sleek decompress restores it"),
];

/// Bytes of the longest of these.
const FIRST_BYTES: usize = 9;

/// What to say of an input whose element type nothing tells.
pub fn unknown(path: &Path, input: &mut Input) -> Result<String, String> {
    let first = input.peek(FIRST_BYTES)?.to_vec();
    let name = &input.name;
    if let Some((_, what, help)) = OTHERS.iter().find(|(magic, ..)| first.starts_with(magic)) {
        return Ok(format!("{name}: is {what}; {help}. --dtype TYPE takes its bytes as they are"));
    }
    if npy::is_name(path) {
        return Ok(format!("{name}: is no NPY file: it begins with the bytes {:02x?}", &first[..first.len().min(6)]));
    }
    if path.extension().is_some_and(|end| end == "safetensors") {
        return Ok(format!("{name}: is a safetensors file; sleek.safetensors.pack of Python compresses its tensors"));
    }
    Ok(format!(
        "{name}: --dtype TYPE is needed, such as --dtype f32; a name that ends in .f32, .f64, .bf16, … tells it too"
    ))
}
