//! The reference decoder is `python/decoder`, written from the pages alone: a process for each thread that asks
//! (`judge.py`). Beside it the layout of a stream up to its bodies, and a builder of streams, legal or not.

#![allow(dead_code)] // not every test uses all of it

pub mod builder;

use std::cell::RefCell;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

type Outcome<T> = Result<T, String>;

/// Decodes one whole stream: the bytes of the array it was made from.
pub fn decode(stream: &[u8]) -> Outcome<Vec<u8>> {
    ask(b's', stream)
}

/// Decodes a file: the bytes of the array, which is that of its streams one after another.
pub fn decode_file(file: &[u8]) -> Outcome<Vec<u8>> {
    ask(b'f', file)
}

/// What the library and the reference decoder make of a stream, which must be the same; `None` if they refuse it.
pub fn agreed(stream: &[u8], what: &str) -> Option<Vec<u8>> {
    let ours = sleek::decompress(stream);
    let judged = decode(stream);
    match (ours, judged) {
        (Ok(ours), Ok(judged)) => {
            let differs = ours.iter().zip(&judged).position(|(a, b)| a != b);
            assert!(ours == judged, "{what}: the decoders differ from byte {differs:?} on");
            Some(ours)
        }
        (Err(_), Err(_)) => None,
        (Ok(_), Err(refusal)) => panic!("{what}: ours accepts what the reference refuses: {refusal}"),
        (Err(refusal), Ok(_)) => panic!("{what}: ours refuses what the reference accepts: {refusal}"),
    }
}

/// Numbers of one dimension from their differences (docs/reference/codecs/interp.md §6), with even weights.
pub fn interpolated(differences: &[i32]) -> Vec<i32> {
    let bytes: Vec<u8> = differences.iter().flat_map(|d| d.to_le_bytes()).collect();
    let numbers = ask(b'i', &bytes).expect("any differences");
    numbers.chunks(4).map(|n| i32::from_le_bytes(n.try_into().expect("four bytes"))).collect()
}

/// A stream of codec interp, made of random numbers from this seed (`interp.py`): all that the page allows. Some seeds
/// make none.
pub fn random_interp(seed: u64) -> Option<Vec<u8>> {
    ask(b'b', seed.to_string().as_bytes()).ok().filter(|stream| !stream.is_empty())
}

/// The decoder's process, which ends with its thread.
struct Judge(Child);

impl Judge {
    fn new() -> Judge {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = if root.join("python").exists() { root } else { root.parent().unwrap() };
        let environments = std::env::var_os("SLEEK_VENVS").map_or(root.join("build"), PathBuf::from);
        let own = environments.join("venv-numpy/bin/python");
        let python = if own.exists() { own } else { "python3".into() };
        let mut command = Command::new(&python);
        command.arg(root.join("tests/reference/judge.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env("OPENBLAS_NUM_THREADS", "1");
        Judge(command.spawn().unwrap_or_else(|error| panic!("{}: {error}", python.display())))
    }

    fn answer(&mut self, kind: u8, bytes: &[u8]) -> std::io::Result<Outcome<Vec<u8>>> {
        let requests = self.0.stdin.as_mut().expect("a pipe");
        requests.write_all(&[&[kind], &(bytes.len() as u64).to_le_bytes()[..], bytes].concat())?;
        let answers = self.0.stdout.as_mut().expect("a pipe");
        let (mut taken, mut len) = ([0], [0; 8]);
        answers.read_exact(&mut taken)?;
        answers.read_exact(&mut len)?;
        let mut said = vec![0; u64::from_le_bytes(len) as usize];
        answers.read_exact(&mut said)?;
        Ok(if taken == [1] { Ok(said) } else { Err(String::from_utf8_lossy(&said).into_owned()) })
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

fn ask(kind: u8, bytes: &[u8]) -> Outcome<Vec<u8>> {
    thread_local! {
        static JUDGE: RefCell<Option<Judge>> = const { RefCell::new(None) };
    }
    JUDGE.with_borrow_mut(|judge| {
        let answer = judge.get_or_insert_with(Judge::new).answer(kind, bytes);
        answer.expect("python/decoder answers; without numpy: bash tests/hdf5/setup.sh")
    })
}

fn slice(bytes: &[u8], at: u64, len: u64) -> Outcome<&[u8]> {
    let end = at.checked_add(len).filter(|&end| end <= bytes.len() as u64);
    let end = end.ok_or_else(|| format!("{len} bytes at {at} pass the end of {} bytes", bytes.len()))?;
    Ok(&bytes[at as usize..end as usize])
}

/// The little-endian unsigned number that `len` bytes at `at` hold.
fn number(bytes: &[u8], at: u64, len: u64) -> Outcome<u64> {
    Ok(slice(bytes, at, len)?.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
}

/// Bytes of an element, by the dtype number of the header.
fn elem_bytes(dtype: u8) -> Outcome<u64> {
    let bytes = [4, 8, 2, 2, 1, 2, 4, 8, 1, 2, 4, 8].get(usize::from(dtype).wrapping_sub(1)).copied();
    bytes.ok_or_else(|| format!("dtype {dtype} is none of 1 to 12"))
}

/// How the array is cut into chunks.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    /// Runs of so many bytes.
    Runs(u64),
    /// Tiles, with the powers of two that their sides are.
    Tiles(Vec<u8>),
}

/// Header and extension, as far as the layout follows from them (`docs/reference/format.md` §1 to §3). Nothing else of
/// a stream is looked at: one that is damaged has a layout too.
#[derive(Clone, Debug)]
pub struct Container {
    pub elem_bytes: u64,
    pub data_bytes: u64,
    pub dims: Vec<u64>,
    pub geometry: Geometry,
    /// Bytes of an entry, and what bodies are multiples of.
    pub entry_bytes: u64,
    pub unit: u64,
    pub header_bytes: u64,
    pub chunks: u64,
    pub groups: u64,
    pub entries_at: u64,
    pub bodies_at: u64,
}

impl Container {
    /// Kind and bytes of the body of chunk `c`.
    pub fn entry(&self, stream: &[u8], c: u64) -> Outcome<(u64, u64)> {
        let entry = number(stream, self.entries_at + self.entry_bytes * c, self.entry_bytes)?;
        let kind_at = 8 * self.entry_bytes - 2;
        Ok((entry >> kind_at, (entry & ((1 << kind_at) - 1)) * self.unit))
    }

    /// Where chunk `c` begins and its lengths along the dimensions; of runs along the line of all elements.
    pub fn chunk(&self, c: u64) -> (Vec<u64>, Vec<u64>) {
        let line = [self.data_bytes / self.elem_bytes];
        let (dims, sides) = match &self.geometry {
            Geometry::Runs(bytes) => (&line[..], vec![bytes / self.elem_bytes]),
            Geometry::Tiles(sides) => (&self.dims[..], sides.iter().map(|side| 1 << side).collect()),
        };
        let (mut start, mut lens, mut rest) = (vec![0; dims.len()], vec![0; dims.len()], c);
        for k in (0..dims.len()).rev() {
            let along = dims[k].div_ceil(sides[k]);
            start[k] = rest % along * sides[k];
            lens[k] = sides[k].min(dims[k] - start[k]);
            rest /= along;
        }
        (start, lens)
    }
}

/// The layout of a stream.
pub fn container(stream: &[u8]) -> Outcome<Container> {
    slice(stream, 0, 64)?;
    let (elem_bytes, count) = (elem_bytes(stream[9])?, number(stream, 16, 8)?);
    let data_bytes = count.checked_mul(elem_bytes).filter(|&bytes| bytes < 1 << 62);
    let data_bytes = data_bytes.ok_or_else(|| format!("{count} elements are too many"))?;
    let mut of = Container {
        elem_bytes,
        data_bytes,
        dims: vec![count],
        geometry: Geometry::Runs(16384),
        entry_bytes: 2,
        unit: 16,
        header_bytes: 64,
        chunks: 0,
        groups: 0,
        entries_at: 0,
        bodies_at: 0,
    };
    if stream[11] & 8 != 0 {
        extension(&mut of, stream)?;
    }
    let tiles = |sides: &[u8]| {
        let along = of.dims.iter().zip(sides).map(|(len, side)| len.div_ceil(1 << (side & 63)));
        along.into_iter().try_fold(1u64, |n, tiles| n.checked_mul(tiles))
    };
    of.chunks = match &of.geometry {
        _ if count == 0 => 0,
        Geometry::Runs(bytes) => data_bytes.div_ceil(*bytes),
        Geometry::Tiles(sides) => tiles(sides).filter(|&chunks| chunks < 1 << 58).ok_or("too many tiles")?,
    };
    of.groups = of.chunks.div_ceil(64);
    of.entries_at = of.header_bytes + 16 * of.groups;
    of.bodies_at = (of.entries_at + of.entry_bytes * of.chunks).next_multiple_of(16);
    Ok(of)
}

fn extension(of: &mut Container, stream: &[u8]) -> Outcome<()> {
    of.header_bytes = 64 + number(stream, 64, 4)?;
    let [tiles, entries, run_log2, rank, missing] = slice(stream, 68, 5)?.try_into().expect("five bytes");
    if rank > 1 {
        of.dims = (0..u64::from(rank)).map(|k| number(stream, 80 + 8 * k, 8)).collect::<Outcome<_>>()?;
    }
    let numbers = if rank > 1 { u64::from(rank) } else { 0 } + u64::from(missing);
    of.geometry = match tiles {
        1 => Geometry::Tiles(slice(stream, 80 + 8 * numbers, rank.into())?.to_vec()),
        _ => Geometry::Runs(1 << run_log2.clamp(4, 63)),
    };
    if entries == 1 {
        (of.entry_bytes, of.unit) = (4, 4);
    }
    Ok(())
}

// ---- checksums: docs/reference/format.md §7 ----

fn sum(bytes: &[u8]) -> u64 {
    let mut total = 0u64;
    for (i, word) in bytes.chunks(4).enumerate() {
        let word = word.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let k = (2 * i as u64 + 1).wrapping_mul(0x9E37_79B1) & 0xFFFF_FFFF;
        total = total.wrapping_add(word * k);
    }
    total
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The share of the body of the group's chunk `k` in the group's checksum.
fn body_checksum(body: &[u8], k: u64) -> u64 {
    mix(sum(body).wrapping_add((k + 1).wrapping_mul(GOLDEN)))
}

/// The checksum of everything in front of the bodies.
fn index_checksum(front: &[u8]) -> u64 {
    let mut front = front.to_vec();
    front[56..64].fill(0);
    mix(sum(&front).wrapping_add(GOLDEN.wrapping_mul(front.len() as u64)))
}
