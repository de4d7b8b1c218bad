//! What elements' bits are as numbers (docs/reference/codecs/interp.md §8).

use crate::codec::interp::quantize::decimals::{self, Odd};
use crate::codec::interp::quantize::ranks;
use crate::codec::shared::reader::take16;
use crate::error::{Result, fail};
use crate::simd::word::Word;

/// Bits of shift.
const SHIFT_BITS: u32 = 6;

/// What a number is of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Order {
    /// A number in the order of elements, without zero bits at the low end.
    #[default]
    Numbers,
    /// An integer over a power of ten.
    Decimals,
    /// A place in a list.
    Ranks,
}

/// What stands behind the base of elements' bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Form {
    /// Zero bits at the low end.
    pub shift: u32,
    /// What numbers are.
    pub order: Order,
}

impl Form {
    /// Writes it, and what goes with it.
    pub fn write<W: Word>(&self, (digits, odd): (u8, &Odd<W>), list: &[W], out: &mut Vec<u8>) {
        let bits = self.shift | (self.order as u32) << SHIFT_BITS;
        out.extend((bits as u16).to_le_bytes());
        match self.order {
            Order::Numbers => {}
            Order::Decimals => decimals::write(digits, odd, out),
            Order::Ranks => ranks::write(list, out),
        }
    }

    /// Reads it, of elements of a word's size.
    pub fn read<W: Word>(rest: &mut &[u8], has_decimals: bool) -> Result<Form> {
        let bits = u32::from(take16(rest)?);
        let orders = [Some(Order::Numbers), has_decimals.then_some(Order::Decimals), Some(Order::Ranks), None];
        let form = Form {
            shift: bits & ((1 << SHIFT_BITS) - 1),
            order: orders[(bits >> SHIFT_BITS & 3) as usize].unwrap_or_default(),
        };
        let is_legal = orders[(bits >> SHIFT_BITS & 3) as usize].is_some()
            && form.shift < W::BITS
            && (form.shift == 0 || form.order == Order::Numbers)
            && bits >> 8 == 0;
        if !is_legal {
            return fail!(Corrupt, "{form:?} of elements of {} bits, from {bits:#06x}", W::BITS);
        }
        Ok(form)
    }
}

/// Bits that decimals and ranks take beside their numbers.
pub fn cost<W: Word>(form: &Form, odd: &Odd<W>, list: &[W]) -> u64 {
    match form.order {
        Order::Numbers => 0,
        Order::Decimals => decimals::cost(odd),
        Order::Ranks => ranks::cost(list),
    }
}
