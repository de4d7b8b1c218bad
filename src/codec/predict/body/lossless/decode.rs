//! What a tile's form says, read and undone.

use super::passes::Zigzag;
use super::slope::{self, Add};
use super::{Form, Order, Prediction};
use crate::codec::interp::quantize::decimals::Decimals;
use crate::codec::interp::quantize::{ordered_bits as order, ranks};
use crate::codec::predict::code::decode::Own;
use crate::codec::predict::code::low::Low;
use crate::codec::predict::code::own_table::{SYMBOLS, Table};
use crate::codec::predict::code::tables::TOKENS;
use crate::codec::predict::predict::lags;
use crate::error::Result;
use crate::host::memory::boxed;
use crate::primitives::lorenzo::{self, AXES};
use crate::primitives::quantize::Element;
use crate::primitives::rans::TABLE_BITS;
use crate::simd::Task;
use crate::simd::lanes::Lanes;
use crate::simd::word::Word;

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
pub struct Side<'a, W> {
    form: Form,
    slope: W,
    has_table: bool,
    buffers: &'a Buffers,
    decimals: Option<Decimals<'a>>,
    list: &'a [u8],
    low: Option<(Low, &'a [u8])>,
}

impl<'a, W: Word> Side<'a, W> {
    /// Reads it for a tile of `n` elements, with a table if it `has_table`.
    #[inline(never)]
    pub fn read(
        form: Form,
        has_table: bool,
        rest: &mut &'a [u8],
        n: usize,
        buffers: &'a mut Buffers,
    ) -> Result<Side<'a, W>> {
        let slope = slope::read(form.slope, rest)?;
        let decimals = match form.order {
            Order::Decimals => Some(Decimals::read(rest, n, size_of::<W>())?),
            _ => None,
        };
        let list = if form.order == Order::Ranks { ranks::read::<W>(rest)? } else { &[] };
        if form.prediction == Prediction::Lags {
            lags::read(rest, n, &mut buffers.lags)?;
        }
        if has_table {
            buffers.read_table(rest, if form.prediction == Prediction::Symbols { SYMBOLS } else { TOKENS })?;
        }
        let low = if form.low { Some(Low::read(rest, n, W::BITS)?) } else { None };
        Ok(Side { form, slope, has_table, buffers, decimals, list, low })
    }

    /// The zero bits that words leave out, if that is all there is to them.
    pub fn plain_shift(&self) -> Option<u32> {
        (self.form == Form::plain(self.form.shift)).then_some(self.form.shift)
    }

    /// The same beside a slope; 0 where there is none.
    pub fn sloped_shift(&self) -> Option<(u32, W)> {
        let Form { shift, slope, .. } = self.form;
        (self.form == Form { slope, ..Form::plain(shift) }).then_some((shift, self.slope))
    }

    /// What is left to say of words whose slope is undone.
    fn without_slope(&self) -> Side<'a, W> {
        let form = Form { slope: 0, low: false, ..self.form };
        Side { form, slope: W::ZERO, has_table: false, low: None, ..*self }
    }

    /// Whether codes have no sign.
    pub fn has_slope(&self) -> bool {
        self.form.slope > 0
    }

    /// The tile's table.
    pub fn own(&self) -> Option<Own<'a>> {
        let direct = self.form.prediction == Prediction::Symbols;
        self.has_table.then_some(Own { slots: &self.buffers.slots, direct })
    }
}

/// Codes of a tile with a slope become codes of one without, and without differences. Apart from `Restore`, so that the
/// code of other tiles stays one piece.
pub struct Flatten<'a, 's, W> {
    pub side: &'a Side<'s, W>,
    pub set: u8,
    pub lens: [usize; AXES],
    pub words: &'a mut [W],
}

impl<'s, W: Word> Task for Flatten<'_, 's, W> {
    type Done = Result<Side<'s, W>>;

    #[inline(always)]
    fn run<L: Lanes>(self, l: L) -> Result<Side<'s, W>> {
        let Flatten { side, set, lens, words } = self;
        if let Some((low, plane)) = &side.low {
            low.complete(plane, words)?;
        }
        lorenzo::inverse(set, lens, words);
        Add { slope: side.slope, words: &mut *words }.run(l);
        Zigzag { codes: words }.run(l);
        Ok(side.without_slope())
    }
}

/// Codes of a tile become its elements.
pub struct Restore<'a, E: Element> {
    pub side: &'a Side<'a, E::Word>,
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
