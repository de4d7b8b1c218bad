//! Elements to numbers: multiples, bins, or bits in an order.

use std::cmp::Ordering;
use std::marker::PhantomData;

use crate::codec::interp::body::form::{self, Form, Order};
use crate::codec::interp::body::patches::{Patch, Patches};
use crate::codec::interp::format::*;
use crate::codec::interp::lattice::{Bins, Multiple, multiple_of};
use crate::codec::interp::plan::Plan;
use crate::codec::interp::predict::interpolation;
use crate::codec::interp::predict::sample::{Numbers, best_set};
use crate::codec::interp::predict::widths::Widths;
use crate::codec::interp::quantize::load::{Quantize, load};
use crate::codec::interp::quantize::multiples::{self as survey, BLOCK, Mask, Multiples, Survey, ones};
use crate::codec::interp::quantize::ordered_bits::ordered;
use crate::codec::interp::quantize::{decimals, ranks};
use crate::codec::interp::rules::*;
use crate::dtype::DType;
use crate::missing::next_above;
use crate::primitives::lorenzo::AXES;
use crate::primitives::quantize::mantissa_and_bias;
use crate::primitives::round;
use crate::simd::Level;
use crate::simd::word::Word;

use crate::codec::interp::encoder::{Encoder, Tile};

impl<E: Multiple, N: Word> Encoder<E, N> {
    /// The multiples of the elements, if there is a lattice, and whether they may be interpolated in steps. Exceptions
    /// are listed, and `wide` tells of them alone.
    pub fn survey(&mut self, p: impl Level, plan: &Plan, tile: Tile) -> Option<(Survey, bool)> {
        let lattice = plan.lattice()?;
        let Tile { data, missing, .. } = tile;
        let n = data.len() / size_of::<E::Word>();
        let (big_endian, multiples, element) = (plan.big_endian, &mut self.multiples, PhantomData::<E>);
        let mut survey = p.run(survey::Map { lattice, big_endian, data, missing, multiples, element });
        let is_few = survey.has_few_wide(n);
        let has_far = survey.far > 0;
        let Multiples { wide, border, on, .. } = &mut self.multiples;
        if !is_few {
            let words = n.div_ceil(BLOCK);
            wide[..words].copy_from_slice(&border[..words]);
        }
        let bits = |i: usize| survey::element_bits::<E::Word>(big_endian, data, i).to_u64();
        let mut keep = |i: usize| {
            let (word, bit) = (i / BLOCK, 1 << (i % BLOCK));
            survey.on -= usize::from(on[word] & bit != 0);
            (on[word], wide[word]) = (on[word] & !bit, wide[word] | bit);
        };
        // What takes the place of a missing value is not rounded again.
        for next in plan.layout.shape.missing.bits().iter().filter_map(|bits| next_above(plan.layout.dtype, *bits)) {
            (0..n).filter(|i| bits(*i) == next).for_each(&mut keep);
        }
        // Nor is what a coarser bound made a multiple, whose border is farther.
        if plan.rewritten && has_far {
            let there = |i: usize| missing.get(i / BLOCK).is_none_or(|absent| absent >> (i % BLOCK) & 1 == 0);
            let is_of_coarser = |i: usize| lattice.is_of_coarser::<E>(E::Word::from_u64(bits(i)));
            (0..n).filter(|i| there(*i) && is_of_coarser(*i)).for_each(&mut keep);
        }
        let words = n.div_ceil(BLOCK);
        let exceptions = ones(&wide[..words]).map(|i| (i as u16, Patch::Exception(bits(i))));
        self.patches.extend(exceptions);
        survey.wide = self.patches.len();
        // In their places stand the multiples before them.
        for (i, _) in self.patches.iter().filter(|(i, _)| *i > 0) {
            self.multiples.numbers[usize::from(*i)] = self.multiples.numbers[usize::from(*i) - 1];
        }
        let steps = is_few && survey.near && n >= FEWEST && interpolation::can_interpolate(plan.grid.sides);
        survey::mark(n, survey, missing, &mut self.multiples);
        Some((survey, steps))
    }

    /// Whether an element that is there would come back as a missing value by a rule.
    pub fn collides(&self, plan: &Plan, survey: Survey, rule: Interpolation, n: usize) -> bool {
        let Some(lattice) = plan.lattice() else { return false };
        let Encoder { coded, multiples, .. } = self;
        let number = |bits: &u64| multiple_of::<E>(lattice, E::Word::from_u64(*bits));
        let missing = plan.layout.shape.missing.bits();
        // Without steps multiples come back as they are.
        let restored = if rule.in_steps { &coded.restored[..n] } else { &multiples.numbers[..n] };
        let there = |i: usize| !survey.is_masked() || multiples.absent[i / BLOCK] >> (i % BLOCK) & 1 == 0;
        missing.iter().filter_map(number).any(|number| {
            let number = number.wrapping_sub(survey.base) as u32;
            restored.iter().enumerate().any(|(i, restored)| *restored == number && there(i))
        })
    }

    /// Lists the multiples that interpolation in steps did not restore.
    pub fn correct_steps(&mut self, n: usize) {
        let Encoder { multiples, coded, patches, .. } = self;
        correct(&multiples.on, n, patches, |i| multiples.numbers[i].wrapping_sub(coded.restored[i]) as i32);
    }

    /// Lists the multiples that bins do not restore.
    pub fn correct_bins(&mut self, survey: Survey, n: usize) {
        let Encoder { multiples, numbers, base, patches, .. } = self;
        correct(&multiples.on, n, patches, |i| {
            let multiple = multiples.numbers[i].wrapping_add(survey.base as u32);
            let bin = numbers[i].add(*base).extend() as u32;
            multiple.wrapping_sub(bin.wrapping_mul(LATTICE_STEP)) as i32
        });
    }

    /// The elements' bins; `false` where one is that of a missing value. In the places of exceptions stand others.
    pub fn bins(&mut self, p: impl Level, plan: &Plan, bins: &Bins, tile: Tile) -> bool {
        let n = tile.data.len() / size_of::<E::Word>();
        let elements = &mut self.elements[..n];
        load(p, plan.big_endian, tile.data, elements);
        let mut next = 0;
        for (i, _) in &self.patches {
            let i = usize::from(*i);
            // The one before it, or the first one that is no exception.
            if i == next {
                next += 1;
            } else {
                elements[i] = elements[i - 1];
            }
        }
        if next < n {
            let first = elements[next];
            elements[..next].fill(first);
        } else {
            elements.fill(E::Word::ZERO);
        }
        p.run(Quantize::<E> { bins, words: &mut *elements });
        if !tile.beside && plan.colliding.iter().any(|c| elements.iter().any(|word| word.to_u64() == c.integer)) {
            return false;
        }
        self.take(p, |word| N::from_u64(word.extend()), n);
        true
    }

    /// The elements as numbers less that of the first one.
    pub fn take(&mut self, p: impl Level, number: impl Fn(E::Word) -> N, n: usize) {
        let Encoder { elements, numbers, base, middle, .. } = self;
        let first = number(elements[0]);
        (*base, *middle) = (first, N::ZERO);
        p.loops(|| numbers.iter_mut().zip(&elements[..n]).for_each(|(to, word)| *to = number(*word).sub(first)));
    }

    /// The elements, rounded in mode rel.
    pub fn round(&mut self, p: impl Level, plan: &Plan, Tile { data, .. }: Tile) {
        let (big_endian, dtype) = (plan.big_endian, plan.layout.dtype);
        let n = data.len() / size_of::<E::Word>();
        let elements = &mut self.elements[..n];
        load(p, big_endian, data, elements);
        let Some(keep) = plan.keep_bits else { return };
        if !round::encode(elements, mantissa_and_bias(dtype).0, keep) {
            return;
        }
        let (mut is_exact, mut came) = (false, false);
        for collision in plan.colliding.iter() {
            let number = |i: usize| dtype.number(survey::element_bits::<E::Word>(big_endian, data, i).to_u64());
            for (i, _) in elements.iter().enumerate().filter(|(_, word)| word.to_u64() == collision.integer) {
                came = true;
                // NaN is within no bound of a number.
                is_exact |= number(i).partial_cmp(&collision.least).is_none_or(Ordering::is_lt);
            }
        }
        self.came_beside = came && !is_exact;
        if is_exact {
            load(p, big_endian, data, elements);
        }
    }

    /// What elements' bits are as numbers: the form that looks cheapest, and its best axes with what these cost.
    pub fn form(&mut self, p: impl Level, plan: &Plan, lens: [usize; AXES]) -> (Form, (u8, u64)) {
        let n: usize = lens.iter().product();
        let mut form = self.plain(p, plan, n);
        let Encoder { elements, numbers, other, base, digits, odd, words, list, .. } = self;
        let elements = &elements[..n];
        let of_set = |base: N, numbers: &[N]| best_set::<Widths, _>(p, lens, Some(N::ZERO.sub(base)), numbers);
        let mut axes = of_set(*base, numbers);
        let of_plain = axes.1;
        let mut cost = of_plain;
        let mut consider = |new: Form, first: N, other: &mut Vec<N>, side: u64| {
            let of_new = of_set(first, other);
            if of_new.1 + BIT * side < cost {
                (cost, axes, form, *base) = (of_new.1 + BIT * side, of_new, new, first);
                std::mem::swap(numbers, other);
            }
        };
        // The sample alone says whether they may cost less.
        let may_pay = |digits: u8| {
            let all = decimals::Sampled::<E, N> { elements, digits, first: N::ZERO };
            let first = all.at(0);
            let zero = Some(N::ZERO.sub(first));
            let sampled = best_set::<Widths, _>(p, lens, zero, decimals::Sampled { first, ..all }).1;
            sampled + BIT * decimals::LEAST_COST < of_plain
        };
        if let Some(found) = decimals::digits::<E>(elements)
            && may_pay(found)
            && p.run(decimals::Integers::<E> { elements, digits: found, words: &mut words[..n], odd: &mut *odd })
        {
            *digits = found;
            let first = N::from_u64(words[0].extend());
            let number = |k: &E::Word| N::from_u64(k.extend()).sub(first);
            p.loops(|| other.iter_mut().zip(&words[..n]).for_each(|(to, k)| *to = number(k)));
            let new = Form { order: Order::Decimals, ..Form::default() };
            consider(new, first, other, form::cost(&new, odd, list));
        }
        if ranks::may_be_few(elements) && ranks::list(elements, list) {
            let rank = |bits: &E::Word| N::from_u64(list.binary_search(bits).unwrap_or(0) as u64);
            let first = rank(&elements[0]);
            other[..n].iter_mut().zip(elements).for_each(|(to, bits)| *to = rank(bits).sub(first));
            let new = Form { order: Order::Ranks, ..Form::default() };
            consider(new, first, other, form::cost(&new, odd, list));
        }
        (form, axes)
    }

    /// The elements as numbers in their order.
    pub fn plain(&mut self, p: impl Level, plan: &Plan, n: usize) -> Form {
        let any = p.loops(|| self.elements[..n].iter().fold(E::Word::ZERO, |any, w| any | *w));
        let shift = if any == E::Word::ZERO { 0 } else { any.trailing_zeros() };
        // A float's sign may be the only bit.
        let shift = if E::EXPONENT_BITS > 0 { shift.min(E::Word::BITS - 1) } else { shift };
        let is_unsigned = matches!(plan.layout.dtype, DType::U8 | DType::U16 | DType::U32 | DType::U64);
        self.take(
            p,
            |w| {
                if E::EXPONENT_BITS > 0 {
                    let compact = w & E::Word::SIGN | (w & !E::Word::SIGN) >> shift;
                    return N::from_u64(ordered::<E>(compact).extend());
                }
                N::from_u64(if is_unsigned { (w >> shift).to_u64() } else { w.sar(shift).extend() })
            },
            n,
        );
        Form { shift, ..Form::default() }
    }
}

/// Lists those of the first `n` multiples, which a mask tells, that are to be changed, and by how much.
fn correct(on: &Mask, n: usize, patches: &mut Patches, by: impl Fn(usize) -> i32) {
    let differ = ones(&on[..n.div_ceil(BLOCK)]).map(|i| (i as u16, by(i)));
    patches.extend(differ.filter(|(_, by)| *by != 0).map(|(i, by)| (i, Patch::Correction(by))));
    patches.sort_unstable_by_key(|(i, _)| *i);
}
