//! The static tables of codec predict, from the fields that they were made from, and whether they are those of
//! `src/codec/predict/tables.rs`: `SLEEK_DATA=DATA cargo bench --bench tables`. The exit status is 1 if they are not.
//!
//! All fields at five bounds are cut into tiles (`tiles.rs`); groups of 128 residuals are sorted by their sum of
//! magnitudes and by whether they are sparse, and neighbouring sorts are put together until as many classes are left
//! as there are tables (`classes.rs`), each of which gets frequencies (`frequencies.rs`). This is how the tables were
//! made before there was an encoder: sides of tiles, bins and the choice of axes are simpler than the codec's, and
//! must stay as they are. Table 0, of differences between classes, does not come out.

#[path = "../fields.rs"]
mod fields;

mod classes;
mod frequencies;
mod tiles;

use std::process::ExitCode;

use classes::{Classes, SORTS};
use frequencies::SUM;
use sleek::codec::predict::tables::{CLASSES, FREQUENCIES, TABLES, TOKENS};
use tiles::{Seen, TRAINED};

/// Bounds as parts of the range.
const BOUNDS: [f64; 5] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6];
/// Frequencies of differences between classes, of 1 and −1 alike, of 2 and −2, and so on: those that the fields have,
/// but the rare ones are less rare, since other fields will have them elsewhere.
const BY_DISTANCE: [u16; TABLES / 2] = [50, 23, 8, 3, 3, 2, 2, 2];

fn main() -> ExitCode {
    let fields = fields::load();
    println!("From {}:", fields.iter().map(|field| &field.name[..]).collect::<Vec<_>>().join(", "));
    let seen: Vec<Seen> = fields.iter().flat_map(|field| BOUNDS.map(|bound| tiles::look(field, bound))).collect();
    let classes = Classes::of(&seen, TABLES - 1);
    let counts = differences(&seen, &classes);
    let mut tables = vec![by_distance()];
    tables.extend(classes.tables());
    tables.iter_mut().filter(|table| table.len() == TRAINED).for_each(frequencies::widen::<TOKENS>);

    tables.iter().enumerate().for_each(|(t, table)| println!("{t}: {table:?}"));
    let fitted = frequencies::with_the_rest_on_0(&counts);
    let [ours, least] = [&tables[0], &fitted].map(|table| bits(&counts, table));
    println!("Table 0 as the fields have it: {fitted:?}, {least:.3} bits a group instead of {ours:.3}");
    println!("classes: {:?}", classes.of_sorts);
    let same = tables.iter().zip(FREQUENCIES).all(|(table, known)| table == known) && classes.of_sorts == CLASSES;
    println!("{}", if same { "These are the tables of the codec." } else { "These are NOT the tables of the codec." });
    ExitCode::from(u8::from(!same))
}

/// How often the classes of groups that follow each other differ by so much, modulo the number of tables.
fn differences(seen: &[Seen], classes: &Classes) -> [f64; TABLES] {
    let mut counts = [0.0; TABLES];
    for seen in seen {
        for tile in &seen.tiles {
            let mut before = 0;
            for class in tile.iter().map(|sort| usize::from(classes.class_of((*sort).into()))) {
                counts[(TABLES + class - before) % TABLES] += seen.weight;
                before = class;
            }
        }
    }
    counts
}

/// Table 0.
fn by_distance() -> Vec<u16> {
    let mut table: Vec<u16> =
        (0..TABLES).map(|d: usize| d.min(TABLES - d).checked_sub(1).map_or(0, |k| BY_DISTANCE[k])).collect();
    table[0] = SUM - table.iter().sum::<u16>();
    table
}

/// What one of `counts` costs on average.
fn bits(counts: &[f64], table: &[u16]) -> f64 {
    let cost = |(count, f): (&f64, &u16)| count * (f64::from(SUM) / f64::from(*f)).log2();
    counts.iter().zip(table).map(cost).sum::<f64>() / counts.iter().sum::<f64>()
}

const _: () = assert!(SORTS == CLASSES[0].len());
