//! A chunk's body back to its data.

use std::ops::RangeInclusive;

use super::parts::{Parts, zero};
use super::plan::Plan;
use crate::error::{Result, fail};
use crate::format::constants::*;
use crate::format::{Body, Kind, Special, SubMode};
use crate::stage::quantize::{self, Element, Quantizer};
use crate::stage::simd::{READ_SLACK, Simd, SimdLevel};
use crate::stage::stream::{Ahead, Line, bytes_of};
use crate::stage::{exponent, word::Word};

/// A body that was checked, ready to be decoded; on the stack for the time of one chunk.
#[allow(clippy::large_enum_variant)]
enum Content<'a, W> {
    Raw(&'a [u8]),
    Constant(&'a [u8]),
    /// With the body, or a copy of it, that can be read `READ_SLACK` bytes behind its end.
    Packed(Parts<W>, &'a [u8]),
}

/// Decodes `body` into `out`, the whole bytes of the chunk; if `PAST_CACHES` as `stage::stream` writes. Each has code of its own, as what one does not use
/// costs it registers.
#[inline(always)]
pub fn chunk<E: Element, const S: usize, P: Simd<E::Word, S> + Simd<u16, S> + Simd<u8, S>, const PAST_CACHES: bool>(
    plan: &Plan,
    kind: Kind,
    body: Body,
    spare: &mut Spare,
    out: &mut [u8],
) -> Result<()> {
    let content = check::<E, S, P>(plan, kind, body, out.len(), spare)?;
    // What the decoder needs a group of chunks later, if these are as long as this one, can be fetched meanwhile.
    let ahead = body.and_rest.get(GROUP_CHUNKS * body.len..(GROUP_CHUNKS + 1) * body.len).unwrap_or(&[]);
    let size = size_of::<E::Word>();
    let lines = ahead.len().div_ceil(64 * SUBCHUNKS);
    let mut ahead = Ahead::new(ahead, body.len / 64);
    let (mut staged, mut last) = ([Line::ZERO; SUBCHUNK_BYTES / 64], Line::ZERO);
    // Has the bytes of each subchunk s written to a place. A macro, since as long a closure would be compiled on its own, without the level's
    // instructions.
    macro_rules! write {
        (|$s:ident, $place:ident| $subchunk:expr) => {
            if PAST_CACHES && P::JOINS_LINES {
                for $s in 0..out.len().div_ceil(SUBCHUNK_BYTES) {
                    ahead.fetch(lines);
                    let at = $s * SUBCHUNK_BYTES;
                    let len = SUBCHUNK_BYTES.min(out.len() - at);
                    let $place = &mut bytes_of(&mut staged)[..len];
                    $subchunk;
                    to_order(plan, size, $place);
                    P::stream(&staged, out, at, &mut last);
                }
            } else {
                for ($s, piece) in out.chunks_mut(SUBCHUNK_BYTES).enumerate() {
                    ahead.fetch(lines);
                    if !PAST_CACHES {
                        P::own(piece.as_ptr().wrapping_add(SUBCHUNK_BYTES));
                    }
                    let len = piece.len();
                    let $place = if PAST_CACHES { &mut bytes_of(&mut staged)[..len] } else { &mut *piece };
                    $subchunk;
                    to_order(plan, size, $place);
                    if PAST_CACHES {
                        P::stream(&staged, piece, 0, &mut last);
                    }
                }
            }
        };
    }
    match &content {
        Content::Raw(data) => write!(|s, place| place.copy_from_slice(&data[s * SUBCHUNK_BYTES..][..place.len()])),
        Content::Constant(element) => {
            write!(|_s, place| place.chunks_exact_mut(size).for_each(|p| p.copy_from_slice(element)));
        }
        Content::Packed(parts, body) => match &plan.quantizer {
            Some(q) if P::PREFERS_SMALL && E::Word::BITS > 16 && parts.widest <= u16::BITS => {
                let limit = if P::PREFERS_BYTES { u8::BITS } else { 0 };
                let mut bytes = Codes::<u8, S, 4>::new(parts, 0..=limit);
                let mut codes = Codes::<u16, S, 2>::new(parts, limit + 1..=u16::BITS);
                write!(|s, place| {
                    if u32::from(parts.full[s]) <= limit {
                        let codes = bytes.get::<E::Word, P>(parts, s, body);
                        bytes_subchunk::<E, S, P>(plan, parts, s, codes, place);
                    } else {
                        let codes = codes.get::<E::Word, P>(parts, s, body);
                        small_subchunk::<E, S, P>(plan, q, parts, s, body, codes, place);
                    }
                });
            }
            None if P::PREFERS_BYTES && E::Word::BITS > 16 && parts.widest <= u8::BITS => {
                let mut codes = Codes::<u8, S, 4>::new(parts, 0..=u8::BITS);
                write!(|s, place| {
                    let codes = codes.get::<E::Word, P>(parts, s, body);
                    bytes_subchunk::<E, S, P>(plan, parts, s, codes, place);
                });
            }
            _ => {
                let mut codes = Codes::<E::Word, S, 2>::new(parts, 0..=E::Word::BITS);
                write!(|s, place| {
                    let codes = codes.get::<E::Word, P>(parts, s, body);
                    subchunk::<E, S, P>(plan, parts, s, codes, place);
                });
            }
        },
    }
    Ok(())
}

/// Elements to the byte order that the stream's header wants.
#[inline(always)]
fn to_order(plan: &Plan, size: usize, elements: &mut [u8]) {
    if plan.big_endian {
        elements.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
}

/// The codes of some subchunks. Where there are exceptions N are unpacked before any of them is decoded, since while one waits, others work.
#[repr(align(64))]
struct Codes<X, const S: usize, const N: usize> {
    of: [[X; S]; N],
    /// Of so many.
    at_once: usize,
    /// Of those with codes of so many bits.
    widths: RangeInclusive<u8>,
    /// The first one that is not unpacked.
    next: usize,
}

impl<X: Word, const S: usize, const N: usize> Codes<X, S, N> {
    /// For the subchunks of these parts.
    #[inline(always)]
    fn new<W>(parts: &Parts<W>, widths: RangeInclusive<u32>) -> Self {
        let widths = *widths.start() as u8..=*widths.end() as u8;
        let at_once = if parts.header.patched != 0 { N } else { 1 };
        Codes { of: [[X::ZERO; S]; N], at_once, widths, next: 0 }
    }

    /// The codes of subchunk `s`; to be called for one after the other.
    #[inline(always)]
    fn get<W: Word, P: Simd<X, S>>(&mut self, parts: &Parts<W>, s: usize, body: &[u8]) -> &mut [X; S] {
        if s >= self.next {
            let first = s & !(self.at_once - 1);
            for t in first..first + self.at_once {
                if self.widths.contains(&parts.full[t]) {
                    unpack::<W, X, S, P>(parts, t, body, &mut self.of[t & (self.at_once - 1)]);
                }
            }
            self.next = first + self.at_once;
        }
        &mut self.of[s & (self.at_once - 1)]
    }
}

/// Takes a body that is too close to the end of the stream.
pub struct Spare([u8; CHUNK_BYTES + READ_SLACK]);

impl Spare {
    /// Empty.
    pub fn new() -> Spare {
        Spare([0; CHUNK_BYTES + READ_SLACK])
    }
}

/// Checks the body of a chunk of `raw_bytes`.
#[inline(always)]
fn check<'a, E: Element, const S: usize, P: Simd<E::Word, S>>(
    plan: &Plan,
    kind: Kind,
    body: Body<'a>,
    raw_bytes: usize,
    spare: &'a mut Spare,
) -> Result<Content<'a, E::Word>> {
    let (body, readable) = (body.bytes(), body.and_rest);
    let cut = |bytes, what| match body.split_at_checked(bytes) {
        Some((data, padding)) => zero(padding).map(|()| data),
        None => fail!(Corrupt, "a {what} body of {} bytes for {raw_bytes} bytes of data", body.len()),
    };
    match kind {
        Kind::Raw => cut(raw_bytes, "raw").map(Content::Raw),
        Kind::Constant => cut(size_of::<E::Word>(), "constant").map(Content::Constant),
        Kind::Packed => {
            let parts = Parts::<E::Word>::read::<S, P>(plan, body)?;
            parts.check_domain::<E>(plan)?;
            if readable.len() >= body.len() + READ_SLACK {
                return Ok(Content::Packed(parts, readable));
            }
            spare.0[..body.len()].copy_from_slice(body);
            Ok(Content::Packed(parts, &spare.0))
        }
    }
}

/// Decodes subchunk `s` from its `codes`, which it uses up.
#[inline(always)]
fn subchunk<E: Element, const S: usize, P: Simd<E::Word, S>>(
    plan: &Plan,
    parts: &Parts<E::Word>,
    s: usize,
    codes: &mut [E::Word; S],
    out: &mut [u8],
) {
    let base = parts.bases[s];
    if parts.header.active >> s & 1 == 0 {
        return finish::<E, _, S, P>(plan, parts, codes, out, |_| base);
    }
    match (SubMode::of(parts.descriptors[s]), parts.header.special) {
        (SubMode::Offset, _) => finish::<E, _, S, P>(plan, parts, codes, out, |c| c.add(base)),
        (SubMode::ZigZag, _) => finish::<E, _, S, P>(plan, parts, codes, out, |c| c.unzigzag().add(base)),
        (SubMode::Special, Special::Exponent) => {
            finish::<E, _, S, P>(plan, parts, codes, out, |c| exponent::decode(c, E::EXPONENT_BITS));
        }
        (mode, _) => {
            P::sum_up(base, mode == SubMode::Special, codes);
            finish::<E, _, S, P>(plan, parts, codes, out, |x| x);
        }
    }
}

/// The same from codes of up to 16 bits of a quantized stream: sums of 16 bits are tried first.
#[inline(always)]
fn small_subchunk<E: Element, const S: usize, P: Simd<E::Word, S> + Simd<u16, S>>(
    plan: &Plan,
    q: &Quantizer,
    parts: &Parts<E::Word>,
    s: usize,
    body: &[u8],
    codes: &mut [u16; S],
    out: &mut [u8],
) {
    let base = parts.bases[s];
    if parts.header.active >> s & 1 == 0 {
        return store(codes, out, |_| quantize::decode::<E, P>(q, base));
    }
    // Then all integers are bins.
    let is_near = base.magnitude().to_u64() + (1 << u16::BITS) < q.k;
    let near = |distance: u64| E::value::<P>(q, base.add(E::Word::from_u64(distance)));
    match SubMode::of(parts.descriptors[s]) {
        SubMode::Offset if is_near => return store(codes, out, |c| near(c.to_u64())),
        SubMode::ZigZag if is_near => return store(codes, out, |c| near(c.unzigzag().extend())),
        mode @ (SubMode::Delta | SubMode::Special) if is_near && P::try_sum_up(mode == SubMode::Special, codes) => {
            return store(codes, out, |x| near(x.extend()));
        }
        _ => (),
    }
    let mut codes = [E::Word::ZERO; S];
    unpack::<E::Word, E::Word, S, P>(parts, s, body, &mut codes);
    subchunk::<E, S, P>(plan, parts, s, &mut codes, out);
}

/// The same from codes of up to 8 bits.
#[inline(always)]
fn bytes_subchunk<E: Element, const S: usize, P: SimdLevel>(
    plan: &Plan,
    parts: &Parts<E::Word>,
    s: usize,
    codes: &[u8; S],
    out: &mut [u8],
) {
    let base = parts.bases[s];
    if parts.header.active >> s & 1 == 0 {
        return finish::<E, _, S, P>(plan, parts, codes, out, |_| base);
    }
    let from_base = |distance: u64| base.add(E::Word::from_u64(distance));
    match (SubMode::of(parts.descriptors[s]), parts.header.special) {
        (SubMode::Offset, _) => near::<E, _, S, P>(plan, parts, 256, base, codes, out, |c| from_base(c.to_u64())),
        (SubMode::ZigZag, _) => {
            near::<E, _, S, P>(plan, parts, 256, base, codes, out, |c| from_base(c.unzigzag().extend()))
        }
        (SubMode::Special, Special::Exponent) => {
            finish::<E, _, S, P>(plan, parts, codes, out, |c| {
                exponent::decode(E::Word::from_u64(c.to_u64()), E::EXPONENT_BITS)
            });
        }
        (mode, _) => {
            let mut sums = [0; S];
            let twice = mode == SubMode::Special;
            P::sum_up_bytes(twice, codes, &mut sums);
            let reach = 128 * if twice { S * (S + 1) / 2 } else { S };
            near::<E, _, S, P>(plan, parts, reach as u64, base, &sums, out, |x| from_base(x.extend()));
        }
    }
}

/// `finish`, where integers are less than `reach` from `base`.
#[inline(always)]
fn near<E: Element, X: Word, const S: usize, P: SimdLevel>(
    plan: &Plan,
    parts: &Parts<E::Word>,
    reach: u64,
    base: E::Word,
    codes: &[X; S],
    out: &mut [u8],
    integer: impl Fn(X) -> E::Word,
) {
    match &plan.quantizer {
        // Then all integers are bins.
        Some(q) if base.magnitude().to_u64() + reach < q.k => store(codes, out, |c| E::value::<P>(q, integer(c))),
        _ => finish::<E, X, S, P>(plan, parts, codes, out, integer),
    }
}

/// Turns codes into integers by `integer`, these into elements, and writes them: one pass.
#[inline(always)]
fn finish<E: Element, X: Word, const S: usize, P: SimdLevel>(
    plan: &Plan,
    parts: &Parts<E::Word>,
    codes: &[X; S],
    out: &mut [u8],
    integer: impl Fn(X) -> E::Word,
) {
    match &plan.quantizer {
        Some(q) => store(codes, out, |c| quantize::decode::<E, P>(q, integer(c))),
        None => {
            let shift = u32::from(parts.header.shift);
            store(codes, out, |c| integer(c) << shift);
        }
    }
}

/// Writes the elements as little-endian bytes, as many as `out` takes.
#[inline(always)]
fn store<X: Word, W: Word, const S: usize>(codes: &[X; S], out: &mut [u8], element: impl Fn(X) -> W) {
    let size = size_of::<W>();
    // A whole subchunk, the common case, has a length that the compiler knows.
    match <&mut [u8; SUBCHUNK_BYTES]>::try_from(&mut *out) {
        Ok(out) => {
            for i in 0..S {
                element(codes[i]).store(&mut out[i * size..(i + 1) * size]);
            }
        }
        Err(_) => {
            for (o, c) in out.chunks_exact_mut(size).zip(codes) {
                element(*c).store(o);
            }
        }
    }
}

/// The codes of subchunk `s`, exceptions included; zeros where it has none.
#[inline(always)]
fn unpack<W: Word, X: Word, const S: usize, P: Simd<X, S>>(
    parts: &Parts<W>,
    s: usize,
    body: &[u8],
    codes: &mut [X; S],
) {
    let width = u32::from(parts.widths[s]);
    if width > 0 {
        P::unpack(&body[parts.payload_at[s] as usize..], width, codes);
    } else {
        codes.fill(X::ZERO);
    }
    let e = parts.exceptions[s];
    if e.count > 0 {
        let (positions, highs) = body[e.at as usize..].split_at(e.count as usize);
        P::merge(codes, width, positions, highs, e.high_width.into());
    }
}
