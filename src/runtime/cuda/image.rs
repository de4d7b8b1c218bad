//! Compiled modules, as `kernels/build.py` packs them.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use lzma_rust2::LzmaReader;

use crate::error::{Result, fail};
use crate::host::memory::{filled, is_there};

/// The architecture under which PTX is packed, which the driver compiles for any device.
pub const PTX: u8 = 0;

/// What a stream asks for at most, its dictionary included.
const UNPACKER_KIB: u32 = 9 << 10;
/// More than any module has, so that a damaged length asks for no memory.
const MAX_IMAGE_BYTES: usize = 16 << 20;

/// The image of a module, a cubin or PTX with a NUL at its end, from an LZMA stream of images. A line
/// `NAME BYTES` stands before each.
pub fn unpack(packed: &[u8], name: &str) -> Result<Vec<u8>> {
    // The unpacker's own small requests would end the process where memory is short.
    let found = match is_there(UNPACKER_KIB as usize * 1024) {
        true => find(packed, name),
        false => Err(ErrorKind::OutOfMemory.into()),
    };
    match found {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => fail!(Internal, "the compiled kernels have no module {name}: make kernels"),
        Err(e) if e.kind() == ErrorKind::OutOfMemory => fail!(OutOfMemory, "no memory to unpack the kernels of {name}"),
        Err(e) => fail!(Internal, "the kernels of {name} cannot be unpacked: {e}"),
    }
}

fn find(packed: &[u8], name: &str) -> io::Result<Option<Vec<u8>>> {
    let mut images = BufReader::new(LzmaReader::new_mem_limit(packed, UNPACKER_KIB, None)?);
    let mut line = String::new();
    loop {
        line.clear();
        if images.by_ref().take(256).read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let head = line.trim_end().split_once(' ').and_then(|(name, bytes)| Some((name, bytes.parse().ok()?)));
        match head {
            Some((found, bytes)) if bytes <= MAX_IMAGE_BYTES => {
                if found == name {
                    let mut image = filled(bytes, 0).map_err(|_| ErrorKind::OutOfMemory)?;
                    images.read_exact(&mut image)?;
                    return Ok(Some(image));
                }
                io::copy(&mut images.by_ref().take(bytes as u64), &mut io::sink())?;
            }
            _ => return Err(io::Error::new(ErrorKind::InvalidData, "a head of an image is none")),
        }
    }
}

/// The architecture of `archs` whose code runs on a device of this compute capability: of the same major number the
/// highest minor one that the device has, else [`PTX`], which the driver compiles.
pub fn best(archs: impl Iterator<Item = u8>, (major, minor): (i32, i32)) -> u8 {
    let runs = |arch: &u8| i32::from(arch / 10) == major && i32::from(arch % 10) <= minor;
    archs.filter(runs).max().unwrap_or(PTX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_for_the_major_number_and_no_newer_a_minor_one() {
        let archs = || [PTX, 80, 86, 90].into_iter();
        for (capability, wanted) in [
            ((8, 0), 80),
            ((8, 5), 80),
            ((8, 6), 86),
            ((8, 7), 86),
            ((8, 9), 86),
            ((9, 0), 90),
            ((10, 0), PTX),
            ((12, 1), PTX),
            ((7, 5), PTX),
        ] {
            assert_eq!(best(archs(), capability), wanted, "{capability:?}");
        }
    }
}
