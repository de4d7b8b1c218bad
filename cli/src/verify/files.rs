//! `sleek verify` of two HDF5 files: each dataset of the first with the one of its name in the second.

use std::ffi::{CStr, c_char};
use std::path::Path;

use sleek::bound::mul_down;
use sleek::container::{Header, Missing};
use sleek::hdf5::CdValues;
use sleek::{Bound, Params};

use super::Args;
use super::exact::{Marks, holds};
use super::pair::Pair;
use super::report::{Compared, Difference, FieldVerdict, Report};
use crate::hdf5::dataset::{Block, Field, encoded, size_of_type};
use crate::hdf5::filters::{Filter, pipeline};
use crate::hdf5::object::{Contents, Object, ObjectKind, open_object};
use crate::hdf5::{Hdf5, Id, abi, expect_hdf5, h5, h5_id};
use crate::io::zeroed;
use crate::progress::Progress;
use crate::quality::Figures;
use sleek::advise::elements;

/// Compares and reports; whether every bound is kept and no dataset is missing.
pub fn run(args: &Args) -> Result<bool, String> {
    let report = compare_files(args, [&args.original, &args.compressed])?;
    args.limits.expect_told(report.figures())?;
    report.show(args.json);
    Ok(report.kept() && report.met())
}

/// Compares two files.
pub fn compare_files(args: &Args, [original, compressed]: [&Path; 2]) -> Result<Report, String> {
    expect_hdf5(original)?;
    expect_hdf5(compressed)?;
    // What can read the one may not know all of the other.
    let library = args.library.library.as_deref();
    let hdf5 = Hdf5::for_file(library, compressed)?;
    hdf5.can_read(original)?;
    let [old, new] = [original, compressed].map(|path| {
        let file = hdf5.open(path)?;
        let contents = Contents::read(&file).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok::<_, String>((file, contents))
    });
    let (old, new) = (old?, new?);
    let sizes = [original, compressed].map(|path| std::fs::metadata(path).map_or(0, |m| m.len()));
    let mut progress = Progress::new("comparing", Some(sizes[0]), args.verbosity.quiet);
    let mut report = Report::new(args.limits.clone());
    let mut met = vec![false; new.1.objects.len()];
    for object in old.1.objects.iter().filter(|o| o.kind == ObjectKind::Dataset) {
        let twin = hdf5.forgive(open_object(&new.0, &object.path));
        let place = twin.map(|twin| new.1.place_of(&twin)).transpose()?.flatten();
        let mut figures = None;
        let verdict = match place.filter(|place| new.1.objects[*place].kind == ObjectKind::Dataset) {
            None => FieldVerdict::Broken("is not in the second file".into()),
            Some(place) => {
                met[place] = true;
                let blame = |e: String| format!("{}: {e}", object.name());
                if args.takes_figures() {
                    figures = figures_of([(&old.0, &old.1), (&new.0, &new.1)], object).map_err(blame)?;
                }
                compare(&old.0, &new.0, object).map_err(blame)?
            }
        };
        // SAFETY: the id is alive.
        progress.add(unsafe { (hdf5.call.H5Dget_storage_size)(open_object(&old.0, &object.path)?.id) });
        report.add(object.name(), verdict, figures);
    }
    for (object, met) in new.1.objects.iter().zip(met) {
        if object.kind == ObjectKind::Dataset && !met {
            report.add(object.name(), FieldVerdict::Extra, None);
        }
    }
    progress.finish();
    Ok(report)
}

/// The figures of two datasets of floats that can be compared.
fn figures_of<'a>(files: [(&Id<'a>, &Contents); 2], object: &Object) -> Result<Option<Figures>, String> {
    match (Field::open(files[0].0, object)?, Field::open(files[1].0, object)?) {
        (Ok(a), Ok(b)) if a.dims == b.dims && a.stored == b.stored && a.stored.dtype.is_float() && a.bytes() > 0 => {
            Pair::of_datasets(files, a, b)?.quality().map(Some)
        }
        _ => Ok(None),
    }
}

/// Compares two datasets.
fn compare(old: &Id, new: &Id, object: &Object) -> Result<FieldVerdict, String> {
    match (Field::open(old, object)?, Field::open(new, object)?) {
        (Ok(a), Ok(b)) if a.dims != b.dims => {
            Ok(FieldVerdict::Broken(format!("has shape {:?}, in the second file {:?}", a.dims, b.dims)))
        }
        (Ok(a), Ok(b)) if a.stored != b.stored => {
            Ok(FieldVerdict::Broken(format!("has {}, in the second file {}", a.stored.what, b.stored.what)))
        }
        (Ok(a), Ok(b)) => compare_fields(&a, &b),
        (Err(_), Err(_)) => compare_bytes(old, new, object),
        (Ok(_), Err(why)) => Ok(FieldVerdict::Broken(format!("has numbers, in the second file {why}"))),
        (Err(why), Ok(_)) => Ok(FieldVerdict::Broken(format!("has {why}, in the second file numbers"))),
    }
}

/// What the second dataset promises.
pub struct Promise {
    pub bound: Bound,
    missing: Missing,
    /// The place of our filter in its pipeline.
    place: usize,
}

impl Promise {
    pub fn of(field: &Field) -> Result<Promise, String> {
        let filters = pipeline(&field.properties)?;
        let place = filters.iter().position(Filter::is_sleek);
        let said = place.map(|i| CdValues::decode(&filters[i].words)).transpose().map_err(|e| e.to_string())?;
        // Without our filter nothing may change.
        let lossless = Params::new(field.stored.dtype);
        let params = match said {
            None => lossless,
            Some(said) => said.params().map_err(|e| e.to_string())?.unwrap_or(said.request),
        };
        let missing = params.missing.of_type(field.stored.dtype).map_err(|e| e.to_string())?;
        Ok(Promise { bound: params.bound, missing, place: place.unwrap_or(0) })
    }

    /// Whether each chunk has a value range of its own.
    pub fn is_by_chunk(&self) -> bool {
        self.bound.measures()
    }

    /// What an error in a block is held against.
    pub fn limit(&self, field: &Field, block: &Block) -> Result<f64, String> {
        Ok(match self.bound {
            Bound::Rel(bound) => bound,
            Bound::Noa { share, range: None } => mul_down(share, self.range_of(field, block)?),
            other => other.absolute().unwrap_or(0.0),
        })
    }

    /// The value range that the chunk was compressed by; 0 if it is not a stream of ours, and then nothing may change.
    fn range_of(&self, field: &Field, chunk: &Block) -> Result<f64, String> {
        let Some(stored) = field.chunk(chunk)? else { return Ok(0.0) };
        let header = (stored.skipped >> self.place & 1 == 0).then(|| Header::read(&stored.bytes).ok()).flatten();
        Ok(header.map_or(0.0, |h| h.range))
    }

    /// The bits of the missing values: those that the filter was told, and those that one of the datasets declares.
    pub fn marks(&self, old: &Field, new: &Field) -> Result<Vec<u64>, String> {
        let mut marks = [self.missing.bits().to_vec(), old.marks()?, new.marks()?].concat();
        marks.sort_unstable();
        marks.dedup();
        Ok(marks)
    }

    /// In words.
    pub fn words(&self) -> String {
        match self.bound {
            Bound::Lossless => "lossless".into(),
            Bound::Noa { share, range: Some(range) } => format!("abs {:.4e} (noa {share:e})", mul_down(share, range)),
            Bound::Noa { share, range: None } => format!("noa {share:e} of each chunk"),
            other => format!("{} {:e}", other.mode().name(), other.number()),
        }
    }
}

fn compare_fields(old: &Field, new: &Field) -> Result<FieldVerdict, String> {
    let promise = Promise::of(new)?;
    let blocks = if promise.is_by_chunk() { new.blocks_of_all_chunks() } else { old.all_blocks() };
    let (dtype, big_endian) = (old.stored.dtype, old.stored.big_endian);
    let known = promise.marks(old, new)?;
    let marks = Marks::of(&known);
    let per_element = (old.size as usize / dtype.size()).max(1);
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    let mut difference = Difference::new(promise.bound.mode(), promise.words());
    for block in blocks {
        old.read_into(&block, &mut expected)?;
        new.read_into(&block, &mut found)?;
        if expected == found && known.is_empty() {
            continue;
        }
        let limit = promise.limit(new, &block)?;
        let mut at = 0;
        elements::for_each_pair(dtype, big_endian, &expected, &found, |v, r| {
            let masks_agree = v.0 == r.0 || !(marks.hold(v.0) || marks.hold(r.0));
            difference.missing += u64::from(marks.hold(v.0));
            difference.missing_violations += u64::from(!masks_agree);
            if v.0 != r.0 {
                let kept = masks_agree && holds(promise.bound.mode(), limit, v, r);
                let index = || place(&block, at / per_element);
                difference.take(&Compared { original: v.1, restored: r.1 }, limit, kept, index);
            }
            at += 1;
        });
    }
    Ok(FieldVerdict::of(difference))
}

/// The indices of the element that is the `n`th of a block.
fn place(block: &Block, mut n: usize) -> Vec<u64> {
    let mut index = block.start.clone();
    for (i, len) in block.count.iter().enumerate().rev() {
        index[i] += n as u64 % len;
        n /= *len as usize;
    }
    index
}

/// Compares what is not made of numbers, or is a single one: byte by byte, strings of variable length as texts.
pub fn compare_bytes(old: &Id, new: &Id, object: &Object) -> Result<FieldVerdict, String> {
    // What a view shows is compared where it is stored.
    if is_view(old, object)? && is_view(new, object)? {
        return Ok(FieldVerdict::NotCompared("a view of other datasets"));
    }
    let sides = [old, new].map(|file| Ok::<_, String>((read_texts(file, object)?, read_whole(file, object)?)));
    let [a, b] = sides;
    match (a?, b?) {
        ((Some(a), _), (Some(b), _)) => Ok(FieldVerdict::exact(a == b)),
        ((_, Some(a)), (_, Some(b))) => Ok(FieldVerdict::exact(a == b)),
        ((None, None), (None, None)) => Ok(FieldVerdict::NotCompared("neither numbers nor plain texts")),
        _ => Ok(FieldVerdict::Broken("is of another type in the second file".into())),
    }
}

fn is_view(file: &Id, object: &Object) -> Result<bool, String> {
    let properties = h5_id!(file.hdf5, H5Dget_create_plist(open_object(file, &object.path)?.id))?;
    Ok(h5!(file.hdf5, H5Pget_layout(properties.id))? == abi::VIRTUAL)
}

/// The type as HDF5 writes it and the bytes of all elements.
#[derive(PartialEq)]
struct Whole {
    kind: Vec<u8>,
    bytes: Vec<u8>,
}

/// All of a dataset; `None` if its elements do not hold all there is.
fn read_whole(file: &Id, object: &Object) -> Result<Option<Whole>, String> {
    let hdf5 = file.hdf5;
    let dataset = open_object(file, &object.path)?;
    let kind = h5_id!(hdf5, H5Dget_type(dataset.id))?;
    for class in [abi::REFERENCE, abi::VARIABLE] {
        if h5!(hdf5, H5Tdetect_class(kind.id, class))? != 0 {
            return Ok(None);
        }
    }
    // A compound may have strings of variable length in it, which HDF5 tells as strings.
    let is_text = h5!(hdf5, H5Tget_class(kind.id))? == abi::STRING;
    let may_be_elsewhere = match is_text {
        true => h5!(hdf5, H5Tis_variable_str(kind.id))? > 0,
        false => h5!(hdf5, H5Tdetect_class(kind.id, abi::STRING))? != 0,
    };
    if may_be_elsewhere {
        return Ok(None);
    }
    let space = h5_id!(hdf5, H5Dget_space(dataset.id))?;
    let count = h5!(hdf5, H5Sget_simple_extent_npoints(space.id))? as usize;
    let mut bytes = zeroed(count.saturating_mul(size_of_type(&kind)?))?;
    if !bytes.is_empty() {
        let out = bytes.as_mut_ptr().cast();
        let read = h5!(hdf5, H5Dread(dataset.id, kind.id, abi::ALL, abi::ALL, abi::DEFAULT, out));
        if hdf5.forgive(read).is_none() {
            return Ok(None); // what is elsewhere, or needs a filter that is not there
        }
    }
    Ok(Some(Whole { kind: encoded(&kind)?, bytes }))
}

/// All strings of a dataset of strings of variable length.
fn read_texts(file: &Id, object: &Object) -> Result<Option<Vec<Option<Vec<u8>>>>, String> {
    let hdf5 = file.hdf5;
    let dataset = open_object(file, &object.path)?;
    let kind = h5_id!(hdf5, H5Dget_type(dataset.id))?;
    let is_text = h5!(hdf5, H5Tget_class(kind.id))? == abi::STRING;
    if !is_text || h5!(hdf5, H5Tis_variable_str(kind.id))? == 0 {
        return Ok(None);
    }
    let space = h5_id!(hdf5, H5Dget_space(dataset.id))?;
    let memory = h5_id!(hdf5, H5Tcopy(kind.id))?;
    let count = h5!(hdf5, H5Sget_simple_extent_npoints(space.id))? as usize;
    let mut starts: Vec<*mut c_char> = vec![std::ptr::null_mut(); count];
    if count == 0 {
        return Ok(Some(Vec::new()));
    }
    let out = starts.as_mut_ptr().cast();
    h5!(hdf5, H5Dread(dataset.id, memory.id, abi::ALL, abi::ALL, abi::DEFAULT, out))?;
    // SAFETY: HDF5 has written null or the address of a string that it allocated.
    let text = |start: &*mut c_char| (!start.is_null()).then(|| unsafe { CStr::from_ptr(*start) }.to_bytes().to_vec());
    let texts = starts.iter().map(text).collect();
    // SAFETY: the starts are as H5Dread filled them.
    unsafe { (hdf5.call.H5Dvlen_reclaim)(memory.id, space.id, abi::DEFAULT, starts.as_mut_ptr().cast()) };
    Ok(Some(texts))
}
