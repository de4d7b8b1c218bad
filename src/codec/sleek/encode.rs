//! One chunk to its body.

use super::buffers::{Buffers, Scratch, view};
use super::choose::Extremes;
use super::collide::{all_come_beside, collision, small_collision};
use super::integers::*;
use super::pack::pack_chunk;
use super::plan::Plan;
use crate::codec::sleek::format::Special;
use crate::codec::sleek::simd::Simd;
use crate::container::Kind;
use crate::container::constants::*;
use crate::params::Profile;
use crate::primitives::quantize::{Element, Int};
use crate::primitives::range::Ends;
use crate::runtime::cpu::{Data, raw};
use crate::simd::stream::{MemoryQueues, PrefetchQueue, StreamingStores};
use crate::simd::word::Word;

/// Encodes the chunk of `data` into `out`, which has `cpu::SLACK` bytes to spare, while another body leaves by
/// `stores`. Returns the kind and size of the body, and whether it must not be used: an element would come back as a
/// missing value, and the next larger number is not within its bound.
#[inline(always)]
pub fn chunk<E: Element, const S: usize, P: Simd<E::Word, S> + Simd<u16, S>>(
    p: P,
    plan: &Plan,
    Buffers { words, scratch, too_wide, beside, ends }: &mut Buffers,
    data: Data,
    stores: StreamingStores,
    out: &mut [u8],
) -> (Kind, usize, bool) {
    let src = data.bytes();
    let mut queues = MemoryQueues { prefetch: PrefetchQueue::new(data.ahead, CHUNK_BYTES / 64), stores };
    let (body, collides) = match to_small_integers::<E, S, P>(p, plan, src, words, too_wide, &mut queues.prefetch) {
        Some((reference, extremes)) => {
            let domain = Domain { shift: 0, special: Special::Delta2, reference };
            let integers = Integers { words: view(words), extremes: Some(extremes) };
            if let Some(ends) = ends {
                widen_ends::<E, _, S>(plan, &domain, &integers, ends);
            }
            let collides = plan.colliding.iter().any(|c| small_collision(c.integer, &domain, &integers));
            (encode::<E, Int<u16>, S, P>(p, plan, &domain, &integers, scratch, &mut queues, out), collides)
        }
        None => {
            let (words, domain) = match integers_in_place::<E, S>(plan, data) {
                Some(words) => {
                    *ends = ends.map(|_| Ends::UNKNOWN);
                    (words, Domain::lossless::<E>(plan, 0))
                }
                None => {
                    let words = view(words);
                    let seen = ends.as_mut().filter(|_| plan.profile == Profile::Fast);
                    let domain = to_integers::<E, S>(plan, src, words, seen, &mut queues.prefetch);
                    (&*words, domain)
                }
            };
            let extremes =
                (plan.profile == Profile::Adaptive).then(|| Extremes::of::<S, P>(p, words, &mut queues.prefetch));
            let integers = Integers { words, extremes };
            if let (Some(ends), Profile::Adaptive) = (ends, plan.profile) {
                widen_ends::<E, _, S>(plan, &domain, &integers, ends);
            }
            let collides = plan.colliding.iter().any(|c| collision(c.integer, &domain, &integers));
            (encode::<E, E, S, P>(p, plan, &domain, &integers, scratch, &mut queues, out), collides)
        }
    };
    let raw_bytes = src.len().next_multiple_of(ALIGN);
    match body {
        Some((kind, bytes)) if kind == Kind::Constant || bytes < raw_bytes => {
            let comes_beside = collides && all_come_beside::<E>(plan, src);
            *beside |= comes_beside;
            if comes_beside && kind == Kind::Constant {
                E::Word::from_u64(plan.beside_missing(E::Word::load(out).to_u64())).store(out);
            }
            (kind, bytes, collides && !comes_beside)
        }
        _ => {
            raw(size_of::<E::Word>(), plan.big_endian, src, &mut out[..raw_bytes]);
            // The data as they are collide with nothing.
            (Kind::Raw, raw_bytes, false)
        }
    }
}

/// Encodes the integers of a chunk; `None` if the payload alone is no smaller than the data.
#[inline(always)]
fn encode<E: Element, X: Element, const S: usize, P: Simd<X::Word, S>>(
    p: P,
    plan: &Plan,
    domain: &Domain<E::Word>,
    integers: &Integers<X::Word, S>,
    scratch: &mut Scratch,
    queues: &mut MemoryQueues,
    out: &mut [u8],
) -> Option<(Kind, usize)> {
    let constant = match &integers.extremes {
        Some(extremes) => extremes.is_constant(),
        None => is_constant(integers.words),
    };
    if constant {
        out[..ALIGN].fill(0);
        to_element::<E>(plan, domain, domain.word(integers.words[1][0])).store(out);
        return Some((Kind::Constant, ALIGN));
    }
    let bytes = pack_chunk::<E, X, S, P>(p, plan, domain, integers, scratch, queues, out)?;
    Some((Kind::Packed, bytes))
}
