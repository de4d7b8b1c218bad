//! A part of the field on which bounds are tried, and the value range of all of it.

use std::path::{Path, PathBuf};

use sleek::bound::sub_down;
use sleek::{DType, Dims, MissingValues, Params};

use crate::args;
use crate::decompress::hdf5::field_named;
use crate::hdf5::coordinates::is_scale;
use crate::hdf5::dataset::Field;
use crate::hdf5::object::{Contents, ObjectKind};
use crate::hdf5::{Hdf5, expect_hdf5};
use crate::io::{Block, Input};
use crate::npy::{self, Array, Given};
use crate::progress::{Progress, bytes};
use crate::sentinel::{self, Watch};
use sleek::advise::elements;

/// Bytes of a piece of a file of plain bytes.
const PIECE_BYTES: usize = 1 << 20;

/// What a user says of missing values.
pub struct Fill {
    /// They, besides those that a dataset names.
    pub named: MissingValues,
    /// Whether values that look like missing ones and were not declared are data.
    pub may_be_data: bool,
}

pub struct Sample {
    /// The field for a person.
    pub name: String,
    /// The path of the dataset in an HDF5 file, and the file.
    pub place: Option<(PathBuf, String)>,
    pub dtype: DType,
    pub big_endian: bool,
    /// What the user said of missing values.
    pub fill: Fill,
    /// The missing values, with those that the dataset names: they count nowhere.
    pub missing: MissingValues,
    /// The same as numbers.
    fills: Vec<f64>,
    /// Smallest and largest value of the whole field.
    pub extremes: (f64, f64),
    /// Elements of the whole field.
    pub count: u64,
    /// Parts that are contiguous in the field, as they would be compressed, and their dimensions; none where they are
    /// not known.
    pub pieces: Vec<(Vec<u8>, Dims)>,
}

/// Pieces of plain bytes.
impl Array {
    /// Bytes of a piece: whole slabs of the array, if its dimensions are known.
    fn piece_bytes(&self) -> usize {
        let Some(dims) = &self.dims else { return PIECE_BYTES };
        let inner: u64 = dims.lens().iter().skip(1).product();
        let slab = usize::try_from(inner).unwrap_or(usize::MAX).saturating_mul(self.dtype.size());
        (PIECE_BYTES / slab.max(1)).max(1).saturating_mul(slab).max(self.dtype.size())
    }

    /// The dimensions of a piece of so many bytes.
    fn shape(&self, bytes: usize) -> Dims {
        let Some(dims) = &self.dims else { return Dims::NONE };
        let mut lens = dims.lens().to_vec();
        let inner: u64 = lens.iter().skip(1).product();
        lens[0] = (bytes / self.dtype.size()) as u64 / inner.max(1);
        Dims::new(&lens).unwrap_or(Dims::NONE)
    }
}

impl Sample {
    /// Reads the field; `given` says what a file of plain bytes is.
    pub fn take(
        argument: &Path,
        given: Given,
        fill: Fill,
        wanted: usize,
        library: Option<&Path>,
        quiet: bool,
    ) -> Result<Sample, String> {
        let (file, dataset) = crate::hdf5::split(argument);
        let name = file.display();
        if let Some((input, array)) = plain(&file, given)? {
            if !array.dtype.is_float() {
                let dtype = array.dtype.name();
                return Err(format!("{name}: has elements {dtype}; bounds are for floats: f32, f64, f16, bf16"));
            }
            return Sample::of_plain_bytes(input, &array, fill, wanted, quiet);
        }
        expect_hdf5(&file).map_err(|e| format!("{e}; for a file of plain bytes give --dtype"))?;
        Sample::of_dataset(&file, dataset.as_deref(), fill, wanted, library, quiet)
    }

    fn of_plain_bytes(
        mut input: Input,
        plain: &Array,
        fill: Fill,
        wanted: usize,
        quiet: bool,
    ) -> Result<Sample, String> {
        let Some(total) = input.bytes else { return Err(format!("{}: a regular file is needed", input.name)) };
        plain.check_size(&input.name, total)?;
        let (missing, count) = (fill.named, total / plain.dtype.size() as u64);
        let mut sample = Sample::empty(input.name.clone(), plain.dtype, plain.big_endian, fill, missing, count);
        let piece = plain.piece_bytes();
        let pieces = total.div_ceil(piece as u64);
        let mut progress = Progress::new("reading", Some(total), quiet);
        let mut block = Block::default();
        sample.gather(pieces, wanted / piece, |take| {
            while input.fill(&mut block, piece)? > 0 {
                take(block.data(), plain.shape(block.data().len()));
                progress.add(block.data().len() as u64);
            }
            Ok(())
        })?;
        Ok(sample)
    }

    fn of_dataset(
        file: &Path,
        dataset: Option<&str>,
        fill: Fill,
        wanted: usize,
        library: Option<&Path>,
        quiet: bool,
    ) -> Result<Sample, String> {
        let hdf5 = Hdf5::for_file(library, file)?;
        let opened = hdf5.open(file)?;
        let field = choose(file, &opened, dataset)?;
        let missing = field.declared(&fill.named)?.missing;
        let blocks = field.blocks()?;
        let largest = blocks.iter().map(|b| field.block_bytes(b)).max().unwrap_or(1).max(1);
        let (dtype, big_endian) = (field.stored.dtype, field.stored.big_endian);
        let (name, count) = (format!("{}:{}", file.display(), field.name), field.bytes() / dtype.size() as u64);
        let mut sample = Sample::empty(name, dtype, big_endian, fill, missing, count);
        sample.place = Some((file.to_path_buf(), field.name.clone()));
        let mut progress = Progress::new("reading", Some(field.bytes()), quiet);
        sample.gather(blocks.len() as u64, wanted / largest, |take| {
            let see = |block: &crate::hdf5::dataset::Block, data: Vec<u8>| {
                take(&data, Dims::new(&block.count).unwrap_or(Dims::NONE));
                progress.add(data.len() as u64);
                Ok(())
            };
            field.each_chunk(&blocks, |_, bytes| Ok(bytes), see)
        })?;
        Ok(sample)
    }

    fn empty(name: String, dtype: DType, big_endian: bool, fill: Fill, missing: MissingValues, count: u64) -> Sample {
        let (place, fills, pieces) = (None, Vec::new(), Vec::new());
        Sample { name, place, dtype, big_endian, fill, missing, fills, extremes: (0.0, 0.0), count, pieces }
    }

    /// Keeps about `wanted` pieces from all over a field that goes by, of which there are `pieces`.
    fn gather(
        &mut self,
        pieces: u64,
        wanted: usize,
        each: impl FnOnce(&mut dyn FnMut(&[u8], Dims)) -> Result<(), String>,
    ) -> Result<(), String> {
        let step = pieces.div_ceil(wanted.max(1) as u64).max(1);
        let fills = self.missing.numbers(self.dtype).map_err(|e| format!("--fill: {}", e.message))?;
        let request = Params { big_endian: self.big_endian, ..Params::new(self.dtype) };
        let mut watch = Watch::new(&request, fills, !self.fill.may_be_data);
        let mut seen = 0;
        each(&mut |data, shape| {
            watch.see(data);
            if seen % step == step / 2 {
                // An element of a dataset may be an array of numbers, of which the block's shape does not tell.
                let is_whole = shape.count() == (data.len() / self.dtype.size()) as u64;
                self.pieces.push((data.to_vec(), if is_whole { shape } else { Dims::NONE }));
            }
            seen += 1;
        })?;
        self.extremes = watch.range().ok_or_else(|| format!("{}: holds no number", self.name))?;
        sentinel::add(&mut self.missing, &watch.found())?;
        self.fills = self.missing.numbers(self.dtype).map_err(|e| e.to_string())?;
        Ok(())
    }

    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|(bytes, _)| bytes.len()).sum()
    }

    /// The value range of the field; 0 if it has no two different values.
    pub fn range(&self) -> f64 {
        let (lo, hi) = self.extremes;
        if hi > lo { sub_down(hi, lo) } else { 0.0 }
    }

    /// The missing values as numbers.
    pub fn fills(&self) -> &[f64] {
        &self.fills
    }

    /// Whether a value is a number and no missing one.
    pub fn counts(&self, value: f64) -> bool {
        value.is_finite() && !self.fills.contains(&value)
    }

    /// The values that count, and how many elements there are.
    pub fn values(&self) -> (Vec<f64>, usize) {
        let (mut values, mut count) = (Vec::new(), 0);
        for (bytes, _) in &self.pieces {
            elements::for_each_pair(self.dtype, self.big_endian, bytes, bytes, |(_, v), _| {
                count += 1;
                values.extend(self.counts(v).then_some(v));
            });
        }
        (values, count)
    }
}

/// A file of plain bytes or of NumPy, and what its elements are; None if nothing says that it is one.
fn plain(file: &Path, given: Given) -> Result<Option<(Input, Array)>, String> {
    let Given { big_endian, dims, .. } = given;
    if !file.is_file() && given.dtype.is_none() {
        return Ok(None);
    }
    let mut input = Input::open(file)?;
    let of_name = || args::dtype_of_name(file).filter(|dtype| dtype.is_float());
    let array = match npy::array(&mut input, &given)? {
        Some(array) => Some(array),
        None => given.dtype.or_else(of_name).map(|dtype| Array { dtype, big_endian, dims, head: None }),
    };
    Ok(array.map(|array| (input, array)))
}

/// The dataset that is named, or the only one that there is to choose a bound for.
fn choose<'a>(file: &Path, opened: &crate::hdf5::Id<'a>, named: Option<&str>) -> Result<Field<'a>, String> {
    let name = file.display();
    let contents = Contents::read(opened).map_err(|e| format!("{name}: {e}"))?;
    if let Some(dataset) = named {
        let field = field_named(opened, &contents, dataset).map_err(|e| format!("{name}: {e}"))?;
        return match field.stored.dtype.is_float() {
            true => Ok(field),
            false => Err(format!("{name}:{}: bounds are for floats, and these are {}", field.name, field.stored.what)),
        };
    }
    let mut fields = Vec::new();
    for object in contents.objects.iter().filter(|o| o.kind == ObjectKind::Dataset) {
        let Ok(field) = Field::open(opened, object)? else { continue };
        if field.stored.dtype.is_float() && field.stored_bytes() > 0 && !is_scale(&field.dataset)? {
            fields.push(field);
        }
    }
    match fields.len() {
        0 => Err(format!("{name}: holds no array of floats")),
        1 => Ok(fields.remove(0)),
        n => {
            fields.sort_by_key(|f| std::cmp::Reverse(f.bytes()));
            let list: String =
                fields.iter().take(10).map(|f| format!("\n  {name}:{} ({})", f.name, bytes(f.bytes()))).collect();
            let list = if n > 10 { format!("{list}\n  … and {} more", n - 10) } else { list };
            Err(format!("{name}: holds {n} arrays of floats; name one:{list}"))
        }
    }
}
