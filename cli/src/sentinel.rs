//! Missing values that nobody declared: a value far outside of all others, again and again.
//! docs/guide/cli.md has the rules.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use sleek::range::{join, value_range};
use sleek::{DType, Mode, Params};

use crate::element;

/// Elements are looked at in pages of so many bytes.
const PAGE_BYTES: usize = 4 << 10;
/// Where all of an array need not be read: so much of it is looked at in full, and of what follows one page in `STEP`.
const HEAD_BYTES: u64 = 4 << 20;
const STEP: u64 = 16;
/// So many elements of a page tell what values there are.
const FEW: usize = 64;

/// What a value takes to be found: so often, in so many elements of a thousand, so many times the range of all others
/// away from them, with so many different values among them.
struct Rule {
    count: u64,
    per_mille: u64,
    distance: f64,
    distinct: usize,
}

/// Any value.
const ANY: Rule = Rule { count: 16, per_mille: 1, distance: 10.0, distinct: 16 };
/// A value that is in use as a mark.
const USUAL: Rule = Rule { count: 4, per_mille: 0, distance: 1.0, distinct: 2 };

/// The smallest or the largest value, and how often it is there.
#[derive(Clone, Copy)]
struct Extreme {
    value: f64,
    count: u64,
}

/// Looks at the elements of an array as they go by.
pub struct Watch {
    dtype: DType,
    big_endian: bool,
    /// Missing values that are declared, which do not count.
    declared: Vec<f64>,
    elements: u64,
    /// The smallest and the largest value; the same one where there is no other.
    ends: Option<[Extreme; 2]>,
    /// The range of the values between them.
    others: Option<(f64, f64)>,
    /// Some of these, by their bits: up to as many as a rule asks for.
    distinct: BTreeSet<u64>,
    /// Pages that went by, for one who looks at some only.
    pages: u64,
}

impl Watch {
    /// Nothing was seen yet. `declared` are up to four numbers of the element type.
    pub fn new(dtype: DType, big_endian: bool, declared: Vec<f64>) -> Watch {
        let (ends, others, distinct) = (None, None, BTreeSet::new());
        Watch { dtype, big_endian, declared, elements: 0, ends, others, distinct, pages: 0 }
    }

    /// Looks at all elements in `bytes`.
    pub fn see(&mut self, bytes: &[u8]) {
        bytes.chunks(PAGE_BYTES).for_each(|page| self.page(page));
    }

    /// Looks at some of them: at all in the beginning, at one page in `STEP` later.
    pub fn glance(&mut self, bytes: &[u8]) {
        for page in bytes.chunks(PAGE_BYTES) {
            let at = self.pages * PAGE_BYTES as u64;
            if at < HEAD_BYTES || self.pages.is_multiple_of(STEP) {
                self.page(page);
            }
            self.pages += 1;
        }
    }

    /// The smallest and the largest value.
    pub fn extremes(&self) -> Option<(f64, f64)> {
        self.ends.map(|[low, high]| (low.value, high.value))
    }

    fn page(&mut self, page: &[u8]) {
        self.elements += (page.len() / self.dtype.size()) as u64;
        let Some(range) = value_range(self.dtype, self.big_endian, &self.declared, page) else { return };
        // Nearly every page of nearly every field tells nothing new but what values there are.
        let known = self.knows(range);
        let page = match (known, self.distinct.len() < ANY.distinct) {
            (true, false) => return,
            (true, true) => &page[..page.len().min(FEW * self.dtype.size())],
            (false, _) => page,
        };
        element::for_each_pair(self.dtype, self.big_endian, page, page, |(_, v), _| {
            if !v.is_finite() || self.declared.contains(&v) {
            } else if known {
                self.note(v);
            } else {
                self.value(v);
            }
        });
    }

    /// Whether values of this range change nothing: they lie among the others, or up to an end that does not stand
    /// apart, and so never will, since the others only become more.
    fn knows(&self, (lo, hi): (f64, f64)) -> bool {
        let (Some([low, high]), Some((least, most))) = (self.ends, self.others) else { return false };
        (least <= lo || low.value <= lo && !self.is_apart(0)) && (hi <= most || hi <= high.value && !self.is_apart(1))
    }

    /// Whether an end is so far from the values between the ends as the rule for it says.
    fn is_apart(&self, end: usize) -> bool {
        let (Some(ends), Some((least, most))) = (self.ends, self.others) else { return false };
        let distance = [least - ends[0].value, ends[1].value - most][end];
        let is_beyond = |rule: &Rule| distance > rule.distance * (most - least);
        is_beyond(&USUAL) && is_beyond(self.rule(end))
    }

    fn rule(&self, end: usize) -> &'static Rule {
        let is_usual = self.ends.is_some_and(|ends| is_usual(self.dtype, ends[end].value));
        if is_usual { &USUAL } else { &ANY }
    }

    fn value(&mut self, v: f64) {
        let once = Extreme { value: v, count: 1 };
        let Some([low, high]) = self.ends else {
            self.ends = Some([once; 2]);
            return;
        };
        let mut ends = [low, high];
        let only = low.value == high.value;
        for end in ends.iter_mut().filter(|end| end.value == v) {
            end.count += 1;
        }
        let place = if v < low.value { Some(0) } else { (v > high.value).then_some(1) };
        match place {
            Some(k) => {
                let old = std::mem::replace(&mut ends[k], once);
                if !only {
                    self.between(old.value);
                }
            }
            None if low.value < v && v < high.value => self.between(v),
            None => {}
        }
        self.ends = Some(ends);
    }

    fn between(&mut self, v: f64) {
        self.others = join(self.others, Some((v, v)));
        self.note(v);
    }

    fn note(&mut self, v: f64) {
        if self.distinct.len() < ANY.distinct {
            self.distinct.insert(v.to_bits());
        }
    }

    /// The values that stand apart, each by the rule for it.
    pub fn found(&self) -> Vec<Sentinel> {
        self.standing_apart(|end, rule| {
            end.count >= rule.count
                && end.count * 1000 >= self.elements * rule.per_mille
                && self.distinct.len() >= rule.distinct
        })
    }

    /// Whether it is worth while to look at all elements, where only some were looked at.
    pub fn suspects(&self) -> bool {
        !self.standing_apart(|end, _| end.count > 1).is_empty()
    }

    fn standing_apart(&self, enough: impl Fn(&Extreme, &Rule) -> bool) -> Vec<Sentinel> {
        let (Some(ends), Some((least, most))) = (self.ends, self.others) else { return Vec::new() };
        // An end that does not stand apart is one of the others.
        let least = if self.is_apart(0) { least } else { ends[0].value };
        let most = if self.is_apart(1) { most } else { ends[1].value };
        let text = |v| text(self.dtype, v);
        let mut found = Vec::new();
        for (end, distance) in [least - ends[0].value, ends[1].value - most].into_iter().enumerate() {
            let (Extreme { value, count }, rule) = (ends[end], self.rule(end));
            // Zero, or whatever is small beside the others, is what a field has where there is nothing: a value like
            // any other.
            let is_small =
                value.abs() <= least.abs().max(most.abs()) && value.signum() == least.signum() || value == 0.0;
            if !is_small && distance > rule.distance * (most - least) && enough(&ends[end], rule) {
                found.push(Sentinel {
                    value: text(value),
                    count,
                    elements: self.elements,
                    others: (text(least), text(most)),
                });
            }
        }
        found
    }
}

/// A value that was found.
pub struct Sentinel {
    value: String,
    count: u64,
    elements: u64,
    /// The smallest and the largest of the other values.
    others: (String, String),
}

/// An error that names what was found, and both ways on; nothing where nothing was found.
pub fn refuse(found: &[Sentinel]) -> Result<(), String> {
    let Some(first) = found.first() else { return Ok(()) };
    let each: Vec<String> = found
        .iter()
        .map(|s| {
            let share = 100.0 * s.count as f64 / s.elements as f64;
            format!("{} in {} of {} elements ({share:.2} %)", s.value, s.count, s.elements)
        })
        .collect();
    let options: Vec<String> = found.iter().map(|s| format!("--fill {}", s.value)).collect();
    let (each, options, (least, most)) = (each.join(" and "), options.join(" "), &first.others);
    let (it, is) = if found.len() > 1 { ("these mark", "they are") } else { ("it marks", "it is") };
    Err(format!(
        "{each}, far outside of all other values, which are from {least} to {most}: if {it} missing values add \
         {options}, if {is} data add --no-fill"
    ))
}

/// What to say of an absolute bound that may make one value of all between these.
pub fn flattens(params: &Params, extremes: Option<(f64, f64)>) -> Option<String> {
    let (low, high) = extremes.filter(|(low, high)| low < high && params.mode == Mode::Abs)?;
    let [least, most] = [low, high].map(|v| text(params.dtype, v));
    let is_wide = params.bound >= high - low;
    let said = || {
        format!(
            "the values seen are from {least} to {most}; a bound of {:e} may turn them all into one value",
            params.bound
        )
    };
    is_wide.then(said)
}

/// The shortest text of an element that is read back as the same one.
pub fn text(dtype: DType, v: f64) -> String {
    let plain = v == 0.0 || (1e-3..1e7).contains(&v.abs());
    match (dtype, plain) {
        (DType::F64, true) => format!("{v}"),
        (DType::F64, false) => format!("{v:e}"),
        (_, true) => format!("{}", v as f32),
        (_, false) => format!("{:e}", v as f32),
    }
}

/// Whether a value is one that people use to mark missing ones, as near as the element type has it.
fn is_usual(dtype: DType, v: f64) -> bool {
    static MARKS: OnceLock<Vec<f64>> = OnceLock::new();
    let bits = dtype.nearest(v.abs());
    let largest = dtype.number(dtype.nearest(f64::INFINITY) - 1);
    v.abs() == largest || MARKS.get_or_init(marks).iter().any(|mark| dtype.nearest(*mark) == bits)
}

/// Marks by magnitude: nines (99 … 999999999, 99.9, 999.9, 9999.9, 99999.9 and 99.99 …), powers of ten from 1e10 on,
/// netCDF's default, the ends of integer types, and the largest floats.
fn marks() -> Vec<f64> {
    let nines = |digits: i32| 10f64.powi(digits) - 1.0;
    let mut marks: Vec<f64> = (2..=9).map(nines).collect();
    marks.extend((3..=6).map(|digits| nines(digits) / 10.0));
    marks.extend((4..=6).map(|digits| nines(digits) / 100.0));
    marks.extend((10..=37).filter_map(|e| format!("1e{e}").parse::<f64>().ok()));
    marks.extend([9.969_209_968_386_869e36, 32767.0, 32768.0, 2_147_483_647.0, 2_147_483_648.0]);
    marks.extend([f64::from(f32::MAX), f64::MAX]);
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn wave(n: usize) -> Vec<f32> {
        (0..n).map(|i| 10.0 + 8.0 * (i as f32 * 0.01).sin()).collect()
    }

    fn found(values: &[f32], declared: &[f64]) -> Vec<String> {
        let mut watch = Watch::new(DType::F32, false, declared.to_vec());
        watch.see(&bytes(values));
        watch.found().into_iter().map(|s| format!("{} {}", s.value, s.count)).collect()
    }

    /// A wave of 20 000 values from 2 to 18, with `value` in `count` places.
    fn marked(value: f32, count: usize) -> Vec<f32> {
        let mut values = wave(20_000);
        values[3000..3000 + count].fill(value);
        values
    }

    #[test]
    fn marks_that_people_use_are_found() {
        for value in [-9999.0, -999.0, -99.9, 99.0, 1e20, -1e34, 9.96921e36, f32::MAX, -f32::MAX, -32768.0] {
            assert_eq!(found(&marked(value, 4), &[]), [format!("{} 4", text(DType::F32, value.into()))]);
            assert!(found(&marked(value, 3), &[]).is_empty(), "{value}");
            assert!(found(&marked(value, 40), &[value.into()]).is_empty(), "{value}");
        }
        // 99 would be one among values up to 60.
        let wide: Vec<f32> = marked(99.0, 40).iter().map(|v| if *v > 98.0 { *v } else { 5.0 * v - 30.0 }).collect();
        assert!(found(&wide, &[]).is_empty());
    }

    #[test]
    fn any_other_value_must_be_farther_away_and_more_frequent() {
        assert_eq!(found(&marked(-500.0, 20), &[]), ["-500 20"]);
        assert!(found(&marked(-500.0, 19), &[]).is_empty(), "less than one in a thousand");
        assert!(found(&marked(-157.0, 2000), &[]).is_empty(), "less than ten times the range of the others");
        assert!(found(&marked(0.0, 2000).iter().map(|v| v / 100.0 + 5.0).collect::<Vec<_>>(), &[]).is_empty());
        let zero: Vec<f32> = marked(1.0, 2000).iter().map(|v| if *v == 1.0 { 0.0 } else { v + 5000.0 }).collect();
        assert!(found(&zero, &[]).is_empty(), "zero is a value like any other");
        let with = |v: f32| zero.iter().map(|x| if *x == 0.0 { v } else { *x }).collect::<Vec<_>>();
        assert!(found(&with(0.5), &[]).is_empty(), "and so is what is small");
        assert_eq!(found(&with(-1.0), &[]), ["-1 2000"]);
    }

    #[test]
    fn both_ends_and_fields_of_few_values() {
        let mut values = marked(-9999.0, 50);
        values[..7].fill(1e20);
        assert_eq!(found(&values, &[]), ["-9999 50", "1e20 7"]);
        let classes: Vec<f32> = (0..9000).map(|i| [1.0, 2.0, 3.0, 500.0][i % 4]).collect();
        assert!(found(&classes, &[]).is_empty());
        assert!(found(&[7.0; 5000], &[]).is_empty() && found(&[], &[]).is_empty());
        let two: Vec<f32> = (0..9000).map(|i| (i % 2) as f32 * 1e20).collect();
        assert!(found(&two, &[]).is_empty());
    }

    #[test]
    fn counts_are_exact_whatever_comes_first() {
        let mut values = marked(-9999.0, 777);
        values.rotate_left(3500);
        assert_eq!(found(&values, &[]), ["-9999 777"]);
        values.reverse();
        assert_eq!(found(&values, &[]), ["-9999 777"]);
        values.sort_by(f32::total_cmp);
        assert_eq!(found(&values, &[]), ["-9999 777"]);
    }

    #[test]
    fn a_glance_at_a_large_field_suspects_what_is_there() {
        let mut values = wave(3 << 20);
        let glance = |values: &[f32]| {
            let mut watch = Watch::new(DType::F32, false, Vec::new());
            bytes(values).chunks(1 << 20).for_each(|block| watch.glance(block));
            watch.suspects()
        };
        assert!(!glance(&values));
        values[2_000_000..2_020_000].fill(-9999.0);
        assert!(glance(&values));
    }

    #[test]
    fn the_message_has_both_ways_on() {
        let mut watch = Watch::new(DType::F32, false, Vec::new());
        watch.see(&bytes(&marked(-1e34, 500)));
        let message = refuse(&watch.found()).unwrap_err();
        for part in ["-1e34 in 500 of 20000 elements (2.50 %)", "from 2 to 18", "--fill -1e34", "--no-fill"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
