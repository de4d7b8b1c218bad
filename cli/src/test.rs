//! `sleek test`: every checksum, without the originals.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::args::{Threads, Verbosity};
use crate::frames::{self, FrameReader, SUFFIX};
use crate::hdf5::object::{Contents, Object, ObjectKind};
use crate::hdf5::{
    Hdf5, Id, LibraryArg, Unread,
    dataset::{Block, Field},
    filters::lacks,
    is_called_so, is_hdf5,
};
use crate::io::{self, Input, all_below, say};
use crate::{ERROR, Outcome};
use sleek::container::constants::MAGIC;

/// Exit code where there is damage.
const DAMAGED: u8 = 1;
/// How HDF4 and the CDF of NASA begin, whose names HDF5 files have too.
const NAMESAKES: [&[u8]; 3] = [b"\x0e\x03\x13\x01", b"\xcd\xf3\x00\x01", b"\xcd\xf2\x60\x02"];

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
    /// What should have been tested, and why it could not be: a file or its datasets.
    untested: Vec<String>,
}

impl Findings {
    /// Takes in why something could not be read: damage, unless memory was short.
    fn add(&mut self, why: String) {
        match io::is_out_of_memory(&why) {
            true => self.untested.push(why),
            false => self.damage.push(why),
        }
    }

    fn add_chunk(&mut self, field: &Field, chunk: &Block, why: &str) {
        self.add(format!("{}, chunk at {:?}: {why}", field.name, chunk.start));
    }
}

pub fn run(args: &Args) -> Outcome {
    args.threads.apply()?;
    let mut files = Vec::new();
    for path in &args.files {
        match (path.is_dir(), args.recursive) {
            (true, true) => walk(path, &mut files),
            (true, false) => return Err(format!("{}: is a folder; -r takes what is in it", path.display())),
            _ => files.push((path.clone(), None)),
        }
    }
    if files.is_empty() {
        return Err("no compressed or HDF5 file is there".into());
    }
    let mut code = 0;
    for (path, unread) in &files {
        let mut findings = Findings { untested: unread.iter().cloned().collect(), ..Findings::default() };
        if unread.is_none()
            && let Err(why) = test(path, args, &mut findings)
        {
            if files.len() == 1 && findings.damage.is_empty() {
                return Err(why);
            }
            let name = format!("{}: ", path.display());
            findings.untested.push(why.strip_prefix(&name).unwrap_or(&why).to_owned());
        }
        code = match (findings.damage.is_empty(), findings.untested.is_empty()) {
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
    if findings.damage.is_empty() && findings.untested.is_empty() {
        say!("{name}: whole, {} tested{others}", findings.whole);
    }
}

/// The compressed and HDF5 files below a folder, in the order of their names, and what cannot be read, with why.
fn walk(folder: &Path, files: &mut Vec<(PathBuf, Option<String>)>) {
    let (below, unread) = all_below(folder);
    files.extend(below.iter().map(|below| folder.join(below)).filter(|path| is_ours(path)).map(|path| (path, None)));
    files.extend(unread.into_iter().map(|(path, why)| (path, Some(why))));
}

/// Whether a file is one to be tested: by how it begins, or by its name, which is left where the beginning is damaged.
fn is_ours(path: &Path) -> bool {
    let read = Input::open(path).and_then(|mut input| Ok(input.peek(MAGIC.len())?.to_vec()));
    let Ok(first) = read else { return true };
    let is_named = is_called_so(path) || path.as_os_str().as_encoded_bytes().ends_with(SUFFIX.as_bytes());
    is_hdf5(path) || first == MAGIC || is_named && !NAMESAKES.iter().any(|other| first.starts_with(other))
}

fn test(path: &Path, args: &Args, findings: &mut Findings) -> Result<(), String> {
    if is_hdf5(path) {
        return datasets(path, args.library.library.as_deref(), findings);
    }
    if let Err(damage) = streams(Input::open(path)?, &mut findings.whole) {
        findings.add(damage);
    }
    Ok(())
}

/// Restores all streams of a file, and counts them.
fn streams(input: Input, whole: &mut usize) -> Result<(), String> {
    let prefix = format!("{}: ", input.name);
    let mut reader = FrameReader::new(input);
    let (mut frame, mut room, mut at) = (io::Block::default(), io::Block::default(), 0);
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
fn datasets(path: &Path, library: Option<&Path>, findings: &mut Findings) -> Result<(), String> {
    crate::hdf5::expect_hdf5(path)?;
    let hdf5 = match Hdf5::for_file(library, path) {
        Ok(hdf5) => hdf5,
        Err(unread) => {
            match unread {
                Unread::NotNow(why) => findings.untested.push(why),
                Unread::Newer(why) => findings.untested.push(format!("needs a newer HDF5: {why}")),
                Unread::Damaged(why) => findings.damage.push(why),
            }
            return Ok(());
        }
    };
    let file = hdf5.open(path)?;
    let contents = Contents::read(&file)?;
    for object in contents.objects.iter().filter(|object| object.kind == ObjectKind::Dataset) {
        let tested = match Field::open(&file, object) {
            Ok(Ok(field)) => dataset(&field, findings),
            Ok(Err(why)) => other(&file, object, &why, findings),
            Err(damage) => Err(damage),
        };
        if let Err(damage) = &tested {
            let name = format!("{}: ", object.name());
            findings.add(format!("{name}{}", damage.strip_prefix(&name).unwrap_or(damage)));
        }
        hdf5.forgive(tested);
    }
    Ok(())
}

/// A dataset that is no array of numbers, or of which HDF5 lacks a filter. The checksums of its filters tell whether
/// chunks are whole.
fn other(file: &Id, object: &Object, why: &str, findings: &mut Findings) -> Result<(), String> {
    let Some(field) = Field::of_chunks(file, object)? else {
        findings.others.push(format!("{}: {why}", object.name()));
        return Ok(());
    };
    let before = findings.damage.len();
    let (tested, chunks) = field.test_chunks(|chunk, damage| findings.add_chunk(&field, chunk, &damage))?;
    let lacks = lacks(field.dataset.hdf5, &field.properties)?.filter(|_| chunks > 0);
    let but =
        if tested > 0 { format!(", but for the checksums of {tested} of {chunks} chunks") } else { String::new() };
    let words = format!("{}: {}{but}", field.name, lacks.as_deref().unwrap_or(why));
    match (tested, findings.damage.len() == before) {
        (_, false) => {}
        _ if lacks.is_some() => findings.untested.push(words),
        (tested, true) => {
            findings.whole += usize::from(tested > 0);
            findings.others.push(words);
        }
    }
    Ok(())
}

fn dataset(field: &Field, findings: &mut Findings) -> Result<(), String> {
    let before = findings.damage.len();
    field.each_chunk_or_why(
        &field.blocks_in_chunks()?,
        |_, _| Ok(()),
        |chunk, read| {
            if let Err(damage) = &read {
                findings.add_chunk(field, chunk, damage);
            }
            field.dataset.hdf5.forgive(read);
            Ok(())
        },
    )?;
    findings.whole += usize::from(findings.damage.len() == before);
    Ok(())
}
