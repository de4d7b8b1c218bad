//! Whether a tile's own table codes it in fewer bits, and which classes it is for.

use super::encode_groups::{Codes, Count};
use super::own_table::{SYMBOLS, Table};
use super::symbol_costs::COST_OF;
use super::tables::{CLASSES, Encoding, OWN, TOKENS, WIDE};
use crate::codec::interp::format::code;
use crate::codec::interp::rules::{BIT, COUNTED_EVERY, MANY_GROUPS, SYMBOL_COST, TABLE_WORTH};
use crate::error::Result;
use crate::host::memory::{boxed, reserve};
use crate::simd::Level;
use crate::simd::word::Word;

/// What is counted of the groups of a tile, by class, and the table that follows.
pub struct Own {
    /// How often tokens occur, without the bits that the tile leaves apart.
    counts: Box<[[u32; TOKENS]; CLASSES]>,
    /// What tokens and low bits cost without a table.
    costs: [u64; CLASSES],
    table: Box<[Table; 1]>,
    /// What encodes by it.
    pub encoding: Box<[Encoding; 1]>,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Own {
    /// With room for what a tile needs.
    pub fn new() -> Result<Own> {
        let mut bytes = Vec::new();
        reserve(&mut bytes, 2 * SYMBOLS + 2)?;
        let (counts, table) = (boxed([0; TOKENS])?, boxed(Table::EMPTY)?);
        Ok(Own { counts, costs: [0; CLASSES], table, encoding: boxed(Encoding::NONE)?, bytes })
    }

    /// Gives groups for which a table of their own is better the class of that; whether there are any.
    pub fn choose<N: Word>(&mut self, p: impl Level, of: &Codes<N>, classes: &mut [u8]) -> bool {
        self.counts.fill([0; TOKENS]);
        self.costs.fill(0);
        let is_first = |g: usize| classes.len() > MANY_GROUPS && g % COUNTED_EVERY == COUNTED_EVERY / 2;
        if classes.len() > MANY_GROUPS {
            self.count(p, of, classes, &is_first);
            let (before, after, _) = self.fit_best(COUNTED_EVERY as u64);
            if after + before / TABLE_WORTH >= before {
                return false;
            }
        }
        self.count(p, of, classes, &|g| !is_first(g));
        let (before, after, chosen) = self.fit_best(1);
        if after >= before {
            return false;
        }
        for class in classes.iter_mut().filter(|class| **class > 0) {
            *class = match usize::from(*class) {
                c if chosen >> c & 1 == 1 => OWN as u8,
                OWN => WIDE as u8,
                c => c as u8,
            };
        }
        self.finish();
        true
    }

    /// Counts the tokens of the groups that are asked for.
    fn count<N: Word>(&mut self, p: impl Level, of: &Codes<N>, classes: &[u8], asked: &dyn Fn(usize) -> bool) {
        p.run(Count { of, classes, asked, counts: &mut self.counts, costs: &mut self.costs });
    }

    /// Takes a table for all symbols of codes that are numbers.
    pub fn of_symbols(&mut self, counts: &[u32; SYMBOLS]) {
        self.table[0].fit(counts);
        self.finish();
    }

    fn finish(&mut self) {
        self.encoding[0].fill(self.table[0].frequencies());
        self.bytes.clear();
        self.table[0].write(&mut self.bytes);
    }

    /// What counted codes cost without a table and with the best one, whose bytes count one part in `share`, and the
    /// classes that it is for.
    fn fit_best(&mut self, share: u64) -> (u64, u64, u32) {
        let used = (1..CLASSES).filter(|c| self.costs[*c] > 0).fold(0u32, |used, c| used | 1 << c);
        let before: u64 = self.costs.iter().sum();
        if used == 0 {
            return (before, before, 0);
        }
        self.fit(used);
        let gains = |own: &Own, c: &usize| own.cost(*c) < own.costs[*c];
        let chosen = classes(used).filter(|c| gains(self, c)).fold(0, |chosen, c| chosen | 1 << c);
        let for_all = self.total(used, used, share);
        if chosen != used && chosen != 0 {
            self.fit(chosen);
            let for_some = self.total(used, chosen, share);
            if for_some < for_all {
                return (before, for_some, chosen);
            }
            self.fit(used);
        }
        (before, for_all, used)
    }

    fn fit(&mut self, chosen: u32) {
        let mut all = [0; SYMBOLS];
        for class in classes(chosen) {
            all.iter_mut().zip(&self.counts[class]).for_each(|(all, count)| *all += count);
        }
        self.table[0].fit(&all);
    }

    /// What the codes of a class cost by the table.
    fn cost(&self, class: usize) -> u64 {
        let frequencies = self.table[0].frequencies();
        let cost = |(t, count): (usize, &u32)| {
            // Tokens that were not counted are dear.
            let of_token = if frequencies[t] == 0 { SYMBOL_COST } else { COST_OF[usize::from(frequencies[t])].into() };
            u64::from(*count) * (of_token + BIT * u64::from(code(t as u32).0))
        };
        self.counts[class].iter().enumerate().filter(|(_, count)| **count > 0).map(cost).sum()
    }

    fn total(&self, used: u32, chosen: u32, share: u64) -> u64 {
        let of = |c: usize| if chosen >> c & 1 == 1 { self.cost(c) } else { self.costs[c] };
        classes(used).map(of).sum::<u64>() + 8 * BIT * self.table[0].bytes() as u64 / share
    }
}

fn classes(set: u32) -> impl Iterator<Item = usize> {
    (1..CLASSES).filter(move |class| set >> class & 1 == 1)
}
