//! How often the tokens of a tile occur, class by class, and whether a table of its own would code them in fewer bits.
//! The counts are all that is decided by, so that whoever takes groups apart in another order, or on a GPU, decides
//! alike.

use super::own_table::{Costs, Counts, OWN, SYMBOLS, Table};
use super::tables::{FIRSTS, FREQUENCIES, TABLES, WIDEST};
use super::token_costs::{BIT, TOKEN_COSTS};
use crate::codec::predict::format::{GROUP, QUAD};
use crate::error::Result;
use crate::host::memory::{boxed, reserve};
use crate::primitives::rans::{LANES, Symbol};

/// Places for the tokens of all classes one behind the other.
const PLACES: usize = 2048;
const _: () = assert!((FIRSTS[TABLES] as usize) <= PLACES);

/// The counts of a class's tokens, once for each value of two neighbouring lanes: a place that was added to a moment
/// ago is slow to be added to again.
pub type OfClass = [[u16; SYMBOLS]; COPIES];
const COPIES: usize = 2 * QUAD;
/// Those of all classes, one behind the other.
type AllClasses = [u16; TABLES * COPIES * SYMBOLS];

#[inline(always)]
fn of_class(all: &mut AllClasses, class: usize) -> &mut OfClass {
    all.as_chunks_mut().0[class * COPIES..].first_chunk_mut().expect("the counts of all classes")
}

/// The counts of a tile, and the table that follows from them.
pub struct TokenCounts {
    each: Box<AllClasses>,
    sums: Box<[u32; PLACES]>,
    /// A bit for each class that a group has.
    used: u32,
    all: Box<Counts>,
    table: Box<[Table; 1]>,
    costs: Box<Costs>,
    symbols: Box<[Symbol; SYMBOLS]>,
    /// The table, as it stands in a body.
    pub bytes: Vec<u8>,
    /// The class that groups of each class get.
    pub classes: [u8; TABLES],
}

impl TokenCounts {
    /// None yet.
    pub fn new() -> Result<TokenCounts> {
        let mut bytes = Vec::new();
        // No table takes more.
        reserve(&mut bytes, 2 * SYMBOLS + 2)?;
        Ok(TokenCounts {
            each: boxed(0)?,
            sums: boxed(0)?,
            used: 0,
            all: boxed(0)?,
            table: boxed(Table::EMPTY)?,
            costs: boxed(0)?,
            symbols: boxed(Symbol::new(0, 0))?,
            bytes,
            classes: [0; TABLES],
        })
    }

    /// Forgets the tile before.
    #[inline(always)]
    pub fn clear(&mut self) {
        for class in classes(self.used) {
            of_class(&mut self.each, class).iter_mut().for_each(|each| each[..FREQUENCIES[class].len()].fill(0));
        }
        self.used = 0;
    }

    /// The counts of a class that a group has, to be added to.
    #[inline(always)]
    pub fn of(&mut self, class: usize) -> &mut OfClass {
        self.used |= 1 << class;
        of_class(&mut self.each, class)
    }

    /// Counts the tokens of a group, of which so many stand for nothing: those are 0.
    #[inline(always)]
    pub fn add(&mut self, class: usize, tokens: &[[u8; QUAD]; LANES], absent: u32) {
        let counts = self.of(class);
        for tokens in tokens.as_flattened().as_chunks::<COPIES>().0 {
            for (counts, token) in counts.iter_mut().zip(tokens) {
                let count = &mut counts[usize::from(*token)];
                *count = count.wrapping_add(1);
            }
        }
        self.forget(class, absent);
    }

    /// Takes as many tokens 0 back. One of the four counts may pass below 0, their sum does not.
    #[inline(always)]
    pub fn forget(&mut self, class: usize, absent: u32) {
        let zeros = &mut of_class(&mut self.each, class)[0][0];
        *zeros = zeros.wrapping_sub(absent as u16);
    }

    /// Finds the tile's own table, and which classes it is for; `false` if it is better without one.
    #[inline(always)]
    pub fn choose(&mut self) -> bool {
        let used = self.used;
        if used == 0 {
            return false;
        }
        for class in classes(used) {
            let len = FREQUENCIES[class].len();
            let [first, rest @ ..] = of_class(&mut self.each, class);
            for each in rest {
                first[..len].iter_mut().zip(&each[..len]).for_each(|(sum, count)| *sum = sum.wrapping_add(*count));
                each[..len].fill(0);
            }
            let sums = &mut self.sums[usize::from(FIRSTS[class])..usize::from(FIRSTS[class + 1])];
            sums.iter_mut().zip(first).for_each(|(sum, count)| *sum = (*count).into());
        }
        self.fit(used);
        let gains = |class: &usize| self.cost(*class, &self.costs[..]) < self.cost(*class, instead(*class));
        let mut chosen = classes(used).filter(gains).fold(0, |chosen, class| chosen | 1 << class);
        let for_all = self.total(used, used);
        if chosen != used {
            self.fit(chosen);
            // Groups that all have one class say nothing of it.
            if for_all <= self.total(used, chosen) + BIT * self.groups(used) {
                chosen = used;
                self.fit(used);
            }
        }
        let without: u64 = classes(used).map(|class| self.cost(class, &TOKEN_COSTS[class])).sum();
        if self.total(used, chosen) >= without {
            return false;
        }
        for class in classes(used) {
            self.classes[class] = match class {
                _ if chosen >> class & 1 == 1 => OWN as u8,
                OWN => WIDEST[1] as u8,
                _ => class as u8,
            };
        }
        self.bytes.clear();
        self.table[0].write(&mut self.bytes);
        true
    }

    /// The frequencies of the table and its symbols, and the class that groups of each class get.
    pub fn for_encoding(&mut self) -> (&[u16; SYMBOLS], &[Symbol; SYMBOLS], &[u8; TABLES]) {
        self.table[0].symbols(&mut self.symbols);
        (self.table[0].frequencies(), &self.symbols, &self.classes)
    }

    /// The frequencies of the table.
    pub fn frequencies(&self) -> &[u16; SYMBOLS] {
        self.table[0].frequencies()
    }

    /// The table that fits the tokens of these classes.
    #[inline(always)]
    fn fit(&mut self, chosen: u32) {
        self.all.fill(0);
        for class in classes(chosen) {
            let sums = &self.sums[usize::from(FIRSTS[class])..usize::from(FIRSTS[class + 1])];
            self.all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum);
        }
        self.table[0].fit(&self.all);
        self.table[0].costs(&mut self.costs);
    }

    /// What the tokens of all classes that are used and the table cost, if it is for those that are chosen.
    #[inline(always)]
    fn total(&self, used: u32, chosen: u32) -> u64 {
        let costs = |class: usize| if chosen >> class & 1 == 1 { &self.costs[..] } else { instead(class) };
        let tokens: u64 = classes(used).map(|class| self.cost(class, costs(class))).sum();
        tokens + 8 * BIT * self.table[0].bytes() as u64
    }

    /// As many groups as the tokens would fill.
    #[inline(always)]
    fn groups(&self, used: u32) -> u64 {
        let tokens = |class| self.sums[usize::from(FIRSTS[class])..usize::from(FIRSTS[class + 1])].iter().sum::<u32>();
        u64::from(classes(used).map(tokens).sum::<u32>()) / GROUP as u64
    }

    /// What the tokens of a class cost in a table.
    #[inline(always)]
    fn cost(&self, class: usize, costs: &[u16]) -> u64 {
        let sums = &self.sums[usize::from(FIRSTS[class])..usize::from(FIRSTS[class + 1])];
        // No more than 2^14 tokens of 2^16.
        u64::from(sums.iter().zip(costs).map(|(sum, cost)| sum * u32::from(*cost)).sum::<u32>())
    }
}

/// What tokens of a class cost where its table is not the tile's own: the one that stands for that has given way.
fn instead(class: usize) -> &'static [u16] {
    &TOKEN_COSTS[if class == OWN { WIDEST[1] } else { class }]
}

fn classes(set: u32) -> impl Iterator<Item = usize> {
    (1..TABLES).filter(move |class| set >> class & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_the_tables_know_need_none_and_others_do() {
        let mut counts = TokenCounts::new().unwrap();
        assert!(!counts.choose());
        // Only even tokens below 16: half of the slots of any table that is always there are of no use.
        let even: [[u8; QUAD]; LANES] = std::array::from_fn(|i| std::array::from_fn(|j| (i * 6 + j * 10) as u8 & 14));
        (0..40).for_each(|_| counts.add(9, &even, 0));
        assert!(counts.choose());
        assert_eq!(usize::from(counts.classes[9]), OWN);
        let frequencies = counts.frequencies();
        assert!(frequencies.iter().enumerate().all(|(s, f)| (*f > 0) == (s < 16 && s % 2 == 0)), "{frequencies:?}");
        counts.clear();
        // One group is not worth a table.
        counts.add(9, &even, 0);
        assert!(!counts.choose());
        counts.clear();
        assert!(counts.each.iter().all(|count| *count == 0));
        // What is not there does not count, even where no first value is 0.
        let few: [[u8; QUAD]; LANES] = std::array::from_fn(|i| if i < 16 { [1, 2, 3, 0] } else { [1, 0, 0, 0] });
        counts.add(4, &few, 64);
        counts.choose();
        let first = usize::from(FIRSTS[4]);
        assert_eq!(counts.sums[first..first + 5], [0, 32, 16, 16, 0]);
    }

    /// A group of class 15 that a table is not for takes the other one that has all tokens.
    #[test]
    fn the_class_that_gives_way_is_replaced() {
        let mut counts = TokenCounts::new().unwrap();
        let (few, far): ([[u8; QUAD]; LANES], [[u8; QUAD]; LANES]) = ([[3, 7, 3, 7]; LANES], [[0, 0, 0, 179]; LANES]);
        (0..100).for_each(|_| counts.add(9, &few, 0));
        counts.add(OWN, &far, 0);
        assert!(counts.choose());
        assert_eq!(usize::from(counts.classes[9]), OWN);
        assert!([OWN, WIDEST[1]].contains(&counts.classes[OWN].into()));
    }
}
