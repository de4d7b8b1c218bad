//! One tile to its body.

use std::marker::PhantomData;

use super::decode::{Elements, Meaning};
use super::form::{Form, Order};
use super::patches;
use crate::codec::interp::choose::Choice;
use crate::codec::interp::encoder::{Encoder, Tile};
use crate::codec::interp::entropy::encode::{self as entropy, Known};
use crate::codec::interp::format::*;
use crate::codec::interp::lattice::{Bins, Multiple};
use crate::codec::interp::plan::Plan;
use crate::codec::interp::predict::encode::{Case, Way};
use crate::codec::interp::predict::sample::{Sums, best_set};
use crate::container::Kind;
use crate::runtime::cpu::raw;
use crate::simd::Level;
use crate::simd::word::Word;

impl<E: Multiple, N: Word> Encoder<E, N> {
    /// Encodes a tile into `out`; the kind of its body and its bytes.
    pub fn encode(&mut self, p: impl Level, plan: &Plan, choice: &Choice, tile: Tile, out: &mut [u8]) -> (Kind, usize) {
        let size = size_of::<E::Word>();
        let raw_bytes = tile.data.len().next_multiple_of(plan.layout.unit());
        self.came_beside = false;
        self.patches.clear();
        let body = match &plan.bins {
            Some(bins) => self.within_bound(p, plan, bins, choice, tile, &mut out[..raw_bytes]),
            None => self.bit_for_bit(p, plan, choice, tile, &mut out[..raw_bytes]),
        };
        body.filter(|(_, bytes)| *bytes < raw_bytes).unwrap_or_else(|| {
            raw(size, plan.big_endian, tile.data, &mut out[..raw_bytes]);
            (Kind::Raw, raw_bytes)
        })
    }

    /// Encodes within a bound; `None` where an element would come back as a missing value.
    fn within_bound(
        &mut self,
        p: impl Level,
        plan: &Plan,
        bins: &Bins,
        choice: &Choice,
        tile: Tile,
        out: &mut [u8],
    ) -> Option<(Kind, usize)> {
        let n = tile.data.len() / size_of::<E::Word>();
        let survey = self.survey(p, plan, tile);
        let mut rule = choice.exact;
        if let Some((survey, true)) = survey {
            let numbers = std::mem::take(&mut self.multiples.numbers);
            let (base, is_masked) = (survey.base, survey.is_masked());
            let is_restored = survey.on > 0 || !tile.beside && !plan.layout.shape.missing.is_empty();
            let (lens, numbers_of_tile) = (tile.lens, &numbers[..n]);
            let case = Case { lens, numbers: numbers_of_tile, base, steps: true, bits: false, is_masked, is_restored };
            let way = self.way_of_multiples(p, choice, survey, &case);
            self.multiples.numbers = numbers;
            rule = rule.filter(|_| matches!(way, Way::Exact));
            if let Way::Interpolated(rule) = way
                && (tile.beside || !self.collides(plan, survey, rule, n))
            {
                // Multiples without steps come back as they are.
                if rule.in_steps {
                    self.correct_steps(n);
                }
                let numbers = if rule.in_steps { Numbers::Steps } else { Numbers::Multiples };
                let head = Head { numbers, ..Head::interpolated(rule) };
                (self.base, self.middle, self.are_short) = (N::from_u64(i64::from(base) as u64), N::ZERO, true);
                return self.write(p, plan, head, Form::default(), n, out);
            }
        }
        if !self.bins(p, plan, bins, tile) {
            return None;
        }
        if let Some((survey, _)) = survey {
            self.correct_bins(survey, n);
        }
        let axes = best_set::<Sums, _>(p, tile.lens, None, &self.numbers[..n]);
        let head = self.exact(p, plan, rule, tile.lens, axes);
        self.write(p, plan, Head { numbers: Numbers::Bins, ..head }, Form::default(), n, out)
    }

    /// Encodes elements' bits, of which mode rel rounds some off.
    fn bit_for_bit(
        &mut self,
        p: impl Level,
        plan: &Plan,
        choice: &Choice,
        tile: Tile,
        out: &mut [u8],
    ) -> Option<(Kind, usize)> {
        let n = tile.data.len() / size_of::<E::Word>();
        self.round(p, plan, tile);
        let (form, axes) = self.form(p, plan, tile.lens);
        let narrow = form.order == Order::Ranks || size_of::<E::Word>() <= 2;
        let head = self.exact(p, plan, choice.exact, tile.lens, axes);
        if narrow && self.symbols_are_better(p, n) {
            let head = Head { predictor: Predictor::Symbols, low: self.low, ..Head::default() };
            return self.write(p, plan, head, form, n, out);
        }
        self.write(p, plan, head, form, n, out)
    }

    /// Writes the codes of a tile.
    fn write(
        &mut self,
        p: impl Level,
        plan: &Plan,
        mut head: Head,
        form: Form,
        n: usize,
        out: &mut [u8],
    ) -> Option<(Kind, usize)> {
        let base = self.base.add(self.middle);
        let Encoder { coded, all, are_short, patches, digits, odd, list, front, room, counts, .. } = self;
        let (codes, all) = (&coded.codes[..n], &all[..n]);
        // What elements' bits cost does not follow from sums.
        let sums = (*are_short && head.numbers != Numbers::Bits).then_some(&*coded.sums);
        front.clear();
        let signed = base.extend() as i64;
        let bits = if signed == 0 { 0 } else { 65 - (signed ^ signed >> 63).leading_zeros() };
        head.base_words = [0, 1, 2, 4, 4][bits.div_ceil(16) as usize];
        front.extend(&signed.to_le_bytes()[..2 * head.base_words]);
        if head.numbers == Numbers::Bits {
            form.write((*digits, odd), list, front);
        }
        head.has_patches = !patches.is_empty();
        patches::write(patches, size_of::<E::Word>(), front);
        let is_zero = match (sums, *are_short) {
            (Some(sums), _) => !sums[..groups(n)].iter().any(|sum| sum.any),
            (None, true) => p.loops(|| codes.iter().fold(0, |any, code| any | code) == 0),
            (None, false) => p.loops(|| all.iter().fold(N::ZERO, |any, code| any | *code) == N::ZERO),
        };
        if is_zero {
            let size = size_of::<E::Word>().next_multiple_of(plan.layout.unit());
            let packed = (HEAD_BYTES + front.len()).next_multiple_of(4);
            if head.has_patches || form.order != Order::Numbers || packed < size {
                return entropy::write_nothing(&mut head, front, out).map(|bytes| (Kind::Packed, bytes));
            }
            let place = out.get_mut(..size)?;
            place.fill(0);
            let meaning = &Meaning { plan, numbers: head.numbers, form, base };
            p.run(Elements::<E, N, N> { meaning, numbers: &[N::ZERO], out: place, element: PhantomData });
            return Some((Kind::Constant, size));
        }
        let known = match sums {
            _ if head.predictor == Predictor::Symbols => Known::Symbols(counts),
            Some(sums) => Known::Sums(sums),
            None => Known::Nothing,
        };
        let bytes = match are_short {
            true => entropy::write(p, &mut head, front, codes, known, room, out),
            false => entropy::write(p, &mut head, front, all, known, room, out),
        };
        bytes.map(|bytes| (Kind::Packed, bytes))
    }
}
