//! The codes of a tile to its body.

use super::classes::low_of;
use super::encode_groups;
use super::group::Group;
use super::low;
use super::own::Own;
use super::sparse;
use super::states::{self, STATE_ROOM};
use super::sums::{Sum, SumUp, Sums};
use super::tables::{OWN, shift_of};
use crate::codec::interp::entropy::own_table::SYMBOLS;
use crate::codec::interp::entropy::states::State;
use crate::codec::interp::format::*;
use crate::error::Result;
use crate::host::memory::{boxed, filled};
use crate::primitives::rans::{LANES, Words};
use crate::simd::Level;
use crate::simd::word::Word;

/// What an encoder keeps from tile to tile.
pub struct Room {
    stream: Vec<u16>,
    own: Own,
    low: low::LowWriter,
    sparse: sparse::Room,
    sums: Box<Sums>,
    /// Codes without low bits, in whole groups.
    places: Vec<u32>,
}

impl Room {
    /// For tiles of so many elements, whose numbers have so many bits.
    pub fn new(n: usize, number_bits: u32) -> Result<Room> {
        let low = low::LowWriter::new(n * number_bits as usize / 8)?;
        let stream = filled(n * (number_bits as usize + 10) / 16 + 4 * LANES + 16, 0)?;
        let places = filled(n.next_multiple_of(GROUP), 0)?;
        Ok(Room { stream, own: Own::new()?, low, sparse: sparse::Room::new()?, sums: boxed(Sum::default())?, places })
    }
}

/// The codes of a tile, taken apart.
struct Codes<'a, N> {
    codes: &'a [N],
    low: u32,
    sums: &'a Sums,
    /// The same without low bits, in whole groups, as far as vectors code them.
    places: &'a [u32],
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
            p.run(SumUp { codes, low: 0, sums: &mut *sums });
        }
        let low = p.loops(|| low_of(known.unwrap_or(sums)));
        if low > 0 {
            p.run(SumUp { codes, low, sums: &mut *sums });
        }
        let sums = known.filter(|_| low == 0).unwrap_or(sums);
        p.run(encode_groups::Places { codes, low, places: &mut *places });
        Codes { codes, low, sums, places: &places[..codes.len().next_multiple_of(GROUP)] }
    }

    /// Gives groups their classes.
    fn classify(&self, p: impl Level, classes: &mut [u8]) {
        let Codes { codes, low, sums, places } = *self;
        p.run(encode_groups::Classify { codes, low, places, sums, classes });
    }

    /// Group `g` taken apart, without so many low bits.
    #[inline(always)]
    fn group(&self, g: usize, shift: u32, direct: bool) -> Group {
        let end = self.codes.len().min((g + 1) * GROUP);
        Group::of(&self.codes[g * GROUP..end], shift, direct)
    }

    /// Counts the tokens of the groups that are asked for.
    fn count(&self, p: impl Level, own: &mut Own, classes: &[u8], asked: &dyn Fn(usize) -> bool) {
        let (places, n, sums) = (self.places, self.codes.len(), &self.sums[..]);
        let Own { counts, costs, .. } = own;
        let long = |g, shift| self.group(g, self.low + shift, false);
        p.run(encode_groups::Count { places, n, sums, classes, asked, counts, costs, long });
    }

    /// Encodes them by 32 lanes. States begin at 1 and grow; where a word would be needed they are made as large as
    /// they have to be from there on.
    fn encode<'w>(
        &self,
        p: impl Level,
        classes: &[u8],
        own: Option<&Own>,
        direct: bool,
        stream: &'w mut [u16],
    ) -> (State, &'w [u16]) {
        let (places, n, sums) = (self.places, self.codes.len(), &self.sums[..]);
        let mut words = Words::new(stream);
        let long = |g, shift| self.group(g, self.low + shift, direct);
        let own = own.map(|own| &own.encoding[0]);
        let state = p.run(encode_groups::Encode { places, n, sums, classes, own, direct, words: &mut words, long });
        (state, words.into_all())
    }

    /// Writes the low bits that groups leave apart.
    fn write_low(&self, p: impl Level, classes: &[u8], low: &mut low::LowWriter) {
        low.clear();
        p.loops(|| {
            for (codes, class) in self.codes.chunks(GROUP).zip(classes) {
                low.put_all(codes, shift_of((*class).into(), self.low));
            }
        });
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
        all.classify(p, classes);
        sparse_body = if head.low == 0 { sparse.encode(codes, classes) } else { None };
        let count = |own: &mut Own, classes: &[u8], asked: &dyn Fn(usize) -> bool| all.count(p, own, classes, asked);
        head.has_table = sparse_body.is_none() && own.choose(classes, count);
    }
    let (state, words) = all.encode(p, classes, head.has_table.then_some(&*own), symbols.is_some(), stream);
    all.write_low(p, classes, low);
    let mut place = [0; STATE_ROOM];
    let (longest, bytes) = states::pack(&state.lanes, &mut place);
    if let Some(sparse) = sparse_body.filter(|sparse| sparse.len() <= bytes + 2 * words.len()) {
        (head.switch, head.longest, head.is_sparse) = (0, 0, true);
        return assemble(head, &[front, sparse], &[], &[], out);
    }
    let table = if head.has_table { &own.bytes[..] } else { &[] };
    (head.switch, head.longest, head.is_sparse) = (state.switch, longest, false);
    assemble(head, &[front, table, &place[..bytes]], words, low.end(), out)
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
