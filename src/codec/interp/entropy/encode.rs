//! Codes to words, lane by lane.

use super::classes::{self, class_of, low_of};
use super::low;
use super::own::Own;
use super::sparse;
use super::states::{self, STATE_ROOM};
use super::tables::{OWN, TOKEN_SYMBOLS, shift_of, table_of};
use crate::codec::interp::entropy::own_table::SYMBOLS;
use crate::codec::interp::entropy::states::State;
use crate::codec::interp::format::*;
use crate::error::Result;
use crate::host::memory::{filled, reserve};
use crate::primitives::rans::{LANES, RAW_BITS, Symbol, Words};
use crate::simd::word::Word;

/// What an encoder keeps from tile to tile.
pub struct Room {
    stream: Vec<u16>,
    own: Own,
    low: low::LowWriter,
    sparse: sparse::Room,
}

impl Room {
    /// For tiles of so many elements, whose numbers have so many bits.
    pub fn new(n: usize, number_bits: u32) -> Result<Room> {
        let mut low = low::LowWriter::default();
        reserve(&mut low.bytes, n * number_bits as usize / 8 + 16)?;
        let stream = filled(n * (number_bits as usize + 10) / 16 + 4 * LANES + 16, 0)?;
        Ok(Room { stream, own: Own::new()?, low, sparse: sparse::Room::new()? })
    }
}

/// Writes the codes of a tile behind `front`, what stands between head and table; completes the head. The bytes of the
/// body; `None` if `out` is too small.
pub fn write<N: Word>(head: &mut Head, front: &[u8], codes: &[N], room: &mut Room, out: &mut [u8]) -> Option<usize> {
    let Room { stream, own, low, sparse } = room;
    head.low = low_of(codes, head.numbers == Numbers::Bits);
    let mut all = [0u8; GROUPS];
    let classes = &mut all[..groups(codes.len())];
    codes.chunks(GROUP).zip(&mut *classes).for_each(|(codes, class)| *class = class_of(codes, head.low) as u8);
    head.has_table = false;
    let sparse = if head.low == 0 { sparse.encode(codes, classes) } else { None };
    if sparse.is_none() {
        head.has_table = own.choose(codes, head.low, classes);
    }
    let is_worse = |lanes: usize| sparse.is_some_and(|sparse| sparse.len() <= lanes);
    low.clear();
    let table = head.has_table.then_some(&*own);
    let (state, words) = lanes(codes, classes, head.low, table, false, stream, low);
    let mut place = [0; STATE_ROOM];
    let (longest, bytes) = states::pack(&state.lanes, &mut place);
    let table = if head.has_table { &own.bytes[..] } else { &[] };
    (head.switch, head.longest, head.is_sparse) = (state.switch, longest, false);
    if is_worse(bytes + 2 * words.len()) {
        (head.switch, head.longest, head.is_sparse) = (0, 0, true);
        let parts = [front, sparse.unwrap_or_default()];
        return assemble(head, &parts, &[], &[], out);
    }
    assemble(head, &[front, table, &place[..bytes]], words, low.end(), out)
}

/// The same of codes that are all 0: states of 1 say so of any number of classes.
pub fn write_nothing(head: &mut Head, front: &[u8], out: &mut [u8]) -> Option<usize> {
    (head.predictor, head.set, head.switch) = (Predictor::Axes, 0, NEVER);
    if matches!(head.numbers, Numbers::Steps | Numbers::Multiples) {
        head.predictor = Predictor::Smooth;
    }
    assemble(head, &[front], &[], &[], out)
}

/// The same of codes that are numbers, of which `low` bits stand apart, and the others occur so often.
pub fn write_symbols<N: Word>(
    head: &mut Head,
    front: &[u8],
    codes: &[N],
    counts: &[u32; SYMBOLS],
    room: &mut Room,
    out: &mut [u8],
) -> Option<usize> {
    let Room { stream, own, low, .. } = room;
    own.of_symbols(counts);
    let mut all = [0u8; GROUPS];
    let classes = &mut all[..groups(codes.len())];
    let class = |codes: &[N]| if codes.iter().all(|c| *c == N::ZERO) { 0 } else { OWN as u8 };
    codes.chunks(GROUP).zip(&mut *classes).for_each(|(codes, place)| *place = class(codes));
    low.clear();
    let (state, words) = lanes(codes, classes, head.low, Some(own), true, stream, low);
    let mut place = [0; STATE_ROOM];
    let (longest, bytes) = states::pack(&state.lanes, &mut place);
    (head.switch, head.longest, head.has_table, head.is_sparse) = (state.switch, longest, true, false);
    assemble(head, &[front, &own.bytes, &place[..bytes]], words, low.end(), out)
}

/// Puts a body together.
fn assemble(head: &Head, parts: &[&[u8]], words: &[u16], low: &[u8], out: &mut [u8]) -> Option<usize> {
    let before: usize = HEAD_BYTES + parts.iter().map(|part| part.len()).sum::<usize>();
    let end = (before + 2 * words.len()).next_multiple_of(4);
    let body = out.get_mut(..end + low.len())?;
    body[..HEAD_BYTES].copy_from_slice(&head.to_bytes());
    let mut at = HEAD_BYTES;
    for part in parts {
        body[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    let (places, padding) = body[at..end].split_at_mut(2 * words.len());
    places.as_chunks_mut().0.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
    padding.fill(0);
    body[end..].copy_from_slice(low);
    Some(body.len())
}

/// Encodes codes by 32 lanes. States begin at 1 and grow; where a word would be needed they are made as large as they
/// have to be from there on.
fn lanes<'a, N: Word>(
    codes: &[N],
    classes: &[u8],
    low: u32,
    own: Option<&Own>,
    direct: bool,
    stream: &'a mut [u16],
    plain: &mut low::LowWriter,
) -> (State, &'a [u16]) {
    let mut words = Words::new(stream);
    let mut state = State::new();
    for (g, (codes, class)) in codes.chunks(GROUP).zip(classes).enumerate().rev() {
        let class = usize::from(*class);
        if class == 0 {
            continue;
        }
        let symbols: &[Symbol] = match own {
            Some(own) if class == OWN => &own.symbols[..],
            _ => &TOKEN_SYMBOLS[table_of(class)],
        };
        let group = Group::of(codes, shift_of(class, low), direct);
        state.step(&mut words, g + 1, |lanes, words| group.encode(symbols, lanes, words));
    }
    state.step(&mut words, 0, |lanes, words| classes::encode(classes, lanes, words));
    for (codes, class) in codes.chunks(GROUP).zip(classes) {
        let shift = shift_of((*class).into(), low);
        codes.iter().filter(|_| shift > 0).for_each(|c| plain.put(c.to_u64(), shift));
    }
    (state, words.into_all())
}

/// A group taken apart: tokens, raw bits, and how many there are.
struct Group {
    n: usize,
    tokens: [u8; GROUP],
    bits: [u64; GROUP],
    lens: [u8; GROUP],
    longest: u32,
}

impl Group {
    fn of<N: Word>(codes: &[N], shift: u32, direct: bool) -> Group {
        let n = codes.len();
        let mut group = Group { n, tokens: [0; GROUP], bits: [0; GROUP], lens: [0; GROUP], longest: 0 };
        for (i, c) in codes.iter().enumerate() {
            let c = (*c >> shift).to_u64();
            let (token, len) = if direct { (c as u32, 0) } else { token(c) };
            (group.tokens[i], group.lens[i], group.bits[i]) = (token as u8, len as u8, c);
            group.longest = group.longest.max(len);
        }
        group
    }

    /// Encodes it: what is decoded last comes first.
    fn encode(&self, symbols: &[Symbol], lanes: &mut [u32; LANES], words: &mut Words) {
        for round in (0..self.longest.div_ceil(RAW_BITS)).rev() {
            let from = round * RAW_BITS;
            for i in self.backwards() {
                let len = u32::from(self.lens[i]).saturating_sub(from).min(RAW_BITS);
                let bits = (self.bits[i] >> from) as u32 & ((1 << len) - 1);
                words.raw(&mut lanes[i / QUAD], bits, len);
            }
        }
        for i in self.backwards() {
            words.symbol(&mut lanes[i / QUAD], &symbols[usize::from(self.tokens[i])]);
        }
    }

    /// Its values, from the last one on.
    fn backwards(&self) -> impl Iterator<Item = usize> {
        let n = self.n;
        (0..QUAD).rev().flat_map(|j| (0..LANES).rev().map(move |lane| QUAD * lane + j)).filter(move |i| *i < n)
    }
}
