//! What a stream makes use of.

use std::collections::BTreeSet;

use super::*;

/// The features of the format that a valid stream uses, by name.
pub fn features(stream: &[u8]) -> Outcome<BTreeSet<&'static str>> {
    decode(stream)?;
    let header = header(stream)?;
    let mut found = BTreeSet::new();
    if header.codec == 4 {
        found.insert("predict");
    }
    if header.big_endian {
        found.insert("big-endian");
    }
    if stream[11] & 4 != 0 {
        found.insert("another follows");
    }
    found.insert(if header.step_w == 0 { "exact" } else { "quantized" });
    if header.groups > 1 {
        found.insert("groups");
    }
    if header.dims.len() > 1 {
        found.insert("dimensions");
    }
    if header.next {
        found.insert(if header.codec == 4 { "predict: next" } else { "next" });
    }
    if header.found > 0 {
        found.insert("found missing values");
    }
    let mut at = header.bodies_at;
    for chunk in 0..header.chunks {
        let (kind, bytes) = header.entry(stream, chunk)?;
        let body = slice(stream, at, bytes)?;
        at += bytes;
        if header.codec == 4 {
            found.extend(predict::features(&header, &header.chunk(chunk).1, kind, body)?);
            continue;
        }
        match kind {
            0 => packed_features(&header, body, &mut found)?,
            1 => _ = found.insert("raw"),
            2 => _ = found.insert("constant"),
            _ => masked_features(&header, body, &mut found)?,
        }
    }
    Ok(found)
}

pub(super) fn masked_features(header: &Header, body: &[u8], found: &mut BTreeSet<&'static str>) -> Outcome<()> {
    found.insert("masked");
    if (body[0] & 15).count_ones() > 1 {
        found.insert("several missing values");
    }
    match body[0] >> 6 {
        0 => packed_features(header, &body[(header.unit * number(body, 2, 2)?) as usize..], found),
        _ => {
            found.insert("masked constant");
            Ok(())
        }
    }
}

pub(super) fn packed_features(header: &Header, body: &[u8], found: &mut BTreeSet<&'static str>) -> Outcome<()> {
    let active = number(body, 0, 4)?;
    let base_width = u64::from(body[10] & 127);
    let special = body[11] >> 6;
    let high_half = if header.bits() == 64 { 4 } else { 0 };
    let descriptors_at = 16 + 16 * number(body, 8, 2)? + high_half + 4 * base_width;
    for &descriptor in slice(body, descriptors_at, active.count_ones().into())? {
        found.insert(match (descriptor >> 6, special) {
            (0, _) => "offset",
            (1, _) => "zigzag",
            (2, _) => "delta",
            (_, 0) => "exponent map",
            (_, 1) => "second difference",
            _ => "countdown",
        });
    }
    let used = [
        (active != 0xFFFF_FFFF, "inactive"),
        (number(body, 4, 4)? != 0, "patched"),
        (body[11] & 63 != 0, "shift"),
        (base_width == 0, "no bases"),
        (base_width != 0, "bases"),
        (body[10] >> 7 == 1, "exact chunk"),
    ];
    found.extend(used.iter().filter(|(holds, _)| *holds).map(|&(_, name)| name));
    Ok(())
}
