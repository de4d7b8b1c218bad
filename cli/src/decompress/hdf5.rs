//! `sleek decompress` of an HDF5 file: the whole of it without our filter, or one variable.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Seek;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use sleek::Dims;

use super::Args;
use crate::Outcome;
use crate::grid::{self, on_grid};
use crate::hdf5::dataset::{Block, Field};
use crate::hdf5::object::Contents;
use crate::hdf5::{Hdf5, Id, is_hdf5, split};
use crate::io::{Output, tell};
use crate::npy;
use crate::progress::{Array, Progress, summary};

/// Bytes of fill values that are written at once.
const PIECE_BYTES: usize = 1 << 20;

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

    /// The same; an error for an HDF5 file of which no variable is named.
    pub fn expect(input: &Path) -> Result<Option<Variable>, String> {
        match is_hdf5(input) {
            true => Err(format!("{0}: is an HDF5 file; one variable of it is {0}:NAME", input.display())),
            false => Ok(Variable::named(input)),
        }
    }

    /// Writes its values, or a box of them.
    pub fn write(&self, args: &Args) -> Outcome {
        self.with(args.library.library.as_deref(), |field| self.write_field(args, &field))
    }

    /// What is made of the dataset, in its file.
    pub fn with<T>(&self, library: Option<&Path>, work: impl FnOnce(Field) -> Result<T, String>) -> Result<T, String> {
        let hdf5 = Hdf5::for_file(library, &self.file)?;
        let file = hdf5.open(&self.file)?;
        let contents = Contents::read(&file)?;
        work(field_named(&file, &contents, &self.name).map_err(|e| format!("{}: {e}", self.file.display()))?)
    }

    fn write_field(&self, args: &Args, field: &Field) -> Outcome {
        let dims = Dims::new(&field.dims).map_err(|e| format!("{}: {}", field.name, e.message))?;
        let (start, lens) = match &args.slice {
            None => (vec![0; dims.rank()], field.dims.clone()),
            Some(slice) => {
                slice.region_in(&dims).map_err(|e| format!("--box: {}: {e}", field.name))?;
                slice.resolved(dims.lens())
            }
        };
        let (thin_start, thin_lens) = on_grid(&start, &lens, args.stride);
        let (whole, thin) = (Block { start, count: lens }, Block { start: thin_start, count: thin_lens });
        let head = head(args, field, &thin.count)?;
        let output = Output::create(args.output()?, args.force, std::fs::metadata(&self.file).ok())?;
        let total = thin.count.iter().product::<u64>() * field.size;
        let mut progress = Progress::new("restoring", Some(total), args.verbosity.quiet);
        // Chunks come in their own order: for a pipe a file without a name puts them together.
        let scratch = if output.is_file() { None } else { Some(tempfile::tempfile().map_err(|e| e.to_string())?) };
        let blame = |e: std::io::Error| format!("{}: {e}", output.name);
        let (file, begin) = (scratch.as_ref().unwrap_or(output.file()), head.len() as u64);
        file.write_all_at(&head, 0).map_err(blame)?;
        let fill = |fill: &[u8]| put_fill(file, begin, total, fill).map_err(blame);
        field.each_on_grid(&whole, args.stride, fill, |part, some| {
            progress.add(some.len() as u64);
            rows(field.size, &thin, part, &some, |at, row| file.write_all_at(row, begin + at).map_err(blame))
        })?;
        if let Some(mut scratch) = scratch {
            scratch.rewind().and_then(|()| std::io::copy(&mut scratch, &mut output.file())).map_err(blame)?;
        }
        let to = output.name.clone();
        output.finish()?;
        let time = progress.finish();
        if !args.verbosity.quiet {
            let from = format!("{}:{}", self.file.display(), field.name);
            tell(&summary(Array::Out, &from, &to, field.stored_bytes(), total, time));
            packing(field)?.iter().for_each(|line| tell(line));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The dataset of that path, or the only one whose path ends so.
pub fn field_named<'a>(file: &Id<'a>, contents: &Contents, name: &str) -> Result<Field<'a>, String> {
    let object = &contents.objects[contents.variable(file, name)?];
    Field::open(file, object)?.map_err(|why| format!("{}: {why}", object.name()))
}

/// What is to be said of numbers that the conventions of netCDF have packed: they are written as they are stored.
fn packing(field: &Field) -> Result<Option<String>, String> {
    let [scale, offset] = [c"scale_factor", c"add_offset"].map(|name| field.numbers_of(name));
    let (scale, offset) = (scale?.first().copied(), offset?.first().copied());
    let value = format!("{} times the number, plus {}", scale.unwrap_or(1.0), offset.unwrap_or(0.0));
    Ok(scale.or(offset).map(|_| format!("{}: its numbers are packed: a value is {value}", field.name)))
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
    Ok(npy::header(stored.dtype, stored.big_endian, lens))
}

/// Gives a file so many bytes of a fill value behind its first `begin`; zeros take no room.
fn put_fill(file: &File, begin: u64, bytes: u64, fill: &[u8]) -> std::io::Result<()> {
    file.set_len(begin + bytes)?;
    if fill.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    let piece = fill.repeat((PIECE_BYTES / fill.len()).max(1));
    (0..bytes)
        .step_by(piece.len())
        .try_for_each(|at| file.write_all_at(&piece[..piece.len().min((bytes - at) as usize)], begin + at))
}

/// Shows the rows of a part of a box, each with its place among the bytes of the box.
pub fn rows(
    size: u64,
    whole: &Block,
    part: &Block,
    bytes: &[u8],
    mut show: impl FnMut(u64, &[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let at: Vec<u64> = part.start.iter().zip(&whole.start).map(|(part, whole)| part - whole).collect();
    let (row, mut places) = grid::rows(&whole.count, &at, &part.count);
    bytes.chunks(((row * size) as usize).max(1)).zip(&mut places).try_for_each(|(row, at)| show(at * size, row))
}

/// Becomes `sleek repack --filter none`, which writes the whole file.
pub fn whole(args: &Args) -> Outcome {
    let name = args.input.display();
    if args.slice.is_some() || args.stride > 0 || args.is_npy() {
        return Err(format!("{name}: is an HDF5 file; one variable of it is {name}:NAME"));
    }
    let mut command = Command::new(std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?);
    command.args(["repack", "--filter", "none"]);
    command.args([(args.force, "-f"), (args.verbosity.quiet, "-q")].iter().filter(|(on, _)| *on).map(|(_, word)| word));
    if let Some(library) = &args.library.library {
        command.arg("--library").arg(library);
    }
    command.args([OsStr::new("--"), args.input.as_os_str(), args.output()?.as_os_str()]);
    Err(format!("{name}: cannot start sleek repack: {}", command.exec()))
}
