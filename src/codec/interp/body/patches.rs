//! Elements of a tile that its predictor does not restore as they must be: corrections, in fine steps, and exceptions,
//! bit for bit (docs/reference/codecs/interp.md §7).

use crate::codec::shared::reader::{take, take16};
use crate::error::{Result, fail};
use crate::host::memory::reserve;
use crate::primitives::lorenzo::AXES;
use crate::simd::word::Word;

/// A correction is no more than this, and its kind so much above it.
pub const MOST_CORRECTION: i32 = 7;
pub const NO_CORRECTION: i32 = MOST_CORRECTION + 1;
pub const KIND_BITS: u32 = 4;
/// Elements between two, at most.
const MOST_GAP: usize = (1 << (16 - KIND_BITS)) - 1;
/// All exceptions have the same bits.
pub const ALL_SAME: u16 = 1 << 15;

/// What becomes of an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Patch {
    /// So much is added to its multiple.
    Correction(i32),
    /// These are its bits.
    Exception(u64),
}

/// The patches of a tile, by the numbers of elements, which rise.
pub type Patches = Vec<(u16, Patch)>;

/// None, with room for those of tiles of `n` elements.
pub fn none(n: usize) -> Result<Patches> {
    let mut patches = Vec::new();
    reserve(&mut patches, n)?;
    Ok(patches)
}

/// Keeps those of elements of a tile that are on the grid of a level, by their numbers there.
pub fn thin(patches: &mut Patches, lens: [usize; AXES], level: u32) {
    let [x, y, _] = lens.map(|n| (n as u64).div_ceil(1 << level) as usize);
    patches.retain_mut(|(at, _)| {
        let n = usize::from(*at);
        let place = [n % lens[0], n / lens[0] % lens[1], n / lens[0] / lens[1]];
        let [i, j, k] = place.map(|place| place as u64 >> level);
        *at = ((k as usize * y + j as usize) * x + i as usize) as u16;
        place.iter().all(|place| (*place as u64).is_multiple_of(1 << level))
    });
}

/// Writes them for elements of `size` bytes, if there are any.
pub fn write(patches: &[(u16, Patch)], size: usize, out: &mut Vec<u8>) {
    if patches.is_empty() {
        return;
    }
    let start = out.len();
    let (mut count, mut next) = (0u16, 0usize);
    out.extend([0, 0]);
    let mut put = |gap: usize, kind: i32, out: &mut Vec<u8>| {
        out.extend(((gap << KIND_BITS) as u16 | kind as u16).to_le_bytes());
        count += 1;
    };
    for (number, patch) in patches {
        let mut gap = usize::from(*number) - next;
        while gap > MOST_GAP {
            put(MOST_GAP, NO_CORRECTION, out);
            gap -= MOST_GAP + 1;
        }
        let kind = match patch {
            Patch::Correction(by) => NO_CORRECTION + by,
            Patch::Exception(_) => 0,
        };
        put(gap, kind, out);
        next = usize::from(*number) + 1;
    }
    let exceptions =
        || patches.iter().filter_map(|(_, p)| if let Patch::Exception(bits) = p { Some(bits) } else { None });
    let first = exceptions().next();
    let same = exceptions().all(|bits| Some(bits) == first);
    let listed = if same { exceptions().take(1) } else { exceptions().take(usize::MAX) };
    listed.for_each(|bits| out.extend(&bits.to_le_bytes()[..size]));
    out[start..start + 2].copy_from_slice(&(count | if same { ALL_SAME } else { 0 }).to_le_bytes());
}

/// Reads those of `n` elements of a word's size.
pub fn read<W: Word>(rest: &mut &[u8], n: usize, patches: &mut Patches) -> Result<()> {
    patches.clear();
    let head = take16(rest)?;
    let (count, same) = (usize::from(head & !ALL_SAME), head & ALL_SAME != 0);
    if !(1..=n).contains(&count) {
        return fail!(Corrupt, "a tile of {n} elements has {count} patches");
    }
    let mut next = 0;
    for bytes in take(rest, 2 * count)?.as_chunks().0 {
        let entry = u16::from_le_bytes(*bytes);
        let number = next + usize::from(entry >> KIND_BITS);
        if number >= n {
            return fail!(Corrupt, "element {number} of {n} has a patch");
        }
        let kind = i32::from(entry) & ((1 << KIND_BITS) - 1);
        let patch = if kind == 0 { Patch::Exception(0) } else { Patch::Correction(kind - NO_CORRECTION) };
        patches.push((number as u16, patch));
        next = number + 1;
    }
    let mut bits = None;
    for (_, patch) in patches.iter_mut() {
        if let Patch::Exception(place) = patch {
            if bits.is_none() || !same {
                bits = Some(W::load(take(rest, size_of::<W>())?).to_u64());
            }
            *place = bits.unwrap_or(0);
        }
    }
    Ok(())
}

/// Passes those of a tile that is read later.
pub fn pass<W: Word>(rest: &mut &[u8]) -> Result<()> {
    let head = take16(rest)?;
    let entries = take(rest, 2 * usize::from(head & !ALL_SAME))?;
    let exceptions = entries.chunks_exact(2).filter(|entry| entry[0] & ((1 << KIND_BITS) - 1) == 0).count();
    let listed = if head & ALL_SAME != 0 { exceptions.min(1) } else { exceptions };
    take(rest, listed * size_of::<W>())?;
    Ok(())
}
