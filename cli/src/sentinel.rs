//! Missing values that nobody declared, in a whole file. The library finds them in each part that it compresses, by the
//! rule of docs/reference/format.md §5.1. Here all parts are looked at together, for one range or one request.

use sleek::missing::sentinel::rule;
use sleek::range::{join, value_range};
use sleek::{Bound, DType, MissingValue, MissingValues, Params};

use sleek::advise::elements;

/// Elements are looked at in pages of so many bytes.
const PAGE_BYTES: usize = 4 << 10;

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
    /// Missing values that are known, which do not count.
    known: Vec<f64>,
    /// Whether others are looked for.
    searches: bool,
    /// The smallest and the largest value; the same one where there is no other.
    ends: Option<[Extreme; 2]>,
    /// The range of the values between them.
    others: Option<(f64, f64)>,
}

impl Watch {
    /// Nothing was seen yet. `known` are up to four numbers of the element type.
    pub fn new(dtype: DType, big_endian: bool, known: Vec<f64>, searches: bool) -> Watch {
        Watch { dtype, big_endian, known, searches, ends: None, others: None }
    }

    /// The same of what else there is besides what this one found, if it found something and there may be more.
    pub fn behind(&self) -> Option<Watch> {
        let found = self.found();
        let known = [&self.known[..], &found].concat();
        (!found.is_empty() && known.len() <= rule::MOST_KNOWN)
            .then(|| Watch::new(self.dtype, self.big_endian, known, true))
    }

    pub fn see(&mut self, bytes: &[u8]) {
        match self.searches {
            true => bytes.chunks(PAGE_BYTES).for_each(|page| self.page(page)),
            false => self.others = join(self.others, value_range(self.dtype, self.big_endian, &self.known, bytes)),
        }
    }

    /// The range of all values but those that were found.
    pub fn range(&self) -> Option<(f64, f64)> {
        if !self.searches {
            return self.others;
        }
        let ([low, high], found) = (self.ends?, self.found());
        let is_found = |end: Extreme| found.contains(&end.value);
        match (is_found(low), is_found(high)) {
            (false, false) => Some((low.value, high.value)),
            (true, false) => Some((self.others.map_or(high.value, |others| others.0), high.value)),
            (false, true) => Some((low.value, self.others.map_or(low.value, |others| others.1))),
            (true, true) => self.others,
        }
    }

    fn page(&mut self, page: &[u8]) {
        // Nearly every page of nearly every field tells nothing new.
        match value_range(self.dtype, self.big_endian, &self.known, page) {
            Some(range) if !self.knows(range) => {}
            _ => return,
        }
        elements::for_each_pair(self.dtype, self.big_endian, page, page, |(_, v), _| {
            if v.is_finite() && !self.known.contains(&v) {
                self.value(v);
            }
        });
    }

    /// Whether values of this range change nothing: they lie among the others, or up to an end that does not stand
    /// apart, and so never will, since the others only become more.
    fn knows(&self, (lo, hi): (f64, f64)) -> bool {
        let (Some([low, high]), Some((least, most))) = (self.ends, self.others) else { return false };
        let is_apart = |distance: f64| distance > most - least;
        (least <= lo || low.value <= lo && !is_apart(least - low.value))
            && (hi <= most || hi <= high.value && !is_apart(high.value - most))
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
    }

    /// The values at the ends that are missing ones.
    pub fn found(&self) -> Vec<f64> {
        let Some(ends) = self.ends.filter(|[low, high]| low.value < high.value) else { return Vec::new() };
        if self.known.len() > rule::MOST_KNOWN {
            return Vec::new();
        }
        let Some(others) = self.others else { return Vec::new() };
        let are = rule::are_fills(self.dtype, ends.map(|end| end.value), others, ends.map(|end| end.count > 1));
        ends.iter().zip(are).filter(|(_, is)| *is).map(|(end, _)| end.value).collect()
    }

    /// Whether it is worth while to look at all elements, where only some were looked at.
    pub fn suspects(&self) -> bool {
        let Some(ends) = self.ends.map(|ends| ends.map(|end| end.value)) else { return false };
        let is_cleared = |others| rule::are_cleared(self.dtype, ends, others);
        ends[0] < ends[1] && !self.others.is_some_and(is_cleared)
    }
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
        let mut watch = Watch::new(DType::F32, false, known.to_vec(), true);
        watch.see(&bytes);
        let numbers: Vec<_> = known.iter().map(|number| MissingValue::Number(*number)).collect();
        let params = Params { missing: MissingValues::of(&numbers).unwrap(), ..Params::new(DType::F32) };
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
