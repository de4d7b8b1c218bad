//! Few distinct elements, which the tile lists: words are their numbers in that list.

use crate::codec::interp::rules::SAMPLE_ALIKE;
use crate::codec::shared::reader::{take, take16, zero};
use crate::error::{Result, fail};
use crate::simd::word::Word;

/// Distinct elements, at most.
pub const MOST: usize = 256;

/// Of the elements that are compared with each other before the list is made, so many are like one before.
const ALIKE: usize = 2;

/// Whether a tile may have few distinct elements, by some of them.
pub fn may_be_few<W: Word>(elements: &[W]) -> bool {
    let step = elements.len().div_ceil(SAMPLE_ALIKE);
    let (mut some, mut count) = ([W::ZERO; SAMPLE_ALIKE], 0);
    elements.iter().step_by(step).zip(&mut some).for_each(|(bits, some)| (*some, count) = (*bits, count + 1));
    let is_like_another = |k: &usize| some[..*k].iter().fold(false, |any, w| any | (*w == some[*k]));
    (0..count).filter(is_like_another).count() >= ALIKE
}

/// The distinct elements in their order as numbers without sign; whether there are not too many.
pub fn list<W: Word>(elements: &[W], list: &mut Vec<W>) -> bool {
    list.clear();
    let mut last = None;
    for bits in elements {
        if last == Some(bits) {
            continue;
        }
        last = Some(bits);
        if let Err(at) = list.binary_search(bits) {
            if list.len() == MOST {
                return false;
            }
            list.insert(at, *bits);
        }
    }
    true
}

/// Bits that `write` adds.
pub fn cost<W: Word>(list: &[W]) -> u64 {
    16 + 8 * size_of_val(list).next_multiple_of(2) as u64
}

/// Writes how many there are, and these.
pub fn write<W: Word>(list: &[W], out: &mut Vec<u8>) {
    out.extend((list.len() as u16).to_le_bytes());
    for bits in list {
        let mut bytes = [0; 8];
        bits.store(&mut bytes[..size_of::<W>()]);
        out.extend(&bytes[..size_of::<W>()]);
    }
    if out.len() % 2 == 1 {
        out.push(0);
    }
}

/// Reads the bytes of what `write` wrote.
pub fn read<'a, W: Word>(rest: &mut &'a [u8]) -> Result<&'a [u8]> {
    let count = usize::from(take16(rest)?);
    if !(1..=MOST).contains(&count) {
        return fail!(Corrupt, "a tile lists {count} distinct elements; 1 to {MOST} are possible");
    }
    let bytes = take(rest, count * size_of::<W>())?;
    zero(take(rest, bytes.len() % 2)?)?;
    Ok(bytes)
}

/// The elements of numbers, which become them.
pub fn elements<W: Word>(list: &[u8], words: &mut [W]) -> Result<()> {
    let count = list.len() / size_of::<W>();
    for word in words {
        let at = usize::try_from(word.to_u64()).unwrap_or(usize::MAX);
        if at >= count {
            return fail!(Corrupt, "element {at} of a list of {count}");
        }
        *word = W::load(&list[at * size_of::<W>()..]);
    }
    Ok(())
}
