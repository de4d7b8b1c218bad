//! A chunk's body back to its data.

use std::ops::Range;

use super::constants::*;
use super::countdown;
use super::exponent_map as exponent;
use super::parts::Parts;
use super::plan::Plan;
use crate::codec::shared::reader::zero;
use crate::codec::sleek::format::{Special, SubMode};
use crate::codec::sleek::simd::{READ_SLACK, Simd, SimdLevel, subchunk_of};
use crate::container::constants::*;
use crate::container::{Body, Kind};
use crate::error::{Result, fail};
use crate::host::memory::Scratch;
use crate::primitives::quantize::{self, Element, Quantizer};
use crate::simd::Arithmetic;
use crate::simd::stream::{Line, PrefetchQueue};
use crate::simd::word::Word;

/// A body that was checked, ready to be decoded.
enum Content<'a> {
    Raw(&'a [u8]),
    Constant(&'a [u8]),
    /// The body, or a copy of it, that can be read `READ_SLACK` bytes behind its end.
    Packed(&'a [u8]),
}

/// Decodes `body` into `out`, the whole bytes of the chunk; if `PAST_CACHES` as `simd::stream` writes. Each has
/// code of its own, as what one does not use costs it registers.
#[inline(always)]
pub fn chunk<E: Element, const S: usize, P: Simd<E::Word, S> + Simd<u16, S> + Simd<u8, S>, const PAST_CACHES: bool>(
    p: P,
    plan: &Plan,
    kind: Kind,
    body: Body,
    ahead: &[u8],
    spare: &mut Spare,
    out: &mut [u8],
) -> Result<()> {
    let mut parts = Parts::new();
    let content = check::<E, S, P>(p, plan, kind, body, out.len(), &mut spare.body, &mut parts)?;
    let parts = &parts;
    let of_bits = plan.of_bits();
    let plan = if parts.header.exact { &of_bits } else { plan };
    // Subchunks are always whole: a chunk that ends within one is decoded apart.
    let mut apart = None;
    let subchunks = if out.len().is_multiple_of(SUBCHUNK_BYTES) {
        out.as_chunks_mut().0
    } else {
        let data = apart.insert(spare.data.as_chunks_mut().0);
        &mut data[..out.len().div_ceil(SUBCHUNK_BYTES)]
    };
    let size = size_of::<E::Word>();
    let lines = ahead.len().div_ceil(64 * SUBCHUNKS);
    let mut prefetch = PrefetchQueue::new(ahead, ahead.len() / 64);
    let (mut staged, mut last) = ([Line::ZERO; SUBCHUNK_BYTES / 64], Line::ZERO);
    // Has the bytes of each subchunk s written to a place. A macro, since as long a closure would be compiled on its
    // own, without the level's instructions.
    macro_rules! write {
        (|$s:ident, $place:ident| $subchunk:expr) => {
            if PAST_CACHES && P::JOINS_LINES {
                for $s in 0..subchunks.len() {
                    prefetch.fetch(lines);
                    let $place = subchunk_of(&mut staged);
                    $subchunk;
                    to_order(plan, size, $place);
                    p.stream(&staged, subchunks.as_flattened_mut(), $s * SUBCHUNK_BYTES, &mut last);
                }
            } else {
                for ($s, subchunk) in subchunks.iter_mut().enumerate() {
                    prefetch.fetch(lines);
                    if !PAST_CACHES {
                        p.prefetchw(subchunk.as_ptr().wrapping_add(SUBCHUNK_BYTES));
                    }
                    let $place = if PAST_CACHES { subchunk_of(&mut staged) } else { &mut *subchunk };
                    $subchunk;
                    to_order(plan, size, $place);
                    if PAST_CACHES {
                        p.stream(&staged, subchunk, 0, &mut last);
                    }
                }
            }
        };
    }
    match content {
        Content::Raw(data) => write!(|s, place| {
            let data = &data[s * SUBCHUNK_BYTES..];
            let len = data.len().min(SUBCHUNK_BYTES);
            place[..len].copy_from_slice(&data[..len]);
        }),
        Content::Constant(element) => {
            write!(|_s, place| place.chunks_exact_mut(size).for_each(|p| p.copy_from_slice(element)));
        }
        Content::Packed(body) => match &plan.quantizer {
            Some(q) if P::PREFERS_SMALL && E::Word::BITS > 16 && parts.widest <= u16::BITS => {
                let limit = if P::PREFERS_BYTES { u8::BITS as u8 } else { 0 };
                let (mut bytes, mut codes) = (Codes::<u8, S, 4>::new(), Codes::<u16, S, 4>::new());
                write!(|s, place| {
                    for t in ahead_of::<4>(s, parts) {
                        if parts.full[t] <= limit {
                            unpack::<E::Word, u8, S, P>(p, parts, t, body, bytes.of(t));
                        } else {
                            unpack::<E::Word, u16, S, P>(p, parts, t, body, codes.of(t));
                        }
                    }
                    if parts.full[s] <= limit {
                        bytes_subchunk::<E, S, P>(p, plan, parts, s, bytes.of(s), place);
                    } else {
                        let fits = small_subchunk::<E, S, P>(p, q, parts, s, codes.of(s), place);
                        if !fits {
                            let mut codes = [E::Word::ZERO; S];
                            unpack::<E::Word, E::Word, S, P>(p, parts, s, body, &mut codes);
                            subchunk::<E, S, P>(p, plan, parts, s, &mut codes, place);
                        }
                    }
                });
            }
            None if P::PREFERS_BYTES
                && E::Word::BITS > 16
                && parts.widest <= u8::BITS
                && parts.header.special != Special::Countdown =>
            {
                let mut codes = Codes::<u8, S, 4>::new();
                write!(|s, place| {
                    for t in ahead_of::<4>(s, parts) {
                        unpack::<E::Word, u8, S, P>(p, parts, t, body, codes.of(t));
                    }
                    bytes_subchunk::<E, S, P>(p, plan, parts, s, codes.of(s), place);
                });
            }
            _ => {
                let mut codes = Codes::<E::Word, S, 2>::new();
                write!(|s, place| {
                    for t in ahead_of::<2>(s, parts) {
                        unpack::<E::Word, E::Word, S, P>(p, parts, t, body, codes.of(t));
                    }
                    subchunk::<E, S, P>(p, plan, parts, s, codes.of(s), place);
                });
            }
        },
    }
    if let Some(data) = apart {
        out.copy_from_slice(&data.as_flattened()[..out.len()]);
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

/// The subchunks to unpack before `s` is decoded: itself, or where there are exceptions N at once, since while one
/// waits for them others work.
#[inline(always)]
fn ahead_of<const N: usize>(s: usize, parts: &Parts<impl Word>) -> Range<usize> {
    match parts.header.patched {
        0 => s..s + 1,
        _ if s.is_multiple_of(N) => s..(s + N).min(SUBCHUNKS),
        _ => s..s,
    }
}

/// The codes of N subchunks.
#[repr(align(64))]
struct Codes<X, const S: usize, const N: usize>([[X; S]; N]);

impl<X: Word, const S: usize, const N: usize> Codes<X, S, N> {
    #[inline(always)]
    fn new() -> Self {
        Codes([[X::ZERO; S]; N])
    }

    /// Those of subchunk `s`.
    #[inline(always)]
    fn of(&mut self, s: usize) -> &mut [X; S] {
        &mut self.0[s % N]
    }
}

/// Takes what cannot be where it belongs. What is in it before is of no meaning.
pub struct Spare {
    /// A body that is too close to the end of the stream.
    body: Scratch,
    /// The data of a chunk that ends within a subchunk.
    data: Scratch,
}

impl Spare {
    /// Fails when memory is short.
    pub fn new() -> Result<Spare> {
        Ok(Spare { body: Scratch::new(CHUNK_BYTES + READ_SLACK)?, data: Scratch::new(CHUNK_BYTES)? })
    }
}

/// Checks the body of a chunk of `raw_bytes`, of which `parts` tell if it is packed.
#[inline(always)]
fn check<'a, E: Element, const S: usize, P: Simd<E::Word, S>>(
    p: P,
    plan: &Plan,
    kind: Kind,
    body: Body<'a>,
    raw_bytes: usize,
    spare: &'a mut [u8],
    parts: &mut Parts<E::Word>,
) -> Result<Content<'a>> {
    let (body, readable) = (body.bytes(), body.and_rest);
    let cut = |bytes, what| match body.split_at_checked(bytes) {
        Some((data, padding)) => zero(padding).map(|()| data),
        None => fail!(Corrupt, "a {what} body of {} bytes for {raw_bytes} bytes of data", body.len()),
    };
    match kind {
        Kind::Raw => cut(raw_bytes, "raw").map(Content::Raw),
        Kind::Constant => cut(size_of::<E::Word>(), "constant").map(Content::Constant),
        Kind::Packed => {
            let readable = if readable.len() >= body.len() + READ_SLACK {
                readable
            } else {
                spare[..body.len()].copy_from_slice(body);
                spare
            };
            parts.read::<S, P>(p, plan, readable, body.len())?;
            parts.check_domain(plan)?;
            Ok(Content::Packed(readable))
        }
        Kind::Masked => fail!(Internal, "the runtime takes planes off before it asks a codec"),
    }
}

/// Decodes subchunk `s` from its `codes`, which it uses up.
#[inline(always)]
fn subchunk<E: Element, const S: usize, P: Simd<E::Word, S>>(
    p: P,
    plan: &Plan,
    parts: &Parts<E::Word>,
    s: usize,
    codes: &mut [E::Word; S],
    out: &mut [u8; SUBCHUNK_BYTES],
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
        (SubMode::Special, Special::Countdown) if E::EXPONENT_BITS > 0 => {
            let top = countdown::top(base, E::EXPONENT_BITS);
            finish::<E, _, S, P>(plan, parts, codes, out, |c| countdown::decode(c, top));
        }
        (mode, _) => {
            p.zigzag_delta_decode(base, mode == SubMode::Special, codes);
            finish::<E, _, S, P>(plan, parts, codes, out, |x| x);
        }
    }
}

/// The same from codes of up to 16 bits of a quantized stream, with sums of 16 bits; `false` if these do not fit, and
/// then the codes are used up for nothing.
#[inline(always)]
fn small_subchunk<E: Element, const S: usize, P: Simd<E::Word, S> + Simd<u16, S>>(
    p: P,
    q: &Quantizer,
    parts: &Parts<E::Word>,
    s: usize,
    codes: &mut [u16; S],
    out: &mut [u8; SUBCHUNK_BYTES],
) -> bool {
    let base = parts.bases[s];
    if parts.header.active >> s & 1 == 0 {
        store(codes, out, |_| quantize::decode::<E, P>(q, base));
        return true;
    }
    let is_near = is_near(q, base, 1 << u16::BITS);
    let near = |distance: u64| E::value::<P>(q, base.add(E::Word::from_u64(distance)));
    match SubMode::of(parts.descriptors[s]) {
        SubMode::Offset if is_near => store(codes, out, |c| near(c.to_u64())),
        SubMode::ZigZag if is_near => store(codes, out, |c| near(c.unzigzag().extend())),
        mode @ (SubMode::Delta | SubMode::Special)
            if is_near && p.try_zigzag_delta_decode(mode == SubMode::Special, codes) =>
        {
            store(codes, out, |x| near(x.extend()));
        }
        _ => return false,
    }
    true
}

/// The same from codes of up to 8 bits, of other modes than a countdown.
#[inline(always)]
fn bytes_subchunk<E: Element, const S: usize, P: SimdLevel>(
    p: P,
    plan: &Plan,
    parts: &Parts<E::Word>,
    s: usize,
    codes: &[u8; S],
    out: &mut [u8; SUBCHUNK_BYTES],
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
            let second_difference = mode == SubMode::Special;
            let reach = 128 * if second_difference { S * (S + 1) / 2 } else { S } as u64;
            match &plan.quantizer {
                Some(q) if is_near(q, base, reach) => {
                    p.zigzag_delta_decode_bytes(E::sum_start(base), second_difference, codes, &mut sums);
                    store(&sums, out, |x| E::value_of_sum::<P>(q, base, x));
                }
                _ => {
                    p.zigzag_delta_decode_bytes(0, second_difference, codes, &mut sums);
                    finish::<E, _, S, P>(plan, parts, &sums, out, |x| from_base(x.extend()));
                }
            }
        }
    }
}

/// Whether integers less than `reach` from `base` are bins.
#[inline(always)]
fn is_near<W: Word>(q: &Quantizer, base: W, reach: u64) -> bool {
    base.magnitude().to_u64() + reach < q.k
}

/// `finish`, where integers are less than `reach` from `base`.
#[inline(always)]
fn near<E: Element, X: Word, const S: usize, A: Arithmetic>(
    plan: &Plan,
    parts: &Parts<E::Word>,
    reach: u64,
    base: E::Word,
    codes: &[X; S],
    out: &mut [u8; SUBCHUNK_BYTES],
    integer: impl Fn(X) -> E::Word,
) {
    match &plan.quantizer {
        Some(q) if is_near(q, base, reach) => store(codes, out, |c| E::value::<A>(q, integer(c))),
        _ => finish::<E, X, S, A>(plan, parts, codes, out, integer),
    }
}

/// Turns codes into integers by `integer`, these into elements, and writes them: one pass.
#[inline(always)]
fn finish<E: Element, X: Word, const S: usize, A: Arithmetic>(
    plan: &Plan,
    parts: &Parts<E::Word>,
    codes: &[X; S],
    out: &mut [u8; SUBCHUNK_BYTES],
    integer: impl Fn(X) -> E::Word,
) {
    match &plan.quantizer {
        Some(q) => store(codes, out, |c| quantize::decode::<E, A>(q, integer(c))),
        None => {
            let shift = u32::from(parts.header.shift);
            store(codes, out, |c| integer(c) << shift);
        }
    }
}

/// Writes the elements as little-endian bytes.
#[inline(always)]
fn store<X: Word, W: Word, const S: usize>(codes: &[X; S], out: &mut [u8; SUBCHUNK_BYTES], element: impl Fn(X) -> W) {
    let size = size_of::<W>();
    for i in 0..S {
        element(codes[i]).store(&mut out[i * size..(i + 1) * size]);
    }
}

/// The codes of subchunk `s`, exceptions included; zeros where it has none.
#[inline(always)]
fn unpack<W: Word, X: Word, const S: usize, P: Simd<X, S>>(
    p: P,
    parts: &Parts<W>,
    s: usize,
    body: &[u8],
    codes: &mut [X; S],
) {
    let width = u32::from(parts.widths[s]);
    if width > 0 {
        p.unpack(&body[parts.payload_at[s] as usize..], width, codes);
    } else {
        codes.fill(X::ZERO);
    }
    if parts.header.patched >> s & 1 == 1 {
        let highs = &body[usize::from(parts.highs_at[s])..];
        p.apply_exceptions(codes, width, &parts.masks[s], highs, parts.high_widths[s].into());
    }
}
