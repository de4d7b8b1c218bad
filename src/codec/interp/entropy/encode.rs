//! The codes of a tile to its body.

use super::classes::low_of;
use super::encode_groups::{Classify, Codes, Encode};
use super::own::Own;
use super::own_table::SYMBOLS;
use super::sparse;
use super::states::{self, STATE_ROOM};
use super::sums::{Sum, Sums, sum_up};
use super::tables::{OWN, shift_of};
use crate::codec::interp::format::*;
use crate::error::Result;
use crate::host::memory::{boxed, filled};
use crate::primitives::rans::{LANES, Words};
use crate::simd::bits::BitWriter;
use crate::simd::numbers::CodeVectors;
use crate::simd::word::Word;
use crate::simd::{Level, Task};

/// What an encoder keeps from tile to tile.
pub struct Room {
    stream: Vec<u16>,
    own: Own,
    low: Vec<u8>,
    sparse: sparse::Room,
    sums: Box<Sums>,
    /// Codes without low bits, in whole groups.
    places: Vec<u32>,
}

impl Room {
    /// For tiles of so many elements, whose numbers have so many bits.
    pub fn new(n: usize, number_bits: u32) -> Result<Room> {
        let low = filled(n * number_bits as usize / 8 + size_of::<u64>(), 0)?;
        let stream = filled(n * (number_bits as usize + 10) / 16 + 4 * LANES + 16, 0)?;
        let places = filled(n.next_multiple_of(GROUP), 0)?;
        Ok(Room { stream, own: Own::new()?, low, sparse: sparse::Room::new()?, sums: boxed(Sum::default())?, places })
    }
}

impl<'a, N: Word> Codes<'a, N> {
    /// Sums them up, unless that is done, and puts them to their places, without as many low bits as the sums with
    /// these say.
    fn new(
        p: impl Level,
        codes: &'a [N],
        low_of: impl Fn(&Sums) -> u32,
        known: Option<&'a Sums>,
        sums: &'a mut Sums,
        places: &'a mut [u32],
    ) -> Codes<'a, N> {
        if known.is_none() {
            sum_up(p, codes, 0, sums);
        }
        let low = p.loops(|| low_of(known.unwrap_or(sums)));
        if low > 0 {
            sum_up(p, codes, low, sums);
        }
        let sums = known.filter(|_| low == 0).unwrap_or(sums);
        let places = &mut places[..codes.len().next_multiple_of(GROUP)];
        p.loops(|| {
            let (own, behind) = places.split_at_mut(codes.len());
            own.iter_mut().zip(codes).for_each(|(place, code)| *place = (*code >> low).to_u64() as u32);
            behind.fill(0);
        });
        Codes { codes, low, sums, places }
    }
}

/// Writes the low bits that groups leave apart; the bytes.
struct WriteLow<'a, N> {
    of: &'a Codes<'a, N>,
    classes: &'a [u8],
    bytes: &'a mut [u8],
}

impl<N: Word> Task for WriteLow<'_, N> {
    type Done = usize;

    #[inline(always)]
    fn run<P: CodeVectors<M>, const M: usize>(self, _: P) -> usize {
        let mut low = BitWriter::new(self.bytes);
        for (codes, class) in self.of.codes.chunks(GROUP).zip(self.classes) {
            let count = shift_of((*class).into(), self.of.low);
            if count > 0 {
                for code in codes {
                    low.push(code.to_u64() & ((1 << count) - 1), count);
                }
            }
        }
        low.finish()
    }
}

/// What is known of codes before they are written.
#[derive(Clone, Copy)]
pub enum Known<'a> {
    Nothing,
    /// What their groups add up to.
    Sums(&'a Sums),
    /// They are numbers, of which the head's low bits stand apart, and the others occur so often.
    Symbols(&'a [u32; SYMBOLS]),
}

/// Writes the codes of a tile behind `front`, what stands between head and table; completes the head. The bytes of the
/// body; `None` if `out` is too small.
pub fn write<N: Word>(
    p: impl Level,
    head: &mut Head,
    front: &[u8],
    codes: &[N],
    known: Known,
    room: &mut Room,
    out: &mut [u8],
) -> Option<usize> {
    let Room { stream, own, low, sparse, sums, places } = room;
    let symbols = if let Known::Symbols(counts) = known { Some(counts) } else { None };
    let low_of = |sums: &Sums| match symbols {
        Some(_) => head.low,
        None => low_of(codes, head.numbers == Numbers::Bits, sums),
    };
    let known = if let Known::Sums(sums) = known { Some(sums) } else { None };
    let all = Codes::new(p, codes, low_of, known, sums, places);
    head.low = all.low;
    let (mut classes, mut sparse_body) = ([0u8; GROUPS], None);
    let classes = &mut classes[..groups(codes.len())];
    if let Some(counts) = symbols {
        own.of_symbols(counts);
        classes.iter_mut().zip(all.sums).for_each(|(class, sum)| *class = if sum.any { OWN as u8 } else { 0 });
        head.has_table = true;
    } else {
        p.run(Classify { of: &all, classes: &mut *classes });
        sparse_body = if head.low == 0 { sparse.encode(codes, classes) } else { None };
        head.has_table = sparse_body.is_none() && own.choose(p, &all, classes);
    }
    let (table, direct, mut words) =
        (head.has_table.then_some(&own.encoding[0]), symbols.is_some(), Words::new(stream));
    let state = p.run(Encode { of: &all, classes, own: table, direct, words: &mut words });
    let end = p.run(WriteLow { of: &all, classes, bytes: &mut *low });
    low[end..end.next_multiple_of(4)].fill(0);
    let (words, low) = (words.into_all(), &low[..end.next_multiple_of(4)]);
    let mut place = [0; STATE_ROOM];
    let (longest, bytes) = states::pack(&state.lanes, &mut place);
    if let Some(sparse) = sparse_body.filter(|sparse| sparse.len() <= bytes + 2 * words.len()) {
        (head.switch, head.longest, head.is_sparse) = (0, 0, true);
        return assemble(head, &[front, sparse], &[], &[], out);
    }
    let table = if head.has_table { &own.bytes[..] } else { &[] };
    (head.switch, head.longest, head.is_sparse) = (state.switch, longest, false);
    assemble(head, &[front, table, &place[..bytes]], words, low, out)
}

/// The same of codes that are all 0: states of 1 say so of any number of classes.
pub fn write_nothing(head: &mut Head, front: &[u8], out: &mut [u8]) -> Option<usize> {
    (head.predictor, head.axes, head.switch) = (Predictor::Axes, 0, NEVER);
    if matches!(head.numbers, Numbers::Steps | Numbers::Multiples) {
        head.predictor = Predictor::Smooth;
    }
    assemble(head, &[front], &[], &[], out)
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
