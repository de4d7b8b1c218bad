//! Archives of compiled modules (`kernels/build.py` says byte by byte what is in them), of which one member at a time
//! is unpacked.

use std::io::{ErrorKind, Read};

use lzma_rust2::LzmaReader;

use crate::error::{Result, fail};
use crate::host::memory::{filled, is_there, reserve};

use super::fold;

/// The architecture under which an archive has a module's PTX.
pub const PTX: u8 = 0;

const MAGIC: [u8; 4] = *b"SLKM";
const VERSION: u32 = 2;
const HEAD_BYTES: usize = 24;
const BLOCK_BYTES: usize = 20;
/// More than any module has, so that a damaged length asks for no memory.
const MAX_BLOCK_BYTES: usize = 16 << 20;
/// The dictionary that the build asks for.
const DICTIONARY_BYTES: usize = 4 << 20;
/// What the unpacker takes beside it, for its tables and for what it reads: it would end the process without.
const UNPACKER_BYTES: usize = 128 << 10;

/// An archive whose head was read.
pub struct Archive<'a> {
    bytes: &'a [u8],
    /// Of what the compilers saw.
    pub digest: u64,
    blocks: usize,
    members: usize,
}

/// Where a module for an architecture is: 10 times the major number of the compute capability and the minor one.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// The module.
    pub name: &'a str,
    /// Or [`PTX`].
    pub arch: u8,
    block: usize,
    at: usize,
    bytes: usize,
}

/// The next `N` bytes.
fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (head, rest) = from.split_first_chunk::<N>()?;
    *from = rest;
    Some(*head)
}

fn number(from: &mut &[u8]) -> Option<usize> {
    take(from).map(|b| u32::from_le_bytes(b) as usize)
}

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01B3))
}

impl<'a> Archive<'a> {
    /// Reads the head.
    pub fn new(bytes: &'a [u8]) -> Result<Archive<'a>> {
        let mut rest = bytes;
        let mut head = || {
            let named = take(&mut rest)? == MAGIC && number(&mut rest)? == VERSION as usize;
            let digest = take(&mut rest).map(u64::from_le_bytes)?;
            let (blocks, members) = (number(&mut rest)?, number(&mut rest)?);
            (named && blocks <= rest.len() / BLOCK_BYTES).then_some(Archive { bytes, digest, blocks, members })
        };
        head().map_or_else(|| fail!(Internal, "an archive of kernels does not begin as one of version {VERSION}"), Ok)
    }

    /// What it has, up to the first entry that is none.
    pub fn members(&self) -> impl Iterator<Item = Member<'a>> + use<'a> {
        let mut rest = self.bytes.get(HEAD_BYTES + self.blocks * BLOCK_BYTES..).unwrap_or_default();
        (0..self.members).map_while(move |_| {
            let [length] = take(&mut rest)?;
            let (name, behind) = rest.split_at_checked(length.into())?;
            rest = behind;
            let [arch] = take(&mut rest)?;
            let (block, at, bytes) = (number(&mut rest)?, number(&mut rest)?, number(&mut rest)?);
            Some(Member { name: std::str::from_utf8(name).ok()?, arch, block, at, bytes })
        })
    }

    /// What the driver takes of a member, a cubin or PTX with a NUL at its end. What stands before it in its block is
    /// unpacked and forgotten.
    pub fn unpack(&self, member: &Member) -> Result<Vec<u8>> {
        let Some((packed, size)) = self.block(member.block) else {
            return fail!(Internal, "the archive of kernels is damaged in block {} ({})", member.block, member.name);
        };
        let Some(end) = member.at.checked_add(member.bytes).filter(|end| *end <= size) else {
            return fail!(Internal, "the kernels of {} end behind the {size} bytes of their block", member.name);
        };
        let mut whole = filled(end, 0u8)?;
        // The memory of the dictionary, at most, in KiB.
        let unpacked = match is_there(UNPACKER_BYTES + 2 * end.min(DICTIONARY_BYTES)) {
            true => LzmaReader::new_mem_limit(packed, 1 << 16, None).and_then(|mut r| r.read_exact(&mut whole)),
            false => Err(ErrorKind::OutOfMemory.into()),
        };
        match unpacked {
            Err(e) if e.kind() == ErrorKind::OutOfMemory => {
                return fail!(OutOfMemory, "no memory to unpack the kernels of {}", member.name);
            }
            Err(e) => return fail!(Internal, "the kernels of {} cannot be unpacked: {e}", member.name),
            Ok(()) => (),
        }
        if member.arch == PTX {
            let mut text = fold::unfold(&whole[member.at..])?;
            reserve(&mut text, 1)?;
            text.push(0);
            return Ok(text);
        }
        whole.drain(..member.at);
        Ok(whole)
    }

    /// The packed bytes of a block, if they are what the build made, and how many it has unpacked.
    fn block(&self, i: usize) -> Option<(&'a [u8], usize)> {
        let mut entry = self.bytes.get(HEAD_BYTES + i.checked_mul(BLOCK_BYTES)?..)?;
        let (at, packed, size) = (number(&mut entry)?, number(&mut entry)?, number(&mut entry)?);
        let sum = take(&mut entry).map(u64::from_le_bytes)?;
        let packed = self.bytes.get(at..at.checked_add(packed)?)?;
        (i < self.blocks && size <= MAX_BLOCK_BYTES && checksum(packed) == sum).then_some((packed, size))
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

    // The smallest one, so that it can be unpacked often.
    const ARCHIVE: &[u8] = include_bytes!("../../../kernels/hyperslab/kernels.bin");

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
        // What archives have: devices of 8.6 and 8.9 run the code for 8.0.
        let archive = Archive::new(ARCHIVE).unwrap();
        for (capability, wanted) in [((8, 0), 80), ((8, 6), 80), ((8, 9), 80), ((9, 0), 90), ((10, 0), PTX)] {
            assert_eq!(best(archive.members().map(|m| m.arch), capability), wanted, "{capability:?}");
        }
    }

    #[test]
    fn damage_is_an_error() {
        let archive = Archive::new(ARCHIVE).unwrap();
        let member = archive.members().find(|m| m.arch == 90).unwrap();
        assert!(archive.unpack(&member).unwrap().starts_with(b"\x7fELF"));
        for cut in (0..ARCHIVE.len()).step_by(ARCHIVE.len() / 50).chain(0..100) {
            if let Ok(archive) = Archive::new(&ARCHIVE[..cut]) {
                for member in archive.members() {
                    let Ok(bytes) = archive.unpack(&member) else { continue };
                    assert!(bytes.len() == member.bytes || member.arch == PTX, "{cut}");
                }
            }
        }
        let directory = HEAD_BYTES + BLOCK_BYTES * archive.blocks;
        let mut damaged = ARCHIVE.to_vec();
        for at in (0..directory + 40).chain((directory + 40..ARCHIVE.len()).step_by(ARCHIVE.len() / 50)) {
            damaged[at] ^= 0x55;
            if let Ok(archive) = Archive::new(&damaged) {
                for member in archive.members().take(3) {
                    let _ = archive.unpack(&member);
                }
            }
            damaged[at] ^= 0x55;
        }
        let (packed, _) = archive.block(member.block).unwrap();
        let at = packed.as_ptr() as usize - ARCHIVE.as_ptr() as usize + packed.len() / 2;
        damaged[at] ^= 1;
        assert!(Archive::new(&damaged).unwrap().unpack(&member).is_err());
    }
}
