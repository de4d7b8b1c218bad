//! The plane that tells where missing values are in a chunk (docs/reference/format.md §5).

use crate::error::{Result, fail};
use crate::exec::Isa;
use crate::simd::bits::{listed, nonzero_bytes, placed};
use crate::simd::by;

/// Blocks of elements that a plane tells of, at most.
pub const PLANE_BLOCKS: usize = 32;
/// Bytes at the start of a plane.
const PLANE_HEADER_BYTES: usize = 4;
/// The most that bodies are aligned to.
const ALIGN: usize = 16;

/// For each element of a chunk a bit.
pub type Mask = Vec<u64>;

/// Elements of a block of a plane, where chunks have up to `capacity` elements.
pub const fn block_elements(capacity: usize) -> usize {
    let block = capacity / PLANE_BLOCKS;
    if block > 64 { block } else { 64 }
}

/// The most bytes of a plane.
pub const fn max_plane_bytes(capacity: usize, values: usize) -> usize {
    let block = block_elements(capacity);
    let blocks = capacity.div_ceil(block);
    (PLANE_HEADER_BYTES + values * (8 + blocks * (block / 64 + block / 8))).next_multiple_of(ALIGN)
}

/// Writes the plane that `masks` make, one for each value of the stream, to the start of `out`, which has room for the
/// most that one takes; the kind of the body that follows is still to be told (`set_inner`). `of_changes` is room for a
/// mask. Returns its bytes, a multiple of `unit`. Behind the chunk's last element masks go on as there.
pub fn write_plane(
    isa: Isa,
    masks: &[Mask],
    block: usize,
    unit: usize,
    of_changes: &mut [u64],
    out: &mut [u8],
) -> usize {
    let mut at = PLANE_HEADER_BYTES;
    out[..at].fill(0);
    for (k, mask) in masks.iter().enumerate().filter(|(_, mask)| mask.iter().any(|word| *word != 0)) {
        out[0] |= 1 << k;
        at += write_mask(isa, mask, block / 64, &mut of_changes[..mask.len()], &mut out[at..]);
    }
    let end = at.next_multiple_of(unit);
    out[at..end].fill(0);
    out[2..4].copy_from_slice(&((end / unit) as u16).to_le_bytes());
    end
}

/// Tells the plane at the start of `out` the number of the kind of the body behind it.
pub fn set_inner(inner: u8, out: &mut [u8]) {
    out[0] |= inner << 6;
}

/// Writes a mask, blocks of so many `words`, by its changes: for each block its first bit and whether it changes, then
/// flags and changes of the blocks that do. Bit i of the changes is set where element i differs from the one before it,
/// but not at the start of a block. Returns the bytes.
fn write_mask(isa: Isa, mask: &[u64], words: usize, changes: &mut [u64], out: &mut [u8]) -> usize {
    let done = by!(Avx2, isa, |mask: &[u64], words: usize, changes: &mut [u64], out: &mut [u8]| -> usize {
        use std::arch::x86_64::{_pdep_u64, _pext_u64};
        write_by(|word, flags| _pext_u64(word, _pdep_u64(flags, LOWEST) * 0xff), mask, words, changes, out)
    });
    done.unwrap_or_else(|| write_by(|word, flags| listed(word, flags as u8), mask, words, changes, out))
}

/// The same where `pack` puts the bytes of a word that have a flag side by side.
#[inline(always)]
fn write_by(pack: impl Fn(u64, u64) -> u64, mask: &[u64], words: usize, changes: &mut [u64], out: &mut [u8]) -> usize {
    let (mut first, mut mixed) = (0u32, 0u32);
    for (b, (block, changes)) in mask.chunks(words).zip(changes.chunks_mut(words)).enumerate() {
        let (mut before, mut any) = (block[0] & 1, 0);
        for (word, place) in block.iter().zip(changes) {
            *place = word ^ (word << 1 | before);
            (before, any) = (word >> 63, any | *place);
        }
        first |= (block[0] as u32 & 1) << b;
        mixed |= u32::from(any != 0) << b;
    }
    out[..4].copy_from_slice(&first.to_le_bytes());
    out[4..8].copy_from_slice(&mixed.to_le_bytes());
    let (head, rest) = out[8..].split_at_mut(mixed.count_ones() as usize * words);
    let of_mixed =
        changes.chunks(words).enumerate().filter(|(b, _)| mixed.checked_shr(*b as u32).unwrap_or(0) & 1 == 1);
    let mut at = 0;
    for (place, word) in head.iter_mut().zip(of_mixed.flat_map(|(_, block)| block)) {
        let flags = nonzero_bytes(*word);
        *place = flags as u8;
        if flags == 0 {
            continue;
        }
        let (n, bytes) = (flags.count_ones() as usize, pack(*word, flags).to_le_bytes());
        match rest[at..].first_chunk_mut() {
            Some(place) => *place = bytes,
            None => rest[at..at + n].copy_from_slice(&bytes[..n]),
        }
        at += n;
    }
    8 + head.len() + at
}

/// The lowest bit of each byte.
#[cfg(target_arch = "x86_64")]
const LOWEST: u64 = 0x0101_0101_0101_0101;

/// A plane that was read.
pub struct Plane {
    /// Its bytes; the inner body lies behind them.
    pub bytes: usize,
    /// The number of the inner body's kind.
    pub inner: u8,
}

/// Reads the plane at the start of a masked body into one mask for each of the stream's missing values, each of as many
/// words as `capacity` elements take. Everything is checked.
pub fn read_plane(isa: Isa, body: &[u8], capacity: usize, unit: usize, masks: &mut [Mask]) -> Result<Plane> {
    let Some(head) = body.first_chunk::<PLANE_HEADER_BYTES>() else {
        return fail!(Corrupt, "a masked body of {} bytes", body.len());
    };
    let (which, inner) = (head[0] & 15, head[0] >> 6);
    let bytes = usize::from(u16::from_le_bytes([head[2], head[3]])) * unit;
    if which == 0 || which >> masks.len() != 0 || head[0] & 0x30 != 0 || head[1] != 0 || bytes >= body.len() {
        return fail!(Corrupt, "the plane of a masked body begins with {head:02x?}");
    }
    let block = block_elements(capacity);
    let (words, blocks) = (block / 64, capacity.div_ceil(block));
    let mut rest = body.get(PLANE_HEADER_BYTES..bytes).unwrap_or_default();
    for (k, mask) in masks.iter_mut().enumerate() {
        if which >> k & 1 == 1 {
            read_mask(isa, &mut rest, words, blocks, mask)?;
        } else {
            mask.fill(0);
        }
    }
    if rest.len() >= unit || rest.iter().any(|byte| *byte != 0) {
        return fail!(Corrupt, "{} bytes behind a plane", rest.len());
    }
    let overlap = |a: &Mask, b: &Mask| a.iter().zip(b).any(|(a, b)| a & b != 0);
    if (1..masks.len()).any(|k| masks[..k].iter().any(|other| overlap(&masks[k], other))) {
        return fail!(Corrupt, "an element has two missing values");
    }
    Ok(Plane { bytes, inner })
}

/// The inverse of `write_mask`: reads a mask at the start of `rest`, and leaves what is behind it.
fn read_mask(isa: Isa, rest: &mut &[u8], words: usize, blocks: usize, mask: &mut [u64]) -> Result<()> {
    let done = by!(Avx2, isa, |rest: &mut &[u8], words: usize, blocks: usize, mask: &mut [u64]| -> Result<()> {
        use std::arch::x86_64::_pdep_u64;
        read_by(|bytes, flags| _pdep_u64(bytes, _pdep_u64(flags, LOWEST) * 0xff), rest, words, blocks, mask)
    });
    done.unwrap_or_else(|| read_by(|bytes, flags| placed(bytes, flags as u8), rest, words, blocks, mask))
}

/// The same where `unpack` puts bytes to the places that have a flag.
#[inline(always)]
fn read_by(
    unpack: impl Fn(u64, u64) -> u64,
    rest: &mut &[u8],
    words: usize,
    blocks: usize,
    mask: &mut [u64],
) -> Result<()> {
    let early = |n: usize| fail!(Corrupt, "a plane ends {n} bytes early");
    let Some((head, bytes)) = rest.split_first_chunk() else { return early(8 - rest.len()) };
    let head = u64::from_le_bytes(*head);
    let (first, mixed) = (head as u32, (head >> 32) as u32);
    let beyond = !0u32 << (blocks as u32 - 1) << 1;
    if (first | mixed) & beyond != 0 || head == 0 {
        return fail!(Corrupt, "a plane of {blocks} blocks with bits {first:#x}, {mixed:#x}");
    }
    let count = mixed.count_ones() as usize * words;
    let Some((flags_of, mut bytes)) = bytes.split_at_checked(count) else { return early(count - bytes.len()) };
    let mut flags_of = flags_of.chunks(words);
    for (b, block) in mask.chunks_mut(words).enumerate() {
        let mut state = 0u64.wrapping_sub(u64::from(first.checked_shr(b as u32).unwrap_or(0) & 1));
        let own = if mixed.checked_shr(b as u32).unwrap_or(0) & 1 == 1 { flags_of.next() } else { None };
        let Some(own) = own else {
            block.fill(state);
            continue;
        };
        let (mut any, mut begins) = (0, 1);
        for (word, flags) in block.iter_mut().zip(own) {
            let n = flags.count_ones() as usize;
            let some = match bytes.first_chunk() {
                Some(some) => u64::from_le_bytes(*some),
                None if bytes.len() < n => return early(n - bytes.len()),
                None => bytes.iter().rfold(0, |all, byte| all << 8 | u64::from(*byte)),
            };
            bytes = &bytes[n..];
            let changes = unpack(some, (*flags).into());
            if nonzero_bytes(changes) != u64::from(*flags) {
                return fail!(Corrupt, "a mask byte without changes that is said to have some");
            }
            if changes & begins != 0 {
                return fail!(Corrupt, "block {b} of a plane changes where it begins");
            }
            (any, begins) = (any | changes, 0);
            // Each bit becomes the parity of all bits up to it.
            let parity = [1, 2, 4, 8, 16, 32].iter().fold(changes, |parity, shift| parity ^ parity << shift);
            *word = parity ^ state;
            state = (*word as i64 >> 63) as u64;
        }
        if any == 0 {
            return fail!(Corrupt, "block {b} of a plane never changes");
        }
    }
    *rest = bytes;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::Level;

    fn masks_of(capacity: usize, values: usize, value: impl Fn(usize) -> usize) -> Vec<Mask> {
        let mut masks = vec![vec![0; capacity.div_ceil(64)]; values];
        for i in 0..capacity {
            if value(i) < values {
                masks[value(i)][i / 64] |= 1 << (i % 64);
            }
        }
        masks
    }

    fn cases() -> Vec<(usize, Vec<Mask>)> {
        let mut cases = vec![];
        for capacity in [2048, 4096, 8192, 16384] {
            for every in [1, 2, 3, 17, 64, 1000, 5000] {
                cases.push((capacity, masks_of(capacity, 1, |i| usize::from(i / every % 2 == 0))));
                cases.push((capacity, masks_of(capacity, 4, |i| (i / every).wrapping_mul(2_654_435_761) >> 7 & 7)));
            }
            cases.push((capacity, masks_of(capacity, 2, |i| if i == 777 { 1 } else { 9 })));
        }
        cases.retain(|(_, masks)| masks.iter().flatten().any(|w| *w != 0));
        cases
    }

    fn levels() -> impl Iterator<Item = Isa> {
        Level::ALL.into_iter().filter_map(Isa::of)
    }

    fn written(isa: Isa, capacity: usize, masks: &[Mask], unit: usize) -> Vec<u8> {
        let mut out = vec![0xaa; max_plane_bytes(capacity, masks.len()) + 16];
        let bytes = write_plane(isa, masks, block_elements(capacity), unit, &mut masks[0].clone(), &mut out);
        set_inner(2, &mut out);
        assert!(bytes <= max_plane_bytes(capacity, masks.len()) && bytes.is_multiple_of(unit));
        out.truncate(bytes);
        out
    }

    #[test]
    fn planes_come_back_and_are_the_same_at_every_level() {
        for (capacity, masks) in cases() {
            for unit in [16, 4] {
                let mut out = written(Isa::of(Level::Scalar).unwrap(), capacity, &masks, unit);
                for isa in levels() {
                    assert!(written(isa, capacity, &masks, unit) == out, "{isa:?}, {capacity}");
                }
                let bytes = out.len();
                out.push(0);
                for isa in levels() {
                    let mut back = vec![vec![!0; capacity / 64]; masks.len()];
                    let plane = read_plane(isa, &out, capacity, unit, &mut back).unwrap();
                    assert_eq!((plane.bytes, plane.inner), (bytes, 2));
                    assert!(back == masks, "{isa:?}, {capacity}");
                }
            }
        }
    }

    /// Every bit flip is refused, or gives other masks that are legal: never a panic, never a read beyond. All levels
    /// judge alike.
    #[test]
    fn damaged_planes_do_no_harm() {
        for (capacity, masks) in cases() {
            let mut out = written(Isa::best(), capacity, &masks, 16);
            let bytes = out.len();
            out.extend([0; 16]);
            let judge = |plane: &[u8]| {
                let mut all = levels().map(|isa| {
                    let mut back = vec![vec![!0; capacity / 64]; masks.len()];
                    read_plane(isa, plane, capacity, 16, &mut back).map(|plane| (plane.bytes, back))
                });
                let first = all.next().unwrap();
                assert!(all.all(|other| other == first), "levels judge differently, {capacity}");
                first
            };
            for bit in (0..8 * bytes).step_by(1 + bytes / 60) {
                let mut damaged = out.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                if let Ok((_, back)) = judge(&damaged) {
                    let legal = back.iter().flatten().any(|w| *w != 0);
                    assert!(legal && (back != masks || bit / 8 == 0), "{capacity}: bit {bit}");
                }
            }
            for len in (0..bytes).step_by(1 + bytes / 40) {
                assert!(judge(&out[..len]).is_err());
            }
        }
    }
}
