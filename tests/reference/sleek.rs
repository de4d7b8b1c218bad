//! Packed chunks of codec sleek, written from `docs/reference/codecs/sleek.md`.

use super::*;

// ---- SLEEK, §2: packed chunks ----

/// `count` values of `bits` bits, packed LSB-first.
pub(super) fn unpack(bytes: &[u8], count: usize, bits: u32) -> Vec<u64> {
    let value = |at: usize| {
        let around = bytes[at / 8..].iter().take(9).rev().fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
        (around >> (at % 8)) as u64 & mask(bits)
    };
    (0..count).map(|i| if bits == 0 { 0 } else { value(i * bits as usize) }).collect()
}

/// What the tail says of an active subchunk.
pub(super) struct Plan {
    mode: u8,
    width: u32,
    /// Element and high part, already moved to its place above the low bits.
    exceptions: Vec<(usize, u64)>,
}

/// All 16384 bytes' worth of elements of a packed chunk, as W-bit words.
pub(super) fn packed(header: &Header, body: &[u8]) -> Outcome<Vec<u64>> {
    let bits = header.bits();
    let active = number(body, 0, 4)? as u32;
    let patched = number(body, 4, 4)? as u32;
    let payload_bytes = 16 * number(body, 8, 2)?;
    let (base_width, exact) = (u32::from(body[10] & 127), body[10] >> 7 == 1);
    let shift_special = number(body, 11, 1)?;
    let mut base_ref = number(body, 12, 4)?;
    let (shift, special) = (shift_special as u32 & 63, shift_special >> 6);
    ensure(patched & !active == 0, || "an inactive subchunk is patched".into())?;
    ensure(patched == 0 || bits > 8, || "a subchunk of 8-bit elements is patched".into())?;
    ensure(base_width <= bits, || format!("base_width {base_width} is above {bits}"))?;
    ensure(shift < bits, || format!("shift {shift} is not below {bits}"))?;
    ensure(header.step_w != 0 || !exact, || "an exact chunk in a stream that is not quantized".into())?;
    let quantized = header.step_w != 0 && !exact;
    ensure(shift == 0 || !quantized, || format!("shift {shift} in a quantized chunk"))?;
    ensure(special <= 2, || format!("special {special} is undefined"))?;

    let payload = slice(body, 16, payload_bytes)?;
    let mut tail = Reader { rest: &body[16 + payload_bytes as usize..] };
    if bits == 64 {
        base_ref |= number(tail.take(4)?, 0, 4)? << 32;
    }
    ensure(base_ref <= mask(bits), || format!("base_ref {base_ref:#x} has more than {bits} bits"))?;
    let bases = unpack(tail.take(4 * base_width as usize)?, SUBCHUNKS, base_width);
    let mode3_allowed = special == 1 || (header.float.is_some() && !quantized && shift == 0);
    let mut plans = plans(header, active, patched, mode3_allowed, &mut tail)?;
    tail.finish(16, "tail")?;

    let mut payload = Reader { rest: payload };
    let mut elements = Vec::new();
    for s in 0..SUBCHUNKS {
        let base = base_ref.wrapping_add(bases[s]) & mask(bits);
        let words = match plans[s].take() {
            Some(plan) => subchunk(header, special, base, &plan, &mut payload)?,
            None => vec![base; SUBCHUNK_BYTES / header.elem_bytes],
        };
        for word in words {
            elements.push(if quantized { unquantize(header, word) } else { word << shift & mask(bits) });
        }
    }
    payload.finish(16, "payload")?;
    Ok(elements)
}

/// Items 3 to 7 of the tail.
pub(super) fn plans(
    header: &Header,
    active: u32,
    patched: u32,
    mode3_allowed: bool,
    tail: &mut Reader,
) -> Outcome<[Option<Plan>; SUBCHUNKS]> {
    let bits = header.bits();
    let len = SUBCHUNK_BYTES / header.elem_bytes;
    let is_set = |set: u32, s: usize| set >> s & 1 != 0;
    let mut plans = [const { None }; SUBCHUNKS];
    for s in (0..SUBCHUNKS).filter(|&s| is_set(active, s)) {
        let descriptor = tail.take(1)?[0];
        let mode = descriptor >> 6;
        let width = u32::from(descriptor & 63) + u32::from(!is_set(patched, s));
        ensure(width <= bits, || format!("subchunk {s}: width {width} is above {bits}"))?;
        ensure(mode != 3 || mode3_allowed, || {
            format!("subchunk {s}: mode 3 is for floats that are neither quantized nor shifted")
        })?;
        plans[s] = Some(Plan { mode, width, exceptions: Vec::new() });
    }
    let places: Vec<usize> = (0..SUBCHUNKS).filter(|&s| is_set(patched, s)).collect();
    let highs = tail.take(places.len())?;
    let mut flags = Vec::new();
    for &s in &places {
        let of_eights = unpack(tail.take(len / 64)?, len / 8, 1);
        ensure(of_eights.contains(&1), || format!("subchunk {s}: no eight has exceptions"))?;
        flags.push(of_eights);
    }
    let mut exceptions = Vec::new();
    for (s, flags) in places.iter().zip(flags) {
        let mut elements = Vec::new();
        for j in (0..len / 8).filter(|&j| flags[j] == 1) {
            let of_elements = unpack(tail.take(1)?, 8, 1);
            ensure(of_elements.contains(&1), || format!("subchunk {s}: eight {j} has no exceptions"))?;
            elements.extend((0..8).filter(|&i| of_elements[i] == 1).map(|i| 8 * j + i));
        }
        exceptions.push(elements);
    }
    for ((s, elements), &high) in places.into_iter().zip(exceptions).zip(highs) {
        let Some(plan) = &mut plans[s] else { return Err(format!("subchunk {s} is patched and inactive")) };
        let (count, high) = (elements.len(), u32::from(high));
        ensure(high >= 1 && plan.width + high <= bits, || format!("subchunk {s}: high parts of {high} bits"))?;
        let packed = tail.take((count * high as usize).div_ceil(8))?;
        let unused = packed.len() * 8 - count * high as usize;
        ensure(u32::from(packed[packed.len() - 1]) >> (8 - unused) == 0, || {
            format!("subchunk {s}: unused bits of the high parts are not zero")
        })?;
        let values = unpack(packed, count, high);
        plan.exceptions = elements.into_iter().zip(values).map(|(at, v)| (at, v << plan.width)).collect();
    }
    Ok(plans)
}

// ---- SLEEK, §3: from codes to elements ----

pub(super) fn zz(code: u64, bits: u32) -> u64 {
    ((code >> 1) ^ (code & 1).wrapping_neg()) & mask(bits)
}

/// The words x_i of an active subchunk.
pub(super) fn subchunk(
    header: &Header,
    special: u64,
    base: u64,
    plan: &Plan,
    payload: &mut Reader,
) -> Outcome<Vec<u64>> {
    let bits = header.bits();
    let len = SUBCHUNK_BYTES / header.elem_bytes;
    let mut codes = unpack(payload.take(len * plan.width as usize / 8)?, len, plan.width);
    for &(at, high) in &plan.exceptions {
        codes[at] += high;
    }
    let (mut word, mut step) = (base, 0u64);
    let mut words = Vec::new();
    for code in codes {
        let signed = zz(code, bits);
        let value = match (plan.mode, special, header.float) {
            (0, _, _) => base.wrapping_add(code),
            (1, _, _) => base.wrapping_add(signed),
            (2, _, _) => word.wrapping_add(signed),
            (_, 0, Some(float)) => unmap(code, bits, float.exponent),
            (_, 2, Some(float)) => uncount(code, base, bits, float.exponent),
            (_, 0 | 2, None) => return Err("mode 3 is for floats".into()),
            _ => {
                step = step.wrapping_add(signed);
                word.wrapping_add(step)
            }
        };
        word = value & mask(bits);
        words.push(word);
    }
    Ok(words)
}

// ---- SLEEK, §4: the exponent map ----

pub fn unmap(code: u64, bits: u32, exponent: u32) -> u64 {
    let mut x = zz(code, bits);
    if x >> (bits - exponent) != 0 {
        if x >= 1 << (bits - 1) {
            x = x.wrapping_add(1 << (bits - exponent));
        }
        x = x.wrapping_add(1 << (bits - 1)) & mask(bits);
    }
    (x >> 1) | (x & 1) << (bits - 1)
}

pub fn map(value: u64, bits: u32, exponent: u32) -> u64 {
    let mut x = (value << 1 | value >> (bits - 1)) & mask(bits);
    if x >> (bits - exponent) != 0 {
        x = x.wrapping_sub(1 << (bits - 1)) & mask(bits);
        if x >> (bits - exponent) == 0 || x >= 1 << (bits - 1) {
            x = x.wrapping_sub(1 << (bits - exponent)) & mask(bits);
        }
    }
    (x << 1 ^ (x >> (bits - 1)).wrapping_neg()) & mask(bits)
}

// ---- SLEEK, §5: the countdown ----

/// The word of a code, counted down from what `base` tells.
pub fn uncount(code: u64, base: u64, bits: u32, exponent: u32) -> u64 {
    let top = (base.wrapping_add(1) << (bits - exponent - 2)).wrapping_add(1);
    let y = if code < 2 { code } else { top.wrapping_sub(code) & mask(bits) };
    (y >> 1) | (y & 1) << (bits - 1)
}

// ---- SLEEK, §6: the quantizer ----

/// Q⁻¹, in integers throughout.
pub(super) fn unquantize(header: &Header, word: u64) -> u64 {
    let (Some(float), bits) = (header.float, header.bits()) else { return word };
    let sign = 1 << (bits - 1);
    let negative = word & sign != 0;
    let magnitude = if negative { word.wrapping_neg() & mask(bits) } else { word };
    let k = ((1 << float.mantissa) + 3) / header.step_w + 1;
    let restored = if magnitude < k {
        float_bits(magnitude * header.step_w, header.step_j, float)
    } else {
        let t = ((header.step_j + float.mantissa as i32 + float.bias) as u64) << float.mantissa;
        magnitude.wrapping_sub(k).wrapping_add(t) & mask(bits)
    };
    if negative { restored | sign } else { restored }
}

/// The bits of n · 2^j, for n below 2^(mantissa + 1) and a product that the type holds exactly.
pub(super) fn float_bits(n: u64, j: i32, float: Float) -> u64 {
    if n == 0 {
        return 0;
    }
    let top = n.ilog2();
    let biased = top as i32 + j + float.bias;
    if biased >= 1 {
        let fraction = (n << (float.mantissa - top)) - (1 << float.mantissa);
        (biased as u64) << float.mantissa | fraction
    } else {
        // Subnormal numbers are multiples of 2^(1 − bias − mantissa).
        n << (j - (1 - float.bias - float.mantissa as i32))
    }
}
