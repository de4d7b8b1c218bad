//! `sleek decompress` of an HDF5 file: the whole of it without our filter, or one variable.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use sleek::Dims;

use super::Args;
use crate::Outcome;
use crate::hdf5::dataset::{Block, Field};
use crate::hdf5::object::Contents;
use crate::hdf5::{Hdf5, Id, is_hdf5, split};
use crate::io::{Model, Output, tell};
use crate::npy;
use crate::progress::{Array, Progress, summary};
use crate::repack::provenance;

/// Bytes of a part that is read at a time, at least.
const PART_BYTES: u64 = 8 << 20;

/// A variable of a file.
pub struct Variable {
    file: PathBuf,
    name: String,
}

impl Variable {
    /// FILE:NAME, where no file has the whole name and FILE is an HDF5 file.
    pub fn named(input: &Path) -> Option<Variable> {
        let (file, name) = split(input);
        let name = name.filter(|_| is_hdf5(&file))?;
        Some(Variable { file, name })
    }

    /// Writes its values, or a box of them.
    pub fn write(&self, args: &Args) -> Outcome {
        let hdf5 = Hdf5::for_file(None, &self.file)?;
        let file = hdf5.open(&self.file)?;
        let contents = Contents::read(&file)?;
        let field = self.field(&file, &contents)?;
        let dims = Dims::new(&field.dims).map_err(|e| format!("{}: {}", field.name, e.message))?;
        let (start, lens) = match &args.slice {
            None => (vec![0; dims.rank()], field.dims.clone()),
            Some(slice) => {
                slice.region_in(&dims).map_err(|e| format!("--box: {}: {e}", field.name))?;
                slice.resolved(dims.lens())
            }
        };
        let mut output = Output::create(&args.output, args.force, Model::at(&self.file).as_ref())?;
        output.write(&head(args, &field, &lens)?)?;
        let total = lens.iter().product::<u64>() * field.size;
        let mut progress = Progress::new("restoring", Some(total), args.verbosity.quiet);
        let mut bytes = Vec::new();
        for block in slabs(&field, &start, &lens) {
            field.read_into(&block, &mut bytes)?;
            output.write(&bytes)?;
            progress.add(bytes.len() as u64);
        }
        let to = output.name.clone();
        output.finish()?;
        let time = progress.finish();
        if !args.verbosity.quiet {
            let from = format!("{}:{}", self.file.display(), field.name);
            tell(&summary(Array::Out, &from, &to, field.stored_bytes(), total, time));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The dataset of that path, or the only one whose path ends so.
    fn field<'a>(&self, file: &Id<'a>, contents: &Contents) -> Result<Field<'a>, String> {
        let blame = |e: String| format!("{}: {e}", self.file.display());
        let places = contents.variables(&self.name).map_err(blame)?;
        let [place] = places[..] else {
            let names: Vec<String> = places.iter().map(|place| contents.objects[*place].name()).collect();
            return Err(blame(format!("{}: may be {}; name one of them", self.name, names.join(", "))));
        };
        let object = &contents.objects[place];
        Field::open(file, object)?.map_err(|why| blame(format!("{}: {why}", object.name())))
    }
}

/// What stands before the values.
fn head(args: &Args, field: &Field, lens: &[u64]) -> Result<Vec<u8>, String> {
    let stored = &field.stored;
    if !args.is_npy() {
        return Ok(Vec::new());
    }
    if !field.is_of_numbers() {
        return Err(format!(
            "{}: {}, not single numbers; a name without .npy gets plain bytes",
            field.name, stored.what
        ));
    }
    match &args.npy_type {
        Some(kind) => kind.header(stored.dtype, stored.big_endian, lens),
        None => Ok(npy::header(stored.dtype, stored.big_endian, lens)),
    }
}

/// A box in the order of its elements: whole along all dimensions but the first that is longer than 1, and along that
/// one as many chunks as make a part.
fn slabs(field: &Field, start: &[u64], lens: &[u64]) -> Vec<Block> {
    let axis = lens.iter().position(|len| *len != 1).unwrap_or(0);
    let (first, end) = (start[axis], start[axis] + lens[axis]);
    let row = lens[axis + 1..].iter().product::<u64>().saturating_mul(field.size).max(1);
    let step = PART_BYTES.div_ceil(row).next_multiple_of(field.chunk[axis]);
    let mut slabs = Vec::new();
    let mut at = first;
    while at < end {
        let next = ((at / step + 1) * step).min(end);
        let (mut start, mut count) = (start.to_vec(), lens.to_vec());
        (start[axis], count[axis]) = (at, next - at);
        slabs.push(Block { start, count });
        at = next;
    }
    slabs
}

/// Becomes `sleek repack --filter none`, which writes the whole file.
pub fn whole(args: &Args) -> Outcome {
    let name = args.input.display();
    if args.slice.is_some() || args.is_npy() || args.tensor.is_some() {
        return Err(format!("{name}: is an HDF5 file; one variable of it is {name}:NAME"));
    }
    let mut command = Command::new(std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?);
    command.args(["repack", "--typed", &provenance::command(), "--filter", "none"]);
    command.args([(args.force, "-f"), (args.verbosity.quiet, "-q")].iter().filter(|(on, _)| *on).map(|(_, word)| word));
    command.args([OsStr::new("--"), args.input.as_os_str(), args.output.as_os_str()]);
    Err(format!("{name}: cannot start sleek repack: {}", command.exec()))
}
