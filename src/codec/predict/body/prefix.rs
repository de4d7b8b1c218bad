//! What stands before the words of a body, written.

use super::lossless::Form;
use crate::codec::predict::code::sparse;
use crate::codec::predict::code::states::{STATE_ROOM, State};
use crate::codec::predict::format::*;
use crate::primitives::rans::LANES;
use crate::simd::word::Word;

/// What the words of a tile stand for.
#[derive(Clone, Copy)]
pub enum Meaning {
    /// Bins.
    Bins,
    /// Elements' bits without so many zero bits at their low end.
    Bits(u32),
    /// Multiples of the fine lattice, interpolated.
    Multiples(Rule),
}

impl Meaning {
    fn form(self) -> Option<Form> {
        match self {
            Meaning::Bins | Meaning::Multiples(_) => None,
            Meaning::Bits(shift) => Some(Form::plain(shift)),
        }
    }
}

/// What stands before the final states of a body.
pub struct Prefix {
    /// What is known of it: words, tables and patches fill it in.
    pub head: Head,
    /// Form and base.
    bytes: [u8; 2 + 8],
    /// Bytes of the head, and of these.
    pub len: usize,
}

impl Prefix {
    /// Of a tile whose words have this meaning, from which the base was taken.
    pub fn new<W: Word>(base: W, meaning: Meaning, set: u8, has_bins: bool) -> Prefix {
        let (map, predictor) = match meaning {
            Meaning::Bits(_) if has_bins => (Map::Exact, Predictor::Axes),
            Meaning::Bits(_) | Meaning::Bins => (Map::Plain, Predictor::Axes),
            Meaning::Multiples(rule) => {
                let map = if rule.coarse { Map::Lattice } else { Map::Multiples };
                (map, if rule.rough { Predictor::Rough } else { Predictor::Smooth })
            }
        };
        Prefix::with(base, Head { set, map, predictor, ..Head::default() }, meaning.form())
    }

    /// Of elements' bits in a form.
    pub fn of_form<W: Word>(base: W, form: Form, set: u8, has_bins: bool) -> Prefix {
        let map = if has_bins { Map::Exact } else { Map::Plain };
        Prefix::with(base, Head { set, map, ..Head::default() }, Some(form))
    }

    fn with<W: Word>(base: W, head: Head, form: Option<Form>) -> Prefix {
        // As a number of 64 bits, of which the low ones go into the head.
        let base = base.extend();
        let bits = 65 - (base ^ (base as i64 >> 63) as u64).leading_zeros();
        let base_words = [0, 1, 2, 4, 4][bits.saturating_sub(BASE_BITS).div_ceil(16) as usize];
        let head = Head { base_words, base: base as u32 & ((1 << BASE_BITS) - 1), ..head };
        let (mut bytes, mut len) = ([0; 10], 0);
        if let Some(form) = form {
            bytes[..2].copy_from_slice(&form.to_bits().to_le_bytes());
            len = 2;
        }
        let high = ((base as i64) >> BASE_BITS).to_le_bytes();
        bytes[len..][..2 * base_words].copy_from_slice(&high[..2 * base_words]);
        Prefix { head, bytes, len: HEAD_BYTES + len + 2 * base_words }
    }

    /// Writes the body as a sparse tile where that takes less, otherwise as [`Prefix::write`] does.
    pub fn write_least(
        &mut self,
        patches: &[u8],
        table: &[u8],
        (codes, (side, stream)): (&[u32], &mut (Vec<u8>, Vec<u16>)),
        state: &State,
        words: &[u16],
        out: &mut [u8],
    ) -> usize {
        side.clear();
        if let Some(sparse) = sparse::encode(codes, side, stream)
            && let with_lanes = state.bytes() + table.len() + 2 * words.len()
            && side.len() + 2 * sparse.len() < with_lanes
        {
            self.head.is_sparse = true;
            return self.write([patches, side], &State { lanes: [1; LANES], switch: 0 }, sparse, out);
        }
        self.head.has_table = !table.is_empty();
        self.write([patches, table], state, words, out)
    }

    /// Writes the body, patches and what else stands behind the base; returns its bytes. What does not fit into `out`
    /// is not written.
    pub fn write(&mut self, [patches, side]: [&[u8]; 2], state: &State, words: &[u16], out: &mut [u8]) -> usize {
        let mut states = [0; STATE_ROOM];
        self.head.has_patches = !patches.is_empty();
        let states = state.pack(&mut self.head, &mut states);
        let begin = self.len + patches.len();
        let behind = begin + side.len();
        let at = behind + states.len();
        let end = (at + 2 * words.len()).next_multiple_of(4);
        if end > out.len() {
            return end;
        }
        out[..HEAD_BYTES].copy_from_slice(&self.head.to_bytes());
        out[HEAD_BYTES..self.len].copy_from_slice(&self.bytes[..self.len - HEAD_BYTES]);
        out[self.len..begin].copy_from_slice(patches);
        out[begin..behind].copy_from_slice(side);
        out[behind..at].copy_from_slice(states);
        let (places, padding) = out[at..end].split_at_mut(2 * words.len());
        places.as_chunks_mut().0.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
        padding.fill(0);
        end
    }
}
