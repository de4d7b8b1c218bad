//! What tokens cost in the tables that are always there.

use super::tables::{FREQUENCIES, TABLES, TOKENS};
pub use crate::codec::interp::entropy::symbol_costs::{COST_OF, log2};
use crate::codec::predict::format::DIRECT;
pub use crate::codec::predict::rules::BIT;
use crate::codec::predict::rules::PARTS;

/// What tokens cost in the tables that are always there.
pub static TOKEN_COSTS: [[u16; TOKENS]; TABLES] = {
    let mut costs = [[u16::MAX; TOKENS]; TABLES];
    let mut t = 0;
    while t < TABLES {
        let mut s = 0;
        while s < FREQUENCIES[t].len() {
            costs[t][s] = COST_OF[FREQUENCIES[t][s] as usize];
            s += 1;
        }
        t += 1;
    }
    costs
};

/// What tokens below `DIRECT` cost in each table, in parts of a bit; 255 where a table does not have one.
pub static DIRECT_COSTS: [[u8; DIRECT as usize]; TABLES] = {
    let mut all = [[u8::MAX; DIRECT as usize]; TABLES];
    let mut t = 0;
    while t < TABLES {
        let mut s = 0;
        while s < FREQUENCIES[t].len() && s < DIRECT as usize {
            all[t][s] = (TOKEN_COSTS[t][s] as u32 * PARTS / BIT as u32) as u8;
            s += 1;
        }
        t += 1;
    }
    all
};
