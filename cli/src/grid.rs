//! Every so many-th element along the last three dimensions: what of an array's parts is on the grid of a level.

use sleek::container::GRID_AXES;

use crate::io::zeroed;

/// The level of a stride.
pub fn level(stride: &str) -> Result<u32, String> {
    match stride.parse::<u64>() {
        Ok(stride) if stride.is_power_of_two() => Ok(stride.trailing_zeros()),
        _ => Err("a power of two is needed, such as 2, 4 or 8".into()),
    }
}

/// The level of each dimension.
fn levels(rank: usize, level: u32) -> impl Iterator<Item = u32> {
    (0..rank).map(move |k| if k + GRID_AXES >= rank { level } else { 0 })
}

/// What of a box is on the grid: where that begins there, and its lengths.
pub fn on_grid(start: &[u64], lens: &[u64], level: u32) -> (Vec<u64>, Vec<u64>) {
    let ends = start.iter().zip(lens).zip(levels(start.len(), level));
    let thin = ends.map(|((at, len), level)| [*at, at + len].map(|at| at.div_ceil(1 << level)));
    thin.map(|[first, end]| (first, end - first)).unzip()
}

/// Where a box of the grid begins in the array, and the lengths up to its last elements.
pub fn off_grid(start: &[u64], lens: &[u64], level: u32) -> (Vec<u64>, Vec<u64>) {
    let all = start.iter().zip(lens).zip(levels(start.len(), level));
    all.map(|((at, len), level)| (at << level, ((len.max(&1) - 1) << level) + len.min(&1))).unzip()
}

/// The elements of a box of the grid, of so many bytes each, from a stream whose array begins at `at` in a larger one
/// and has all of them.
pub fn of_stream(
    stream: &[u8],
    at: &[u64],
    (start, lens): (&[u64], &[u64]),
    level: u32,
    size: usize,
) -> Result<Vec<u8>, String> {
    if lens.contains(&0) {
        return Ok(Vec::new()); // where it would begin may lie past the array
    }
    // Where the stream's array begins between elements of the grid a finer one is decoded.
    let begins = at.iter().zip(levels(at.len(), 1)).filter(|(_, is_thin)| *is_thin == 1);
    let own = begins.map(|(at, _)| at.trailing_zeros()).fold(level, u32::min);
    let (first, reach) = off_grid(start, lens, level);
    let first: Vec<u64> = first.iter().zip(at).map(|(first, at)| first - at).collect();
    let fine = on_grid(&first, &reach, own).1;
    let mut bytes = zeroed(fine.iter().product::<u64>() as usize * size)?;
    let part = Some((&first[..], &reach[..]));
    sleek::decompress_coarse_into(stream, own, part, &mut bytes).map_err(|e| e.to_string())?;
    thin(&mut bytes, &fine, lens, level - own, size);
    Ok(bytes)
}

/// The bytes of a box that lies at a place in a larger one, of elements of so many bytes.
pub fn cut_out(bytes: &[u8], whole: &[u64], at: &[u64], count: &[u64], size: usize) -> Vec<u8> {
    let (row, places) = rows(whole, at, count);
    let mut some = Vec::with_capacity(count.iter().product::<u64>() as usize * size);
    places.for_each(|at| some.extend_from_slice(&bytes[at as usize * size..][..row as usize * size]));
    some
}

/// Puts them back there.
pub fn put_in(bytes: &mut [u8], whole: &[u64], at: &[u64], count: &[u64], size: usize, some: &[u8]) {
    let (row, places) = rows(whole, at, count);
    for (data, at) in some.chunks((row as usize * size).max(1)).zip(places) {
        bytes[at as usize * size..][..data.len()].copy_from_slice(data);
    }
}

/// The rows of a box that lies at a place in a larger one: elements of each, and where they begin in the larger box.
pub fn rows(whole: &[u64], at: &[u64], count: &[u64]) -> (u64, impl Iterator<Item = u64>) {
    // Dimensions that the box has wholly make its rows longer.
    let is_whole = |k: &usize| count[*k] == whole[*k];
    let rank = count.len();
    let axis = (1..rank).rev().take_while(is_whole).last().map_or(rank.max(1) - 1, |k| k - 1);
    let place = move |n: u64| {
        let (mut rest, mut place, mut stride) = (n, 0, 1);
        for k in (0..rank).rev() {
            let within = if k < axis { rest % count[k] } else { 0 };
            rest = if k < axis { rest / count[k] } else { rest };
            place += (at[k] + within) * stride;
            stride *= whole[k];
        }
        place
    };
    (count[axis..].iter().product(), (0..count[..axis].iter().product()).map(place))
}

/// Keeps every 2^`level`-th element along the last three dimensions of a box, which leaves these lengths.
pub fn thin(bytes: &mut Vec<u8>, fine: &[u64], lens: &[u64], level: u32, size: usize) {
    if level == 0 {
        return;
    }
    let count = lens.iter().product::<u64>();
    for n in 0..count {
        let (mut rest, mut at, mut stride) = (n, 0, 1);
        for k in (0..lens.len()).rev() {
            let level = if k + GRID_AXES >= lens.len() { level } else { 0 };
            at += ((rest % lens[k]) << level) * stride;
            (rest, stride) = (rest / lens[k], stride * fine[k]);
        }
        bytes.copy_within(at as usize * size..(at as usize + 1) * size, n as usize * size);
    }
    bytes.truncate(count as usize * size);
}
