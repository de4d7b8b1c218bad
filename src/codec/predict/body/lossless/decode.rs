//! What a tile's form says, read and undone.

use super::{Form, Order, Prediction};
use crate::codec::predict::code::decode::Own;
use crate::codec::predict::code::low::Low;
use crate::codec::predict::code::own_table::{SYMBOLS, Table};
use crate::codec::predict::code::tables::TOKENS;
use crate::codec::predict::map::decimals::Decimals;
use crate::codec::predict::map::{order, ranks};
use crate::codec::predict::predict::lags;
use crate::codec::predict::simd::Task;
use crate::codec::predict::simd::lanes::Lanes;
use crate::error::Result;
use crate::host::memory::boxed;
use crate::primitives::lorenzo::{self, AXES};
use crate::primitives::quantize::Element;
use crate::primitives::rans::TABLE_BITS;
use crate::primitives::word::Word;

/// Buffers that a decoder reuses from tile to tile.
pub struct Buffers {
    slots: Box<[u32; 1 << TABLE_BITS]>,
    lags: Box<lags::Lags>,
}

impl Buffers {
    /// Empty ones.
    pub fn new() -> Result<Buffers> {
        Ok(Buffers { slots: boxed(0)?, lags: boxed(0)? })
    }

    /// Reads a tile's own table, of symbols below `limit`. Never inlined, so that it is not on the stack for long.
    #[inline(never)]
    pub fn read_table(&mut self, rest: &mut &[u8], limit: usize) -> Result<()> {
        Table::read(rest, limit)?.slots(&mut self.slots);
        Ok(())
    }

    /// The table that was read last, of tokens.
    pub fn own(&self) -> Own<'_> {
        Own { slots: &self.slots, direct: false }
    }
}

/// What stands between base and states.
pub struct Side<'a> {
    form: Form,
    has_table: bool,
    buffers: &'a Buffers,
    decimals: Option<Decimals<'a>>,
    list: &'a [u8],
    low: Option<(Low, &'a [u8])>,
}

impl<'a> Side<'a> {
    /// Reads it for a tile of `n` elements, with a table if it `has_table`.
    #[inline(never)]
    pub fn read<E: Element>(
        form: Form,
        has_table: bool,
        rest: &mut &'a [u8],
        n: usize,
        buffers: &'a mut Buffers,
    ) -> Result<Side<'a>> {
        let decimals = match form.order {
            Order::Decimals => Some(Decimals::read(rest, n, size_of::<E::Word>())?),
            _ => None,
        };
        let list = if form.order == Order::Ranks { ranks::read::<E::Word>(rest)? } else { &[] };
        if form.prediction == Prediction::Lags {
            lags::read(rest, n, &mut buffers.lags)?;
        }
        if has_table {
            buffers.read_table(rest, if form.prediction == Prediction::Symbols { SYMBOLS } else { TOKENS })?;
        }
        let low = if form.low { Some(Low::read(rest, n, E::Word::BITS)?) } else { None };
        Ok(Side { form, has_table, buffers, decimals, list, low })
    }

    /// The zero bits that words leave out, if that is all there is to them.
    pub fn plain_shift(&self) -> Option<u32> {
        (self.form == Form::plain(self.form.shift)).then_some(self.form.shift)
    }

    /// The tile's table.
    pub fn own(&self) -> Option<Own<'a>> {
        let direct = self.form.prediction == Prediction::Symbols;
        self.has_table.then_some(Own { slots: &self.buffers.slots, direct })
    }
}

/// Codes of a tile become its elements.
pub struct Restore<'a, E: Element> {
    pub side: &'a Side<'a>,
    pub set: u8,
    pub base: E::Word,
    pub lens: [usize; AXES],
    pub words: &'a mut [E::Word],
}

impl<E: Element> Task for Restore<'_, E> {
    type Done = Result<()>;

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) -> Result<()> {
        let Restore { side, set, base, lens, words } = self;
        if let Some((low, plane)) = &side.low {
            low.complete(plane, words)?;
        }
        if side.form.prediction != Prediction::Symbols {
            for w in &mut *words {
                *w = w.unzigzag();
            }
        }
        match side.form.prediction {
            Prediction::Axes => lorenzo::inverse(set, lens, words),
            Prediction::Lags => lags::inverse(&side.buffers.lags, words),
            Prediction::Symbols => {}
        }
        let shift = side.form.shift;
        for w in &mut *words {
            *w = w.add(base);
        }
        match (side.form.order, &side.decimals) {
            (Order::Decimals, Some(decimals)) => decimals.elements::<E>(words),
            (Order::Ranks, _) => ranks::elements(side.list, words)?,
            (Order::Magnitudes, _) => {
                for w in words {
                    *w = (*w << shift).rotr(1);
                }
            }
            _ => {
                for w in words {
                    *w = order::from_bits::<E>(*w, shift);
                }
            }
        }
        Ok(())
    }
}
