//! Small pictures of what a batch did to a dataset: a slice of it, and the errors there.

use std::path::Path;

use crate::diff::figures::Scale;
use crate::diff::view::{Curves, Maps, SMALL, View};
use crate::hdf5::dataset::{Block, Field};
use crate::hdf5::object::{Contents, ObjectKind};
use crate::hdf5::{Hdf5, Id};
use crate::plot::colour::LIGHT;
use crate::plot::page::image_address;
use crate::plot::picture::Colour;
use crate::verify::files::Promise;
use crate::verify::pair::Values;
use sleek::advise::elements;

/// What is read of a dataset along each of the two dimensions that are shown, and of a line.
const MOST: u64 = 1024;
const MOST_OF_LINE: u64 = 1 << 20;
/// Rows of a line's picture.
const ROWS: usize = 64;

/// The addresses of two pictures, to be put into a page.
pub struct Pictures {
    pub field: String,
    pub error: String,
}

/// An old file and its new one.
pub struct Files<'a> {
    old: (Id<'a>, Contents),
    new: Id<'a>,
}

impl<'a> Files<'a> {
    /// `None` if one of them cannot be read any more: then there are no pictures.
    pub fn open(hdf5: &'a Hdf5, old: &Path, new: &Path) -> Option<Files<'a>> {
        let open = |path: &Path| hdf5.forgive(hdf5.open(path));
        let (old, new) = (open(old)?, open(new)?);
        let contents = hdf5.forgive(Contents::read(&old))?;
        Some(Files { old: (old, contents), new })
    }

    /// Of a dataset by its name.
    pub fn pictures(&self, name: &str) -> Option<Pictures> {
        self.old.0.hdf5.forgive(self.draw(name)).flatten()
    }

    fn draw(&self, name: &str) -> Result<Option<Pictures>, String> {
        let mut objects = self.old.1.objects.iter().filter(|o| o.kind == ObjectKind::Dataset);
        let Some(object) = objects.find(|o| o.name() == name) else { return Ok(None) };
        let (Ok(old), Ok(new)) = (Field::open(&self.old.0, object)?, Field::open(&self.new, object)?) else {
            return Ok(None);
        };
        if old.dims != new.dims || old.stored != new.stored || !old.stored.scalar || old.bytes() == 0 {
            return Ok(None);
        }
        let block = middle(&old.dims);
        let promise = Promise::of(&new)?;
        let limit = if promise.is_by_chunk() { 0.0 } else { promise.limit(&new, &block)? };
        let values = values(&old, &new, &block, &promise, limit)?;
        let largest = values.original.iter().zip(&values.restored).map(|(v, r)| (r - v).abs()).fold(0.0, f64::max);
        let scale = Scale::new(if limit > 0.0 { promise.bound.mode() } else { sleek::Mode::Lossless }, largest);
        let mut view = View::new(&block.count, &vec![0; block.count.len()], SMALL);
        view.add(&values, &scale);
        Ok(Some(match &view {
            View::Maps(maps) => of_maps(maps),
            View::Curves(curves) => of_curves(curves),
        }))
    }
}

/// The middle of a dataset: of the two fastest dimensions that are longer than 1 as much as is shown.
fn middle(dims: &[u64]) -> Block {
    let long: Vec<usize> = (0..dims.len()).filter(|i| dims[*i] > 1).rev().take(2).collect();
    let most = if long.len() == 1 { MOST_OF_LINE } else { MOST };
    let count = (0..dims.len()).map(|i| if long.contains(&i) { dims[i].min(most) } else { 1 });
    let count: Vec<u64> = count.collect();
    let start = dims.iter().zip(&count).map(|(len, count)| (len - count) / 2).collect();
    Block { start, count }
}

fn values(old: &Field, new: &Field, block: &Block, promise: &Promise, limit: f64) -> Result<Values, String> {
    let (expected, found) = (old.bytes_of(block)?, new.bytes_of(block)?);
    let (dtype, big_endian) = (old.stored.dtype, old.stored.big_endian);
    let marks = promise.marks(old, new)?;
    let (mut original, mut restored) = (Vec::new(), Vec::new());
    elements::for_each_pair(dtype, big_endian, &expected, &found, |v, r| {
        let counts = v.1.is_finite() && r.1.is_finite() && !marks.contains(&v.0);
        original.push(if counts { v.1 } else { f64::NAN });
        restored.push(if counts { r.1 } else { f64::NAN });
    });
    Ok(Values { start: vec![0; block.count.len()], count: block.count.clone(), original, restored, limit })
}

fn of_maps(maps: &Maps) -> Pictures {
    let [field, _] = maps.fields();
    let finite = || field.iter().filter(|v| v.is_finite());
    let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    let colour = |v: &f64| match v.is_nan() {
        true => LIGHT.missing,
        false if high > low => LIGHT.value((v - low) / (high - low)),
        false => LIGHT.value(0.5),
    };
    let [height, width] = maps.cells;
    let picture = |colours: Vec<Colour>| image_address(width, height, &colours);
    Pictures {
        field: picture(field.iter().map(colour).collect()),
        error: picture(maps.error.iter().map(|share| LIGHT.error(*share)).collect()),
    }
}

fn of_curves(curves: &Curves) -> Pictures {
    let range = curves.original.range().unwrap_or((0.0, 1.0));
    let most = curves.error.range().map_or(1.0, |(low, high)| low.abs().max(high.abs()).max(1.0));
    let picture = |columns: &[Option<(f64, f64)>], (low, high): (f64, f64), colour: Colour| {
        let mut cells = vec![LIGHT.paper; ROWS * columns.len()];
        let row = |v: f64| ((high - v) / (high - low) * (ROWS - 1) as f64).clamp(0.0, (ROWS - 1) as f64) as usize;
        for (x, (bottom, top)) in columns.iter().enumerate().filter_map(|(x, c)| Some((x, (*c)?))) {
            (row(top)..=row(bottom)).for_each(|y| cells[y * columns.len() + x] = colour);
        }
        image_address(columns.len(), ROWS, &cells)
    };
    Pictures {
        field: picture(&curves.original.0, range, LIGHT.blue),
        error: picture(&curves.error.0, (-most, most), LIGHT.orange),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_dataset() {
        let block = |start: &[u64], count: &[u64]| Block { start: start.to_vec(), count: count.to_vec() };
        assert_eq!(middle(&[7, 3000, 100]), block(&[3, 988, 0], &[1, 1024, 100]));
        assert_eq!(middle(&[1, 5]), block(&[0, 0], &[1, 5]));
        assert_eq!(middle(&[3 << 20]), block(&[1 << 20], &[1 << 20]));
    }
}
