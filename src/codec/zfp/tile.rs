//! One tile to its body, and back. Everything of a body is checked before it is used: one that passed its checksum may
//! still be hostile.

use std::fmt::Display;

use zfp_rs::{ZfpBitStreamRef, ZfpField, ZfpFieldMut};

use super::element::{Element, all_within};
use super::format::{Coding, MAX_AXES, OWN_BYTES, TILE_LOG2};
use super::plan::Plan;
use crate::container::Kind;
use crate::error::{Error, Kind as ErrorKind, Result, fail};
use crate::host::memory::filled;

/// Bytes of a word of zfp's streams.
const WORD: usize = 8;

/// Buffers that a thread reuses from tile to tile.
pub struct Buffers<E> {
    elements: Vec<E>,
    restored: Vec<E>,
    words: Vec<u64>,
}

impl<E: Element> Buffers<E> {
    /// Allocates them.
    pub fn new() -> Result<Buffers<E>> {
        let n = 1 << TILE_LOG2;
        Ok(Buffers {
            elements: filled(n, E::default())?,
            restored: filled(n, E::default())?,
            words: filled(n * size_of::<E>() / WORD, 0)?,
        })
    }
}

/// Encodes the tile of `data` with these lengths into `out`; returns the kind of its body and its bytes.
pub fn encode<E: Element>(
    plan: &Plan,
    lens: [usize; MAX_AXES],
    buffers: &mut Buffers<E>,
    data: &[u8],
    out: &mut [u8],
) -> (Kind, usize) {
    let size = size_of::<E>();
    let elements = &mut buffers.elements[..data.len() / size];
    for (element, bytes) in elements.iter_mut().zip(data.chunks_exact(size)) {
        *element = E::load(bytes, plan.big_endian);
    }
    let elements = &*elements;
    if elements.iter().all(|e| e.bits() == elements[0].bits()) {
        elements[0].store(false, &mut out[..size]);
        return (Kind::Constant, size);
    }
    // What does not take less room than the elements themselves is not wanted.
    let words = &mut buffers.words[..(data.len() - 1) / WORD];
    let lossy = plan.coding != Coding::Reversible;
    if !lossy || elements.iter().fold(true, |all, e| all & e.is_finite()) {
        let bytes = compressed(plan.coding, lens, elements, words)
            .filter(|bytes| !lossy || is_kept(plan, lens, elements, &mut buffers.restored, &words[..bytes / WORD]));
        if let Some(bytes) = bytes {
            store(&words[..bytes / WORD], out);
            return (Kind::Packed, bytes);
        }
    }
    let words = &mut words[..data.len().saturating_sub(1 + OWN_BYTES) / WORD];
    if lossy && let Some(bytes) = compressed(Coding::Reversible, lens, elements, words) {
        out[..OWN_BYTES].copy_from_slice(&Coding::Reversible.to_bytes());
        store(&words[..bytes / WORD], &mut out[OWN_BYTES..]);
        return (Kind::Packed, OWN_BYTES + bytes);
    }
    for (element, bytes) in elements.iter().zip(out.chunks_exact_mut(size)) {
        element.store(false, bytes);
    }
    (Kind::Raw, data.len())
}

/// Compresses `elements` into `words`; returns the bytes of the stream, `None` where there is no room for it. Not
/// inlined: blocks lie on the stack, and every copy would have room of its own for them in one frame.
#[inline(never)]
fn compressed<E: Element>(coding: Coding, lens: [usize; MAX_AXES], elements: &[E], words: &mut [u64]) -> Option<usize> {
    let field = ZfpField::new(elements, lens).ok()?;
    zfp_rs::bitstream::ZfpBitStreamRefMut::from_words(words).compress(&coding.config().ok()?, &field).ok()
}

/// Restores the elements of a stream; returns the bytes that it has. Not inlined, as `compressed`.
#[inline(never)]
fn restored<E: Element>(coding: Coding, lens: [usize; MAX_AXES], words: &[u64], elements: &mut [E]) -> Result<usize> {
    let blame = |e: &dyn Display| {
        let bytes = WORD * words.len();
        Error::of(ErrorKind::Corrupt, format_args!("a zfp stream of {bytes} bytes for a tile of {lens:?}: {e}"))
    };
    let mut field = ZfpFieldMut::new(elements, lens).map_err(|e| blame(&e))?;
    let config = coding.config().map_err(|e| blame(&e))?;
    ZfpBitStreamRef::from_words(words).decompress(&config, &mut field).map_err(|e| blame(&e))
}

/// Whether what `words` restore of `elements` keeps the promise: the bound, and that nothing becomes a missing value.
fn is_kept<E: Element>(plan: &Plan, lens: [usize; MAX_AXES], elements: &[E], buffer: &mut [E], words: &[u64]) -> bool {
    let missing = plan.layout.shape.missing.bits();
    let bounded = matches!(plan.coding, Coding::Accuracy(_));
    if !bounded && missing.is_empty() {
        return true;
    }
    let buffer = &mut buffer[..elements.len()];
    restored(plan.coding, lens, words, buffer).is_ok()
        && (!bounded || all_within(elements, buffer, plan.bound))
        && !missing.iter().any(|bits| buffer.contains(&E::of_bits(*bits)))
}

fn store(words: &[u64], out: &mut [u8]) {
    words.iter().zip(out.chunks_exact_mut(WORD)).for_each(|(word, bytes)| bytes.copy_from_slice(&word.to_le_bytes()));
}

/// Decodes a body into `out`, the bytes of a tile with these lengths.
pub fn decode<E: Element>(
    plan: &Plan,
    lens: [usize; MAX_AXES],
    buffers: &mut Buffers<E>,
    kind: Kind,
    body: &[u8],
    out: &mut [u8],
) -> Result<()> {
    let size = size_of::<E>();
    let elements = &mut buffers.elements[..out.len() / size];
    match kind {
        Kind::Packed => packed(plan, lens, &mut buffers.words, body, elements)?,
        // Elements have 4 or 8 bytes, so these bodies have no padding.
        Kind::Raw => elements.iter_mut().zip(body.chunks_exact(size)).for_each(|(e, bytes)| *e = E::load(bytes, false)),
        Kind::Constant => elements.fill(E::load(body, false)),
        Kind::Masked => return fail!(Internal, "a masked body was given to codec zfp"),
    }
    for (element, bytes) in elements.iter().zip(out.chunks_exact_mut(size)) {
        element.store(plan.big_endian, bytes);
    }
    Ok(())
}

fn packed<E: Element>(
    plan: &Plan,
    lens: [usize; MAX_AXES],
    words: &mut [u64],
    body: &[u8],
    elements: &mut [E],
) -> Result<()> {
    let (coding, stream) = match body.split_first_chunk::<OWN_BYTES>() {
        Some((own, stream)) if !body.len().is_multiple_of(WORD) => (Coding::read(*own, plan.layout.dtype)?, stream),
        _ => (plan.coding, body),
    };
    if stream.len() > WORD * words.len() {
        return fail!(Corrupt, "a zfp stream of {} bytes in a tile of {lens:?}", stream.len());
    }
    let words = &mut words[..stream.len() / WORD];
    for (word, bytes) in words.iter_mut().zip(stream.as_chunks::<WORD>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    let bytes = restored(coding, lens, words, elements)?;
    if bytes != stream.len() {
        return fail!(Corrupt, "a zfp stream of {bytes} bytes in a body that has {}", stream.len());
    }
    Ok(())
}
