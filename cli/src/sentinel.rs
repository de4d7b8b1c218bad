//! Missing values that nobody declared, in a whole file. The library finds them in each part that it compresses, by the
//! rule of docs/reference/format.md §5.1. Here all parts are looked at together, for one range or one request.

use sleek::missing::sentinel::rule;
use sleek::range::{join, value_range};
use sleek::{Bound, DType, MissingValue, MissingValues, Params};

use sleek::advise::elements;

/// Elements are looked at in pages of so many bytes.
const PAGE_BYTES: usize = 4 << 10;

/// Looks at the elements of an array as they go by.
pub struct Watch {
    dtype: DType,
    big_endian: bool,
    bound: Bound,
    /// Missing values that are known, which do not count.
    known: Vec<f64>,
    /// Whether others are looked for.
    searches: bool,
    /// The two smallest and the two largest values, from the ends on, and how often each is there.
    least: Vec<(f64, u64)>,
    most: Vec<(f64, u64)>,
    /// The range of all values where nothing is looked for.
    all: Option<(f64, f64)>,
}

impl Watch {
    /// Nothing was seen yet of the array that `params` ask for. `known` are up to four numbers of the element type.
    pub fn new(params: &Params, known: Vec<f64>, searches: bool) -> Watch {
        let Params { dtype, big_endian, bound, .. } = *params;
        Watch { dtype, big_endian, bound, known, searches, least: Vec::new(), most: Vec::new(), all: None }
    }

    /// The same of what else there is besides what this one found, if it found something and there may be more.
    pub fn behind(&self) -> Option<Watch> {
        let found = self.found();
        let known = [&self.known[..], &found].concat();
        (!found.is_empty() && known.len() <= rule::MOST_KNOWN).then(|| Watch {
            known,
            least: Vec::new(),
            most: Vec::new(),
            ..*self
        })
    }

    pub fn see(&mut self, bytes: &[u8]) {
        match self.searches {
            true => bytes.chunks(PAGE_BYTES).for_each(|page| self.page(page)),
            false => self.all = join(self.all, value_range(self.dtype, self.big_endian, &self.known, bytes)),
        }
    }

    fn ends(&self) -> Option<[f64; 2]> {
        Some([self.least.first()?.0, self.most.first()?.0])
    }

    /// The range of the values between the ends.
    fn others(&self) -> Option<(f64, f64)> {
        let (least, most) = (self.least.get(1)?.0, self.most.get(1)?.0);
        (least <= most).then_some((least, most))
    }

    /// The range of all values but those that were found.
    pub fn range(&self) -> Option<(f64, f64)> {
        if !self.searches {
            return self.all;
        }
        let ([low, high], found) = (self.ends()?, self.found());
        let others = self.others().unwrap_or((low, high));
        let or = |end: f64, other: f64| if found.contains(&end) { other } else { end };
        Some((or(low, others.0), or(high, others.1)))
    }

    fn page(&mut self, page: &[u8]) {
        // Nearly every page of nearly every field tells nothing new.
        match value_range(self.dtype, self.big_endian, &self.known, page) {
            Some(range) if !self.knows(range) => {}
            _ => return,
        }
        elements::for_each_pair(self.dtype, self.big_endian, page, page, |(_, v), _| {
            if v.is_finite() && !self.known.contains(&v) {
                take(&mut self.least, v, |v, known| v < known);
                take(&mut self.most, v, |v, known| v > known);
            }
        });
    }

    /// Whether values of this range change nothing: they lie among the others, or up to an end that does not stand
    /// apart, and so never will, since the others only become more.
    fn knows(&self, (lo, hi): (f64, f64)) -> bool {
        let (Some([low, high]), Some((least, most))) = (self.ends(), self.others()) else { return false };
        let is_apart = |distance: f64| distance > most - least;
        (least <= lo || low <= lo && !is_apart(least - low)) && (hi <= most || hi <= high && !is_apart(high - most))
    }

    /// The values at the ends that are missing ones.
    pub fn found(&self) -> Vec<f64> {
        let (Some(ends), Some(others)) = (self.ends(), self.others()) else { return Vec::new() };
        if self.known.len() > rule::MOST_KNOWN {
            return Vec::new();
        }
        let repeats = [&self.least, &self.most].map(|values| values[0].1 > 1);
        let are = rule::are_found(self.dtype, self.bound, ends, others, repeats);
        ends.into_iter().zip(are).filter(|(_, is)| *is).map(|(end, _)| end).collect()
    }

    /// Whether it is worth while to look at all elements, where only some were looked at.
    pub fn suspects(&self) -> bool {
        let Some(ends) = self.ends() else { return false };
        let is_cleared = |others| rule::are_cleared(self.dtype, ends, others);
        ends[0] < ends[1] && !self.others().is_some_and(is_cleared)
    }
}

/// Takes a value among the two that come first.
fn take(first: &mut Vec<(f64, u64)>, v: f64, is_before: impl Fn(f64, f64) -> bool) {
    match first.iter().position(|(known, _)| !is_before(*known, v)) {
        Some(at) if first[at].0 == v => first[at].1 += 1,
        Some(at) => first.insert(at, (v, 1)),
        None if first.len() < 2 => first.push((v, 1)),
        None => {}
    }
    first.truncate(2);
}

/// Adds what was found to the missing values that are known.
pub fn add(missing: &mut MissingValues, found: &[f64]) -> Result<(), String> {
    found.iter().try_for_each(|value| missing.push_found(MissingValue::Number(*value)).map_err(|e| e.to_string()))
}

/// What to say of an absolute bound that may make one value of all between these.
pub fn flattens(params: &Params, extremes: Option<(f64, f64)>) -> Option<String> {
    let Bound::Abs(bound) = params.bound else { return None };
    let (low, high) = extremes.filter(|(low, high)| low < high)?;
    let [least, most] = [low, high].map(|v| text(params.dtype, v));
    let is_wide = bound >= high - low;
    let said =
        || format!("the values seen are from {least} to {most}; a bound of {bound:e} may turn them all into one value");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(values: &[f32], known: &[f64]) -> (Vec<f64>, Option<(f64, f64)>) {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let numbers: Vec<_> = known.iter().map(|number| MissingValue::Number(*number)).collect();
        let params = Params { missing: MissingValues::of(&numbers).unwrap(), ..Params::new(DType::F32) };
        let mut watch = Watch::new(&params, known.to_vec(), true);
        watch.see(&bytes);
        let library = sleek::missing::sentinel::search(&params, &bytes).unwrap();
        let mut all = watch.found();
        let mut range = watch.range();
        if let Some(mut behind) = watch.behind() {
            behind.see(&bytes);
            all.extend(behind.found());
            range = behind.range();
        }
        assert_eq!(all, library.values());
        (all, range)
    }

    /// A wave of 20 000 values from 2 to 18, with `value` in `count` places.
    fn marked(value: f32, count: usize) -> Vec<f32> {
        let mut values: Vec<f32> = (0..20_000).map(|i| 10.0 + 8.0 * (i as f32 * 0.01).sin()).collect();
        values[3000..3000 + count].fill(value);
        values
    }

    #[test]
    fn a_file_that_goes_by_has_what_the_library_finds() {
        let (low, high) = found(&marked(10.0, 1), &[]).1.unwrap();
        for (value, count) in [(-9999.0, 1), (-500.0, 2), (1e20, 777), (-14.5, 30)] {
            for turned in 0..4 {
                let mut values = marked(value, count);
                match turned {
                    1 => values.rotate_left(3500),
                    2 => values.reverse(),
                    3 => values.sort_by(f32::total_cmp),
                    _ => {}
                }
                assert_eq!(found(&values, &[]), (vec![value.into()], Some((low, high))));
                assert_eq!(found(&values, &[value.into()]), (vec![], Some((low, high))));
            }
        }
        assert!(found(&marked(-500.0, 1), &[]).0.is_empty() && found(&[], &[]).0.is_empty());
        let mut values = marked(-9999.0, 50);
        values[..7].fill(-500.0);
        assert_eq!(found(&values, &[]), (vec![-9999.0, -500.0], Some((low, high))));
        assert!(found(&[7.0; 5000], &[]).0.is_empty());
        assert_eq!(found(&[7.0, 7.0, 8.0, 8.0], &[]), (vec![], Some((7.0, 8.0))));
    }
}
