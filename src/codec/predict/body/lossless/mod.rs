//! What a tile of elements' bits may do beyond differences of their order: other words, other predictions, low bits
//! beside the coder (docs/reference/codecs/predict.md §10–13).

pub mod bounded;
pub mod decode;
pub mod encode;
pub mod passes;
pub mod sample;
pub mod slope;

use crate::codec::interp::quantize::decimals;
use crate::error::{Result, fail};
use crate::primitives::quantize::Element;
use crate::simd::word::Word;

/// Which words stand for elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Their bits, in the order of numbers.
    #[default]
    Numbers,
    /// Their bits with the sign at the low end.
    Magnitudes,
    /// Integers that are the elements times a power of ten.
    Decimals,
    /// Their numbers in a list of all that occur.
    Ranks,
}

/// What codes stand for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prediction {
    /// Differences along axes.
    #[default]
    Axes,
    /// Words themselves, of which symbols are the high bits.
    Symbols,
    /// Differences to the words at a distance of each segment's own.
    Lags,
}

/// The form of a tile, the number behind its head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Zero bits that words leave out at their low end.
    pub shift: u32,
    /// Which words stand for elements.
    pub order: Order,
    /// What codes stand for.
    pub prediction: Prediction,
    /// Low bits of codes stand beside the coder.
    pub low: bool,
    /// How long a slope is: 0 for none. With one codes stand for numbers that are not negative.
    pub slope: u32,
}

impl Form {
    /// That of words without so many low bits, and nothing else.
    pub fn plain(shift: u32) -> Form {
        Form { shift, ..Form::default() }
    }

    /// The number.
    pub fn to_bits(self) -> u16 {
        let bits = self.shift | (self.order as u32) << 6 | (self.prediction as u32) << 8;
        (bits | u32::from(self.low) << 10 | self.slope << 11) as u16
    }

    /// Reads the number for elements of a type; `has_table`: the tile brings its own.
    pub fn read<E: Element>(bits: u16, has_table: bool) -> Result<Form> {
        let order = [Order::Numbers, Order::Magnitudes, Order::Decimals, Order::Ranks].get(usize::from(bits >> 6 & 3));
        let prediction = [Prediction::Axes, Prediction::Symbols, Prediction::Lags].get(usize::from(bits >> 8 & 3));
        let (Some(order), Some(prediction), 0) = (order, prediction, bits >> 13) else {
            return fail!(Corrupt, "a tile has form {bits:#x}");
        };
        let form = Form {
            shift: u32::from(bits & 63),
            order: *order,
            prediction: *prediction,
            low: bits >> 10 & 1 == 1,
            slope: u32::from(bits >> 11 & 3),
        };
        let legal = form.shift < E::Word::BITS
            && (form.order != Order::Decimals || decimals::has::<E>())
            && (matches!(form.order, Order::Numbers | Order::Magnitudes) || form.shift == 0)
            && (form.prediction != Prediction::Symbols || has_table)
            && (form.prediction == Prediction::Axes || form.slope == 0);
        if !legal {
            return fail!(Corrupt, "{form:?} is no form of elements of {} bits", E::Word::BITS);
        }
        Ok(form)
    }
}
