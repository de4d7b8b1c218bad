//! A chunk's body back to its data. Everything is checked before it is used: a body that passed its checksum may still be hostile.

use super::plan::Plan;
use crate::error::{Result, fail};
use crate::format::constants::*;
use crate::format::{Body, ChunkHeader, Kind, Special, SubMode, Subchunks};
use crate::stage::quantize::{self, Element, Quantizer};
use crate::stage::simd::{READ_SLACK, Simd};
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

/// Subchunks whose codes are unpacked before any of them is decoded, where there are exceptions: while one waits, the other works. A power of two.
const AT_ONCE: usize = 2;

/// Decodes `body` into `out`, the whole bytes of the chunk; with `past_caches` as `stage::stream` writes.
#[inline(always)]
pub fn chunk<E: Element, const S: usize, P: Simd<E::Word, S> + Simd<u16, S>>(
    plan: &Plan,
    kind: Kind,
    body: Body,
    spare: &mut Spare,
    out: &mut [u8],
    past_caches: bool,
) -> Result<()> {
    let content = check::<E, S, P>(plan, kind, body, out.len(), spare)?;
    // What the decoder needs a group of chunks later, if these are as long as this one, can be fetched meanwhile.
    let ahead = body.and_rest.get(GROUP_CHUNKS * body.len..(GROUP_CHUNKS + 1) * body.len).unwrap_or(&[]);
    let size = size_of::<E::Word>();
    let lines = ahead.len().div_ceil(64 * SUBCHUNKS);
    let mut ahead = Ahead::new(ahead, body.len / 64);
    let mut staged = [Line::ZERO; SUBCHUNK_BYTES / 64];
    let staged = bytes_of(&mut staged);
    // Has the bytes of each subchunk s written to a place. A macro, since as long a closure would be compiled on its own, without the level's
    // instructions.
    macro_rules! write {
        (|$s:ident, $place:ident| $subchunk:expr) => {
            for ($s, out) in out.chunks_mut(SUBCHUNK_BYTES).enumerate() {
                ahead.fetch(lines);
                if !past_caches {
                    P::own(out.as_ptr().wrapping_add(SUBCHUNK_BYTES));
                }
                let len = out.len();
                let $place = if past_caches { &mut staged[..len] } else { &mut *out };
                $subchunk;
                if plan.big_endian {
                    let $place = if past_caches { &mut staged[..len] } else { &mut *out };
                    $place.chunks_exact_mut(size).for_each(<[u8]>::reverse);
                }
                if past_caches {
                    P::stream(&staged[..len], out);
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
                let mut codes = Codes::<u16, S>::new(parts);
                write!(|s, place| {
                    let codes = codes.get::<E::Word, P>(parts, s, body);
                    small_subchunk::<E, S, P>(plan, q, parts, s, body, codes, place);
                });
            }
            _ => {
                let mut codes = Codes::<E::Word, S>::new(parts);
                write!(|s, place| {
                    let codes = codes.get::<E::Word, P>(parts, s, body);
                    subchunk::<E, S, P>(plan, parts, s, codes, place);
                });
            }
        },
    }
    Ok(())
}

/// The codes of the subchunks that were unpacked last.
#[repr(align(64))]
struct Codes<X, const S: usize> {
    of: [[X; S]; AT_ONCE],
    /// Of so many.
    at_once: usize,
}

impl<X: Word, const S: usize> Codes<X, S> {
    /// For the subchunks of these parts.
    #[inline(always)]
    fn new<W>(parts: &Parts<W>) -> Self {
        Codes { of: [[X::ZERO; S]; AT_ONCE], at_once: if parts.header.patched != 0 { AT_ONCE } else { 1 } }
    }

    /// The codes of subchunk `s`; to be called for one after the other.
    #[inline(always)]
    fn get<W: Word, P: Simd<X, S>>(&mut self, parts: &Parts<W>, s: usize, body: &[u8]) -> &mut [X; S] {
        if s & (self.at_once - 1) == 0 {
            for (t, codes) in self.of[..self.at_once].iter_mut().enumerate() {
                unpack::<W, X, S, P>(parts, s + t, body, codes);
            }
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

fn zero(padding: &[u8]) -> Result<()> {
    if padding.iter().any(|b| *b != 0) {
        return fail!(Corrupt, "padding bytes are not zero");
    }
    Ok(())
}

/// A packed chunk taken apart: for each subchunk where its payload and its exceptions are.
pub struct Parts<W> {
    /// The chunk's header.
    pub header: ChunkHeader,
    /// Descriptors, 0 where a subchunk has none.
    pub descriptors: [u8; SUBCHUNKS],
    /// Bits of a code in the payload, 0 where a subchunk has none.
    widths: [u8; SUBCHUNKS],
    /// Bits of the widest code.
    widest: u32,
    bases: [W; SUBCHUNKS],
    payload_at: [u16; SUBCHUNKS],
    exceptions: [Exceptions; SUBCHUNKS],
}

/// Where the exceptions of a subchunk are in the body: positions, and the high parts behind them.
#[derive(Clone, Copy)]
struct Exceptions {
    at: u16,
    count: u8,
    high_width: u8,
}

impl<W: Word> Parts<W> {
    /// Reads and checks header and tail of `body` for subchunks of `s_elements`.
    #[inline(always)]
    pub fn read<const S: usize, P: Simd<W, S>>(plan: &Plan, body: &[u8]) -> Result<Parts<W>> {
        let header = ChunkHeader::read(body, W::BITS)?;
        if header.patched != 0 && W::BITS == 8 {
            return fail!(Corrupt, "exceptions in a chunk of {} elements", plan.dtype.name());
        }
        let mut tail = &body[CHUNK_HEADER_BYTES + header.payload_units as usize * ALIGN..];
        let mut parts = Parts {
            header,
            descriptors: [0; SUBCHUNKS],
            widths: [0; SUBCHUNKS],
            widest: 0,
            bases: [W::ZERO; SUBCHUNKS],
            payload_at: [0; SUBCHUNKS],
            exceptions: [Exceptions { at: 0, count: 0, high_width: 0 }; SUBCHUNKS],
        };
        parts.read_bases::<S, P>(&mut tail)?;
        parts.read_descriptors::<S>(&mut tail, body)?;
        parts.read_exceptions::<S, P>(&mut tail, body)?;
        if tail.len() >= ALIGN {
            return fail!(Corrupt, "{} bytes behind a chunk's tail", tail.len());
        }
        zero(tail)?;
        Ok(parts)
    }

    #[inline(always)]
    fn read_bases<const S: usize, P: Simd<W, S>>(&mut self, tail: &mut &[u8]) -> Result<()> {
        let low = u64::from(self.header.base_ref_low);
        let reference = if W::BITS == 64 {
            let high = take(tail, 4)?;
            low | u64::from(u32::from_le_bytes([high[0], high[1], high[2], high[3]])) << 32
        } else {
            low
        };
        if W::from_u64(reference).to_u64() != reference {
            return fail!(Corrupt, "reference base {reference:#x} is wider than an element");
        }
        let width = u32::from(self.header.base_width);
        let packed = take(tail, 4 * width as usize)?;
        if width > 0 {
            let mut readable = [0; 4 * 64 + READ_SLACK];
            readable[..packed.len()].copy_from_slice(packed);
            P::unpack_bases(&readable, width, &mut self.bases);
        }
        self.bases.iter_mut().for_each(|base| *base = base.add(W::from_u64(reference)));
        Ok(())
    }

    fn read_descriptors<const S: usize>(&mut self, tail: &mut &[u8], body: &[u8]) -> Result<()> {
        let descriptors = take(tail, self.header.active.count_ones() as usize)?;
        let mut payload = 0;
        for (s, d) in Subchunks(self.header.active).zip(descriptors) {
            self.descriptors[s] = *d;
            let width = u32::from(*d & 63) + (self.header.patched >> s & 1 ^ 1);
            if width > W::BITS {
                return fail!(Corrupt, "width {width} of a {}-bit element", W::BITS);
            }
            self.widths[s] = width as u8;
            self.widest = self.widest.max(width);
            self.payload_at[s] = (CHUNK_HEADER_BYTES + payload).min(CHUNK_BYTES) as u16;
            payload += S * width as usize / 8;
        }
        let room = self.header.payload_units as usize * ALIGN;
        if payload.next_multiple_of(ALIGN) != room {
            return fail!(Corrupt, "payload of {payload} bytes, the chunk has {room}");
        }
        zero(&body[CHUNK_HEADER_BYTES + payload..CHUNK_HEADER_BYTES + room])
    }

    #[inline(always)]
    fn read_exceptions<const S: usize, P: Simd<W, S>>(&mut self, tail: &mut &[u8], body: &[u8]) -> Result<()> {
        let patched = self.header.patched;
        let n = patched.count_ones() as usize;
        let (counts, high_widths) = (spread(patched, take(tail, n)?), spread(patched, take(tail, n)?));
        // For all subchunks at once; where there are no exceptions both are 0.
        let (mut bits, mut widest, mut wrong) = ([0; SUBCHUNKS], [0; SUBCHUNKS], [false; SUBCHUNKS]);
        for s in 0..SUBCHUNKS {
            let (count, high_width) = (u16::from(counts[s]), u16::from(high_widths[s]));
            let full = u16::from(self.widths[s]) + high_width;
            let is_patched = patched >> s & 1 == 1;
            bits[s] = count * high_width;
            widest[s] = if is_patched { full } else { 0 };
            wrong[s] = is_patched & ((count == 0) | (count > S as u16) | (high_width == 0) | (full > W::BITS as u16));
        }
        for s in Subchunks(patched) {
            let (count, high_width) = (counts[s] as usize, u32::from(high_widths[s]));
            if wrong[s] {
                return fail!(Corrupt, "{count} exceptions of {high_width} bits above {}", self.widths[s]);
            }
            let at = body.len() - tail.len();
            let exceptions = take(tail, count + usize::from(bits[s].div_ceil(8)))?;
            let positions = &exceptions[..count];
            let last = u32::from(exceptions[exceptions.len() - 1]);
            if !P::ascend(positions)
                || positions[count - 1] as usize >= S
                || last << (bits[s].wrapping_neg() & 7) > 0xff
            {
                return fail!(Corrupt, "exceptions of subchunk {s} are not in order");
            }
            self.exceptions[s] = Exceptions { at: at as u16, count: counts[s], high_width: high_widths[s] };
        }
        self.widest = self.widest.max(widest.into_iter().fold(0, u16::max).into());
        Ok(())
    }

    /// Refuses combinations of mode, quantizer and shift that the format does not define.
    fn check_domain<E: Element>(&self, plan: &Plan) -> Result<()> {
        let quantized = plan.quantizer.is_some();
        let by_exponent = self.header.special == Special::Exponent
            && Subchunks(self.header.active).any(|s| SubMode::of(self.descriptors[s]) == SubMode::Special);
        if quantized && self.header.shift != 0
            || by_exponent && (quantized || self.header.shift != 0 || E::EXPONENT_BITS == 0)
        {
            return fail!(Corrupt, "chunk header {:?} does not go with the stream's header", self.header);
        }
        Ok(())
    }
}

/// The numbers of the subchunks `of`, one behind the other in `list`, each in its subchunk's place.
#[inline(always)]
fn spread(of: u32, list: &[u8]) -> [u8; SUBCHUNKS] {
    let mut all = [0; SUBCHUNKS];
    if of == u32::MAX {
        all.copy_from_slice(list);
    } else {
        Subchunks(of).zip(list).for_each(|(s, n)| all[s] = *n);
    }
    all
}

/// The first `n` bytes of `tail`, which shrinks by them.
fn take<'a>(tail: &mut &'a [u8], n: usize) -> Result<&'a [u8]> {
    match tail.split_at_checked(n) {
        Some((head, rest)) => {
            *tail = rest;
            Ok(head)
        }
        None => fail!(Corrupt, "a chunk's tail ends {} bytes early", n - tail.len()),
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
        return finish::<E, S>(plan, parts, codes, out, |_| base);
    }
    match (SubMode::of(parts.descriptors[s]), parts.header.special) {
        (SubMode::Offset, _) => finish::<E, S>(plan, parts, codes, out, |c| c.add(base)),
        (SubMode::ZigZag, _) => finish::<E, S>(plan, parts, codes, out, |c| c.unzigzag().add(base)),
        (SubMode::Special, Special::Exponent) => {
            finish::<E, S>(plan, parts, codes, out, |c| exponent::decode(c, E::EXPONENT_BITS));
        }
        (mode, _) => {
            P::sum_up(base, mode == SubMode::Special, codes);
            finish::<E, S>(plan, parts, codes, out, |x| x);
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
        return store(codes, out, |_| quantize::decode::<E>(q, base));
    }
    // Then all integers are bins.
    let is_near = base.magnitude().to_u64() + (1 << u16::BITS) < q.k;
    let near = |distance: u64| E::value(q, base.add(E::Word::from_u64(distance)));
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

/// Turns codes into integers by `integer`, these into elements, and writes them: one pass.
#[inline(always)]
fn finish<E: Element, const S: usize>(
    plan: &Plan,
    parts: &Parts<E::Word>,
    codes: &[E::Word; S],
    out: &mut [u8],
    integer: impl Fn(E::Word) -> E::Word,
) {
    match &plan.quantizer {
        Some(q) => store(codes, out, |c| quantize::decode::<E>(q, integer(c))),
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
        Ok(out) => (0..S).for_each(|i| element(codes[i]).store(&mut out[i * size..(i + 1) * size])),
        Err(_) => out.chunks_exact_mut(size).zip(codes).for_each(|(o, c)| element(*c).store(o)),
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
