//! Missing values and their planes (`docs/reference/format.md` §5).

use super::*;

/// A masked body: a plane, and behind it a packed or constant body with the other elements, which `restore` knows.
pub(super) fn masked(
    header: &Container,
    lens: &[u64],
    body: &[u8],
    restore: impl FnOnce(u64, &[u8]) -> Outcome<Vec<u8>>,
) -> Outcome<Vec<u8>> {
    let size = header.elem_bytes;
    let raw = header.ceil_unit(lens.iter().product::<u64>() as usize * size);
    ensure(!header.missing.is_empty(), || "a masked chunk of a stream without missing values".into())?;
    ensure((body.len() as u64) < raw, || format!("a masked body of {} bytes", body.len()))?;
    let [first, zero] = [number(body, 0, 1)?, number(body, 1, 1)?];
    let (which, inner) = (first & 15, first >> 6);
    ensure(first & 0x30 == 0 && zero == 0, || "a plane's reserved bits are not zero".into())?;
    ensure(which != 0 && which >> header.missing.len() == 0, || format!("a plane of the values {which:#b}"))?;
    let plane_bytes = header.unit * number(body, 2, 2)?;
    let plane = slice(body, 0, plane_bytes)?;
    let rest = &body[plane.len()..];
    ensure(inner == 0 && !rest.is_empty() || inner == 2, || {
        format!("a masked body has one of kind {inner} and {} bytes within", rest.len())
    })?;
    let mut data = restore(inner, rest)?;
    let mut reader = Reader { rest: plane.get(4..).ok_or("a plane of less than 4 bytes")? };
    let mut taken = vec![false; header.capacity().next_multiple_of(64)];
    for (k, value) in header.missing.iter().enumerate().filter(|(k, _)| which >> k & 1 == 1) {
        for (i, is_missing) in plane_of_value(header.capacity(), &mut reader)?.into_iter().enumerate() {
            ensure(!(is_missing && taken[i]), || format!("element {i} has two missing values, the second is {k}"))?;
            taken[i] |= is_missing;
            if let Some(place) = data.chunks_mut(size).nth(i).filter(|_| is_missing) {
                place.copy_from_slice(&value.to_le_bytes()[..size]);
                if header.big_endian {
                    place.reverse();
                }
            }
        }
    }
    reader.finish(header.unit, "plane")?;
    Ok(data)
}

/// The element itself, or the next larger number where a missing value is the same number; for one missing value after
/// the other.
pub(super) fn beside(header: &Container, element: u64) -> u64 {
    let sign = 1u64 << (8 * header.elem_bytes - 1);
    let special = header.float.as_ref().map_or(0, |float| ((1 << float.exponent) - 1) << float.mantissa);
    let number = |bits: u64| match header.elem_bytes {
        8 => f64::from_bits(bits),
        4 => f32::from_bits(bits as u32).into(),
        // Those of 16 bits are compared as they are ordered; the largest exponent is no number.
        _ if bits & special == special => f64::NAN,
        _ if bits & sign == 0 => bits as f64,
        _ => -((bits - sign) as f64),
    };
    let next = |bits: u64| match bits {
        _ if bits & !sign == 0 => 1,
        _ if bits & sign != 0 => bits - 1,
        _ => bits + 1,
    };
    header.missing.iter().fold(element, |element, missing| {
        let becomes = number(*missing) == number(element) && number(*missing).is_finite();
        if becomes && number(next(element)).is_finite() { next(element) } else { element }
    })
}

/// For each of a chunk's elements whether it is the value that the next part of a plane tells of.
pub(super) fn plane_of_value(capacity: usize, reader: &mut Reader) -> Outcome<Vec<bool>> {
    let block = (capacity / 32).max(64);
    let blocks = capacity.div_ceil(block);
    let first = unpack(reader.take(4)?, 32, 1);
    let mixed = unpack(reader.take(4)?, 32, 1);
    let of_blocks = [&first[blocks..], &mixed[blocks..]].concat();
    ensure(!of_blocks.contains(&1), || format!("a plane tells of more than {blocks} blocks"))?;
    ensure(first.contains(&1) || mixed.contains(&1), || "a plane of a value that no element has".into())?;
    let mixed: Vec<usize> = (0..blocks).filter(|&b| mixed[b] == 1).collect();
    let flags = unpack(reader.take(mixed.len() * block / 64)?, mixed.len() * block / 8, 1);
    let mut changes = vec![0; blocks * block];
    for (m, &b) in mixed.iter().enumerate() {
        for j in (0..block / 8).filter(|j| flags[m * block / 8 + j] == 1) {
            let eight = unpack(reader.take(1)?, 8, 1);
            ensure(eight.contains(&1), || format!("block {b}: eight {j} has no changes"))?;
            changes[b * block + 8 * j..][..8].copy_from_slice(&eight);
        }
        let changes = &changes[b * block..][..block];
        ensure(changes[0] == 0 && changes.contains(&1), || format!("block {b} changes at its start, or never"))?;
    }
    let mut state = 0;
    let mut elements = Vec::new();
    for i in 0..blocks * block {
        state = if i % block == 0 { first[i / block] } else { state ^ changes[i] };
        elements.push(state == 1);
    }
    Ok(elements)
}
