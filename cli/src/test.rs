//! `sleek test`: every checksum, without the originals.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::args::{Threads, Verbosity};
use crate::frames::{self, FrameReader};
use crate::hdf5::filters::pipeline;
use crate::hdf5::object::{Contents, Object, ObjectKind};
use crate::hdf5::parallel::is_chunk_whole;
use crate::hdf5::{Hdf5, Id, LibraryArg, dataset::Field, is_hdf5, is_in_use, needs_newer};
use crate::io::{Block, Input, files_below, say};
use crate::{ERROR, Outcome};
use sleek::container::constants::MAGIC;

/// Exit code where there is damage.
const DAMAGED: u8 = 1;

/// Restore everything in compressed and HDF5 files, and say where damage is
#[derive(clap::Args)]
#[command(after_help = "Exit code: 0 all is whole, 1 something is damaged, 2 an error, or a file could not be tested.")]
pub struct Args {
    /// Take the compressed and HDF5 files in folders, and in those below
    #[arg(short, long)]
    recursive: bool,
    #[command(flatten)]
    library: LibraryArg,
    #[command(flatten)]
    threads: Threads,
    #[command(flatten)]
    verbosity: Verbosity,
    /// Compressed files, HDF5 or netCDF-4 files; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// What was found in a file.
#[derive(Default)]
struct Findings {
    /// Streams or datasets that are whole.
    whole: usize,
    /// Where damage is, and what.
    damage: Vec<String>,
    /// What was not read, and why.
    others: Vec<String>,
    /// Why nothing of the file could be tested.
    untested: Option<String>,
}

pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    let mut files = Vec::new();
    for path in &args.files {
        match (path.is_dir(), args.recursive) {
            (true, true) => walk(path, &mut files)?,
            (true, false) => return Err(format!("{}: is a folder; -r takes what is in it", path.display())),
            _ => files.push(path.clone()),
        }
    }
    if files.is_empty() {
        return Err("no compressed or HDF5 file is there".into());
    }
    let mut code = 0;
    for path in &files {
        let findings = test(path, args)?;
        code = match (findings.damage.is_empty(), findings.untested.is_none()) {
            (false, _) => DAMAGED,
            (true, false) if code == 0 => ERROR,
            _ => code,
        };
        tell(path, &findings, args);
    }
    Ok(ExitCode::from(code))
}

/// Prints what was found in a file.
fn tell(path: &Path, findings: &Findings, args: &Args) {
    let path = path.display().to_string();
    let name = sleek::printable::printable(&path);
    findings.damage.iter().for_each(|damage| say!("{name}: DAMAGED: {damage}"));
    findings.untested.iter().for_each(|why| say!("{name}: not tested: {why}"));
    if args.verbosity.quiet {
        return;
    }
    // Of many files it is enough how many there are.
    let others = match args.recursive && !findings.others.is_empty() {
        true => format!(", {} not, or not wholly", findings.others.len()),
        false => String::new(),
    };
    if !args.recursive {
        findings.others.iter().for_each(|other| say!("{name}: not tested: {other}"));
    }
    if findings.damage.is_empty() && findings.untested.is_none() {
        say!("{name}: whole, {} tested{others}", findings.whole);
    }
}

/// The compressed and HDF5 files below a folder, in the order of their names.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    for path in files_below(folder)?.iter().map(|below| folder.join(below)) {
        if is_ours(&path)? {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a file is one that can be tested.
fn is_ours(path: &Path) -> Result<bool, String> {
    if is_hdf5(path) {
        return Ok(true);
    }
    let mut input = Input::open(path)?;
    Ok(input.peek(MAGIC.len())? == MAGIC)
}

fn test(path: &Path, args: &Args) -> Result<Findings, String> {
    if is_hdf5(path) {
        return datasets(path, args.library.library.as_deref());
    }
    let mut findings = Findings::default();
    if let Err(damage) = streams(Input::open(path)?, &mut findings.whole) {
        findings.damage.push(damage);
    }
    Ok(findings)
}

/// Restores all streams of a file, and counts them.
fn streams(input: Input, whole: &mut usize) -> Result<(), String> {
    let prefix = format!("{}: ", input.name);
    let mut reader = FrameReader::new(input);
    let (mut frame, mut room, mut at) = (Block::default(), Block::default(), 0);
    while reader.next(&mut frame).map_err(|e| e.strip_prefix(&prefix).unwrap_or(&e).to_owned())? {
        let pieces = frames::pieces(&frames::header(&frame)?);
        let restored = pieces.into_iter().try_for_each(|piece| piece.restore(&frame, &mut room));
        restored.map_err(|e| format!("stream {} at byte {at}: {e}", *whole + 1))?;
        at += frame.data().len() as u64;
        *whole += 1;
    }
    Ok(())
}

/// Reads all datasets of an HDF5 file, chunk by chunk.
fn datasets(path: &Path, library: Option<&Path>) -> Result<Findings, String> {
    crate::hdf5::expect_hdf5(path)?;
    let mut findings = Findings::default();
    let hdf5 = match Hdf5::for_file(library, path) {
        Ok(hdf5) => hdf5,
        Err(why) => {
            match (is_in_use(&why), needs_newer(&why)) {
                (true, _) => findings.untested = Some(why),
                (false, true) => findings.untested = Some(format!("needs a newer HDF5: {why}")),
                (false, false) => findings.damage.push(why),
            }
            return Ok(findings);
        }
    };
    let file = hdf5.open(path)?;
    let contents = Contents::read(&file)?;
    for object in contents.objects.iter().filter(|object| object.kind == ObjectKind::Dataset) {
        match Field::open(&file, object)? {
            Ok(field) => dataset(&field, &mut findings)?,
            Err(why) => other(&file, object, &why, &mut findings)?,
        }
    }
    Ok(findings)
}

/// A dataset that is no array of numbers. The checksums of its filters tell without its type whether chunks
/// are whole.
fn other(file: &Id, object: &Object, why: &str, findings: &mut Findings) -> Result<(), String> {
    let Some(field) = Field::of_chunks(file, object)? else {
        findings.others.push(format!("{}: {why}", object.name()));
        return Ok(());
    };
    let (filters, chunks) = (pipeline(&field.properties)?, field.blocks_in_chunks()?);
    let (mut tested, before) = (0, findings.damage.len());
    for chunk in &chunks {
        let stored = field.chunk(chunk);
        let read = stored.as_ref().map_err(String::clone).map(drop);
        let whole = match field.dataset.hdf5.forgive(stored) {
            Some(stored) => stored.and_then(|stored| is_chunk_whole(&filters, stored.bytes, stored.skipped)),
            None => Some(read),
        };
        tested += usize::from(whole.is_some());
        if let Some(Err(damage)) = whole {
            findings.damage.push(format!("{}, chunk at {:?}: {damage}", field.name, chunk.start));
        }
    }
    let chunks = chunks.len();
    match (tested, findings.damage.len() == before) {
        (0, _) => findings.others.push(format!("{}: {why}", field.name)),
        (n, true) => {
            findings.whole += 1;
            findings.others.push(format!("{}: {why}, but for the checksums of {n} of {chunks} chunks", field.name));
        }
        (_, false) => {}
    }
    Ok(())
}

fn dataset(field: &Field, findings: &mut Findings) -> Result<(), String> {
    let hdf5 = field.dataset.hdf5;
    let (mut bytes, before) = (Vec::new(), findings.damage.len());
    for block in field.blocks_in_chunks()? {
        let read = field.read_into(&block, &mut bytes);
        if let Err(damage) = &read {
            let damage = damage.strip_prefix(&format!("{}: ", field.name)).unwrap_or(damage);
            findings.damage.push(format!("{}, chunk at {:?}: {damage}", field.name, block.start));
        }
        hdf5.forgive(read);
    }
    findings.whole += usize::from(findings.damage.len() == before);
    Ok(())
}
