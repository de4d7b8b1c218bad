//! `sleek verify` of two HDF5 files: each dataset of the first with the one of its name in the second.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::c_int;
use std::path::Path;

use super::Args;
use super::pair::{Pair, Skipped, types_in_words};
use super::report::{FieldVerdict, Judged, Report};
use crate::hdf5::dataset::{Block, Field, VIEW, encoded, lengths, place_elsewhere};
use crate::hdf5::filters::lacks;
use crate::hdf5::object::{Contents, Object, ObjectKind, each_type, is_variable_text, open_object};
use crate::hdf5::values::Values;
use crate::hdf5::{Hdf5, Id, abi, expect_hdf5, h5, h5_id, split};
use crate::io::is_out_of_memory;
use crate::progress::Progress;
use crate::quality::{Figures, Wanted};

/// An open file and what is in it.
type File<'a> = (Id<'a>, Contents);

pub fn run(args: &Args) -> Result<Option<bool>, String> {
    let report = compare_files(args)?;
    args.limits.expect_told(report.figures())?;
    report.show(args.json);
    Ok(if report.met() { report.kept() } else { Some(false) })
}

/// What HDF5 says of texts with a fill value of which some were never written: it reads them where it may write alone.
const UNWRITTEN_TEXTS: &str = "no write intent on file";

/// Compares two files, or a dataset of each that is named behind a colon.
fn compare_files(args: &Args) -> Result<Report, String> {
    let [(original, first), (compressed, second)] = [&args.original, &args.compressed].map(|path| split(path));
    expect_hdf5(&original)?;
    expect_hdf5(&compressed)?;
    // What can read the one may not know all of the other.
    let library = args.library.library.as_deref();
    let mut hdf5 = Hdf5::for_file(library, &compressed)?;
    if !hdf5.can_read(&original).unwrap_or(false) {
        hdf5 = Hdf5::for_file(library, &original)?;
    }
    for path in [&original, &compressed] {
        if !hdf5.can_read(path)? {
            let path = path.display();
            return Err(format!(
                "{path}: has attributes of a newer HDF5 than {}: name its libhdf5 with --library FILE",
                hdf5.name()
            ));
        }
    }
    let opened = |path: &Path| {
        let file = hdf5.open(path)?;
        let contents = Contents::read(&file).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok::<_, String>((file, contents))
    };
    let (old, new) = (opened(&original)?, opened(&compressed)?);
    let mut progress = Progress::new("comparing", None, args.verbosity.quiet);
    let mut report = Report::new(args.limits.clone());
    let is_named = first.is_some() || second.is_some();
    let (names, lost) = match first.as_ref().or(second.as_ref()) {
        Some(name) => {
            let of = |(file, contents): &File, path: &Path, name| {
                contents.variable(file, name).map_err(|e| format!("{}: {e}", path.display()))
            };
            let place = of(&old, &original, name)?;
            let twin = of(&new, &compressed, second.as_ref().unwrap_or(name))?;
            (vec![Name { name: old.1.objects[place].name(), places: (place, Some(twin)) }], Vec::new())
        }
        None => names(&old, &new)?,
    };
    let mut met = vec![is_named; new.1.objects.len()];
    for Name { name, places: (place, twin) } in names {
        let object = &old.1.objects[place];
        let twin = twin.filter(|twin| new.1.objects[*twin].kind == ObjectKind::Dataset);
        let Some(twin) = twin else {
            report.add(name, FieldVerdict::Broken("is not in the second file".into()), None);
            continue;
        };
        met[twin] = true;
        let compared = compare([(&old.0, object), (&new.0, &new.1.objects[twin])], &args.wanted(), &mut progress);
        let (verdict, figures) = match compared {
            Ok(told) => told,
            Err(why) if is_out_of_memory(&why) => return Err(why),
            Err(why) => {
                hdf5.forgive(Err::<(), _>(String::new()));
                match why.contains(UNWRITTEN_TEXTS) {
                    true => (FieldVerdict::NotCompared(why), None),
                    false => (FieldVerdict::Broken(format!("cannot be read: {why}")), None),
                }
            }
        };
        report.add(name, verdict, figures);
    }
    for (name, how) in lost {
        report.add(name, FieldVerdict::Broken(how), None);
    }
    for (object, met) in new.1.objects.iter().zip(met) {
        if object.kind == ObjectKind::Dataset && !met {
            report.add(object.name(), FieldVerdict::Extra, None);
        }
    }
    progress.finish();
    Ok(report)
}

/// A name of a dataset of the first file.
struct Name {
    name: String,
    /// Where the dataset is among the first file's objects, and what has its name among the second's.
    places: (usize, Option<usize>),
}

/// A name of anything else, and what is wrong with it in the second file.
type Lost = (String, String);

/// Every name that leads to a dataset in the first file, unless it leads to one that another name led to, and in the
/// second file to the same too. Then the names of all else that the second file does not have, or has otherwise:
/// groups, named types, and links to what no hard link leads to, each with how.
fn names(old: &File, new: &File) -> Result<(Vec<Name>, Vec<Lost>), String> {
    let is_lost = |name: String| (name, "is not in the second file, or something else is there".to_owned());
    let (mut found, mut lost, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut groups = VecDeque::from([(String::new(), 0, Some(0))]);
    while let Some((path, group, twin)) = groups.pop_front() {
        for link in &old.1.links[group] {
            let others = twin.map(|twin| (twin, &new.1.links[twin]));
            let other = others.and_then(|(twin, links)| Some((twin, links.iter().find(|l| l.name == link.name)?)));
            let name = format!("{path}/{}", link.name.to_string_lossy());
            let Some(place) = old.1.target(&old.0, group, link)? else {
                lost.extend(other.is_none_or(|(_, other)| other.to != link.to).then(|| is_lost(name)));
                continue;
            };
            let places = (place, other.map(|(twin, link)| new.1.target(&new.0, twin, link)).transpose()?.flatten());
            if !seen.insert(places) {
                continue;
            }
            let kind = old.1.objects[place].kind;
            if kind == ObjectKind::Dataset {
                found.push(Name { name, places });
                continue;
            }
            match places.1.map(|twin| &new.1.objects[twin]).filter(|twin| twin.kind == kind) {
                None => lost.push(is_lost(name.clone())),
                Some(twin) if kind == ObjectKind::NamedType => {
                    let [old, new] = [(&old.0, &old.1.objects[place]), (&new.0, twin)]
                        .map(|(file, object)| type_in_memory(&open_object(file, &object.path)?));
                    lost.extend(types_differ(&old?, &new?)?.map(|how| (name.clone(), how)));
                }
                Some(_) => {}
            }
            if kind == ObjectKind::Group {
                groups.push_back((name, places.0, places.1));
            }
        }
    }
    Ok((found, lost))
}

/// Compares two datasets, and takes the figures that are asked for where both are of floats.
fn compare(
    sides: [(&Id, &Object); 2],
    wanted: &Wanted,
    progress: &mut Progress,
) -> Result<(FieldVerdict, Option<Figures>), String> {
    if let Some(how) = differs_in_kind(sides)? {
        return Ok((FieldVerdict::Broken(how), None));
    }
    let [old, new] = sides.map(|(file, object)| Field::open_anywhere(file, object));
    let (Ok(old), Ok(new)) = (old?, new?) else { return Ok((compare_bytes(sides)?, None)) };
    let mut figures = None;
    let verdict = compare_values(sides, || {
        let pair = Pair::of_datasets(&old, &new)?;
        let difference = pair.difference(progress)?;
        if !wanted.is_empty() && pair.dtype.is_float() && difference.count > 0 {
            figures = Some(pair.figures(wanted, &difference)?);
        }
        let (mode, promise) = (pair.promise.bound.mode(), pair.promise.words());
        let is_bound = pair.promise.is_bound;
        Ok(FieldVerdict::Judged(Judged { mode, promise, is_bound, difference }.into()))
    })?;
    Ok((verdict, figures))
}

/// Where type or shape of two datasets are not the same, how they differ, in words that follow the name.
fn differs_in_kind(sides: [(&Id, &Object); 2]) -> Result<Option<String>, String> {
    let [old, new] = sides.map(|(file, object)| type_and_shape(file, object));
    let ((old, old_shape), (new, new_shape)) = (old?, new?);
    let differs = || (old_shape != new_shape).then(|| format!("has shape {old_shape}, in the second file {new_shape}"));
    Ok(types_differ(&old, &new)?.or_else(differs))
}

/// The same of two types in memory.
fn types_differ(old: &Id, new: &Id) -> Result<Option<String>, String> {
    if h5!(old.hdf5, H5Tequal(old.id, new.id))? == 0 {
        // As far as they are known.
        let [a, b] = [old, new].map(|kind| Ok::<_, String>(sleek::hdf5::datatype(&encoded(kind)?).ok()));
        let words = match (a?, b?) {
            (Some(old), Some(new)) => types_in_words([&old, &new]),
            both => [both.0, both.1].map(|stored| stored.map_or("elements of a type of its own".into(), |s| s.what)),
        };
        return Ok(Some(match words {
            [a, b] if a != b => format!("has {a}, in the second file {b}"),
            [a, _] => format!("has {a}, in the second file of another type: parts, their names or their order differ"),
        }));
    }
    // Two types are equal to HDF5 in whatever character sets their strings of any length are.
    let (a, b) = (character_sets(old)?, character_sets(new)?);
    let differ = a.iter().zip(&b).find(|(a, b)| a != b);
    Ok(differ.map(|(a, b)| format!("has strings in {}, in the second file in {}", set_name(*a), set_name(*b))))
}

/// The type of a dataset in memory, where that of one file can be the same as that of another, and its shape in words.
/// How long it may become is no part of what it holds.
fn type_and_shape<'a>(file: &Id<'a>, object: &Object) -> Result<(Id<'a>, String), String> {
    let (hdf5, dataset) = (file.hdf5, open_object(file, &object.path)?);
    let (stored, space) = (h5_id!(hdf5, H5Dget_type(dataset.id))?, h5_id!(hdf5, H5Dget_space(dataset.id))?);
    let shape = match h5!(hdf5, H5Sget_simple_extent_type(space.id))? {
        abi::SIMPLE_SPACE => format!("{:?}", lengths(&space)?),
        abi::SCALAR_SPACE => "of a single value".into(),
        _ => "of nothing (a null dataspace)".into(),
    };
    Ok((type_in_memory(&stored)?, shape))
}

/// A copy of a type in a file, which that of another file can be equal to.
fn type_in_memory<'a>(kind: &Id<'a>) -> Result<Id<'a>, String> {
    h5_id!(kind.hdf5, H5Tcopy(kind.id))
}

/// The character sets of the strings of any length in a type, in its order.
fn character_sets(kind: &Id) -> Result<Vec<c_int>, String> {
    let mut sets = Vec::new();
    each_type(kind, &mut |part| {
        if is_variable_text(part)? {
            sets.push(h5!(part.hdf5, H5Tget_cset(part.id))?);
        }
        Ok(())
    })?;
    Ok(sets)
}

fn set_name(set: c_int) -> String {
    match set {
        abi::ASCII => "ASCII".into(),
        abi::UTF8 => "UTF-8".into(),
        other => format!("character set {other}"),
    }
}

/// Compares two datasets of one type and shape byte by byte, strings of variable length as texts.
pub fn compare_bytes(sides: [(&Id, &Object); 2]) -> Result<FieldVerdict, String> {
    compare_values(sides, || {
        let same = are_same(sides)?;
        Ok(same
            .map_or_else(|| FieldVerdict::NotCompared("neither numbers nor plain texts".into()), FieldVerdict::exact))
    })
}

/// Compares the values of two datasets by `compare`, if they are where they can be read.
fn compare_values(
    sides: [(&Id, &Object); 2],
    compare: impl FnOnce() -> Result<FieldVerdict, String>,
) -> Result<FieldVerdict, String> {
    let hdf5 = sides[0].0.hdf5;
    let mut elsewhere = Vec::new();
    for (file, object) in sides {
        let properties = h5_id!(hdf5, H5Dget_create_plist(open_object(file, &object.path)?.id))?;
        if let Some(why) = lacks(hdf5, &properties)? {
            return Ok(FieldVerdict::NotKnown(why));
        }
        elsewhere.push(place_elsewhere(&properties)?);
    }
    // What views show is compared where it is stored.
    if elsewhere == [Some(VIEW); 2] {
        return Ok(FieldVerdict::NotCompared(VIEW.into()));
    }
    // Where an error names a side it is of that one.
    let is_of = |why: &str, k: usize| !why.starts_with(["second file: ", "first file: "][k]);
    match compare() {
        Err(why) if !is_out_of_memory(&why) => {
            let Some(place) = (0..2).find_map(|k| elsewhere[k].filter(|_| is_of(&why, k))) else { return Err(why) };
            hdf5.forgive(Err::<(), _>(String::new()));
            Ok(FieldVerdict::NotKnown(format!("{place}, which cannot be read: {why}")))
        }
        told => told,
    }
}

/// A dataset that is no array of numbers.
struct Other<'a> {
    field: Field<'a>,
    /// Nothing was written, and no fill value stands for it.
    is_undefined: bool,
    /// Whether it is of strings of any length.
    has_texts: bool,
    count: i64,
}

impl<'a> Other<'a> {
    /// `None` if neither the bytes of its elements nor texts are all there is.
    fn of((file, object): (&Id<'a>, &Object)) -> Result<Option<Other<'a>>, String> {
        let (hdf5, field) = (file.hdf5, Field::of_any(file, object)?);
        field.expect_whole()?;
        let (dataset, kind) = (&field.dataset, &field.file_type);
        let space = h5_id!(hdf5, H5Dget_space(dataset.id))?;
        let count = h5!(hdf5, H5Sget_simple_extent_npoints(space.id))?;
        let (mut status, mut fill) = (0, 0);
        h5!(hdf5, H5Dget_space_status(dataset.id, &raw mut status))?;
        h5!(hdf5, H5Pfill_value_defined(field.properties.id, &raw mut fill))?;
        let is_undefined = (status, fill) == (abi::NOT_STORED, abi::FILL_UNDEFINED);
        let (is_text, has_texts) = (h5!(hdf5, H5Tget_class(kind.id))? == abi::STRING, is_variable_text(kind)?);
        // A compound may have strings of variable length in it, which HDF5 tells as strings.
        let elsewhere = [abi::REFERENCE, abi::VARIABLE, abi::STRING];
        for class in elsewhere.into_iter().filter(|_| !has_texts && !is_undefined) {
            if h5!(hdf5, H5Tdetect_class(kind.id, class))? != 0 && !(is_text && class == abi::STRING) {
                return Ok(None);
            }
        }
        Ok(Some(Other { field, is_undefined, has_texts, count }))
    }

    fn read(&self, block: &Block) -> Result<Values<'a>, String> {
        let (memory, file) = self.field.spaces(block)?;
        Values::read(&self.field, (memory, &file))
    }
}

/// Whether two datasets hold the same, block by block but for what neither has in its file; `None` if that cannot be
/// told of one.
fn are_same(sides: [(&Id, &Object); 2]) -> Result<Option<bool>, String> {
    let blame = |k: usize, e: String| format!("{} file: {e}", ["first", "second"][k]);
    let (old, new) = (Other::of(sides[0]).map_err(|e| blame(0, e))?, Other::of(sides[1]).map_err(|e| blame(1, e))?);
    let (Some(old), Some(new)) = (old, new) else { return Ok(None) };
    let form = |of: &Other| (of.field.dims.clone(), of.field.size, of.has_texts, of.is_undefined, of.count);
    if form(&old) != form(&new) || old.is_undefined || old.count == 0 {
        return Ok(Some(form(&old) == form(&new)));
    }
    let (grid, other) = if new.field.is_chunked { (&new.field, &old.field) } else { (&old.field, &new.field) };
    let blocks: Box<dyn Iterator<Item = Block>> = match grid.chunks_with(other)? {
        Some(stored) => {
            // An element that nobody wrote is as all of them.
            let skipped = Skipped::of(grid, &stored)
                .map(|Skipped { first: Block { start, count }, .. }| Block { start, count: vec![1; count.len()] });
            Box::new(stored.into_iter().chain(skipped))
        }
        None => Box::new(grid.all_blocks()),
    };
    for block in blocks {
        let a = old.read(&block).map_err(|e| blame(0, e))?;
        let b = new.read(&block).map_err(|e| blame(1, e))?;
        if !a.are_same(&b, old.has_texts) {
            return Ok(Some(false));
        }
    }
    Ok(Some(true))
}
