//! Which values are marks (docs/reference/format.md §5.1), told a second time without a thought of speed.

use sleek::bound::sub_down;
use sleek::{Bound, DType};

/// Magnitudes of usual marks.
fn usual(dtype: DType) -> Vec<f64> {
    let nines = ["99", "999", "9999", "99999", "999999", "9999999", "99999999", "999999999"];
    let parts = ["99.9", "999.9", "9999.9", "99999.9", "99.99", "999.99", "9999.99"];
    let others = ["9.969209968386869e36", "9.96921e36", "32767", "32768", "2147483647", "2147483648"];
    let powers = (10..=37).map(|e| format!("1e{e}"));
    let texts = nines.into_iter().chain(parts).chain(others).map(String::from).chain(powers);
    let mut all: Vec<f64> = texts.map(|text| text.parse().unwrap()).collect();
    all.extend([f64::from(f32::MAX), f64::MAX]);
    let as_f32 = all.iter().map(|v| f64::from(*v as f32)).collect::<Vec<_>>();
    let nearest = |v: f64| dtype.number(dtype.nearest(v));
    let mut near: Vec<f64> = all.into_iter().chain(as_f32).map(nearest).filter(|v| v.is_finite()).collect();
    near.push(match dtype {
        DType::F16 => 65504.0,
        DType::BF16 => dtype.number(0x7f7f),
        DType::F32 => f32::MAX.into(),
        _ => f64::MAX,
    });
    near
}

/// How far the bound may move a value, if these ends of them are marks.
fn reach(bound: Bound, sorted: &[f64], is: [bool; 2]) -> f64 {
    let others = &sorted[usize::from(is[0])..sorted.len() - usize::from(is[1])];
    let range = sub_down(others[others.len() - 1], others[0]);
    let bound = if bound.measures() { bound.of_range(Some(range)) } else { bound };
    bound.absolute().unwrap_or(0.0)
}

/// What is found, and whether all else is known to be few values.
pub fn found(dtype: DType, bound: Bound, known: usize, values: &[f64]) -> (Vec<f64>, bool) {
    let (mut left, mut all, mut few, usual) = (values.to_vec(), Vec::new(), false, usual(dtype));
    let distinct = |values: &[f64]| {
        let mut values: Vec<f64> = values.iter().map(|v| v + 0.0).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values
    };
    for _ in 0..2 {
        let each = distinct(&left);
        if known + all.len() > 2 {
            break;
        }
        few |= matches!(each.len(), 1 | 2);
        if each.len() < 3 {
            break;
        }
        let ends = [each[0], each[each.len() - 1]];
        let (least, most) = (each[1], each[each.len() - 2]);
        let distance = [least - ends[0], ends[1] - most];
        let is_usual = |end: usize| usual.contains(&ends[end].abs()) && distance[end] > (most - least) / 64.0;
        let repeats = |end: usize| left.iter().filter(|v| **v == ends[end]).count() > 1;
        let may_be = |end: usize| is_usual(end) || least != most && repeats(end) && distance[end] > most - least;
        let low = if may_be(0) { least } else { ends[0] };
        let high = if may_be(1) { most } else { ends[1] };
        let mut is = [0, 1].map(|end| is_usual(end) || may_be(end) && distance[end] > high - low);
        while let Some(end) = (0..2).find(|end| is[*end] && distance[*end] <= reach(bound, &each, is)) {
            is[end] = false;
        }
        let now: Vec<f64> = [0, 1].into_iter().filter(|end| is[*end]).map(|end| ends[end]).collect();
        if now.is_empty() {
            break;
        }
        left.retain(|v| !now.contains(v));
        all.extend(now);
    }
    few |= distinct(&left).len() == 1;
    (all, few)
}
