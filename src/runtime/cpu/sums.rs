//! The checksums of groups, compared.

use crate::container::Index;
use crate::container::checksum::GroupSum;
use crate::error::{Result, fail};

/// Compares the bodies of group `g` with their checksum.
pub fn verify(index: &Index, g: usize) -> Result<()> {
    compare(index, g, GroupSum::new(index.chunks(g).map(|chunk| chunk.body.bytes())).finish())
}

/// Compares the checksum of the bodies of group `g` with the index.
pub fn compare(index: &Index, g: usize, sum: u64) -> Result<()> {
    if sum != index.group_checksum(g) {
        return fail!(
            Corrupt,
            "checksum of chunk group {g} is {sum:016x}, the index says {:016x}",
            index.group_checksum(g)
        );
    }
    Ok(())
}
