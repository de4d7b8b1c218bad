//! A second decoder, written from `docs/reference/format.md` and the pages of `docs/reference/codecs` alone and sharing
//! no code with the library: slow, plain and strict. It is the judge of the pages (are they enough to write a decoder?)
//! and of the codecs (do both read the same bytes alike?).

#![allow(dead_code, unused_imports)] // not every test uses all of it

pub mod builder;
mod features;
mod missing;
pub mod predict;
mod sleek;
mod stream;
pub mod zfp;

pub use features::*;
use missing::*;
pub use sleek::*;
pub use stream::*;

type Outcome<T> = Result<T, String>;

fn ensure(holds: bool, complaint: impl FnOnce() -> String) -> Outcome<()> {
    if holds { Ok(()) } else { Err(complaint()) }
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

fn ensure_zero(bytes: &[u8], what: &str) -> Outcome<()> {
    ensure(bytes.iter().all(|&byte| byte == 0), || format!("{what}: a byte that must be zero is not"))
}

fn ceil16(value: u64) -> u64 {
    value.div_ceil(16) * 16
}

/// The low `bits` bits set.
fn mask(bits: u32) -> u64 {
    if bits == 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Hands out the bytes of a part of the body one field after the other.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Outcome<&'a [u8]> {
        let taken = slice(self.rest, 0, len as u64)?;
        self.rest = &self.rest[len..];
        Ok(taken)
    }

    /// The next `count` numbers of 8 bytes.
    fn numbers(&mut self, count: usize) -> Outcome<Vec<u64>> {
        (0..count).map(|_| number(self.take(8)?, 0, 8)).collect()
    }

    /// What remains is padding to a multiple of `unit`.
    fn finish(self, unit: u64, what: &str) -> Outcome<()> {
        ensure((self.rest.len() as u64) < unit, || format!("{what}: {} bytes too many", self.rest.len()))?;
        ensure_zero(self.rest, what)
    }
}

// ---- the stream, §3: index ----

/// Whether streams of this codec can be decoded here.
pub fn knows(codec: u8) -> bool {
    codec == 1 || codec == 4
}

/// Decodes one whole stream: the bytes of the array it was made from.
pub fn decode(stream: &[u8]) -> Outcome<Vec<u8>> {
    let header = header(stream)?;
    let front = slice(stream, 0, header.bodies_at)?;
    ensure(number(stream, 56, 8)? == index_checksum(front), || "the checksum of header and index differs".into())?;
    let entries_end = header.entries_at + header.entry_bytes * header.chunks;
    ensure_zero(&front[entries_end as usize..], "after the chunk entries")?;

    // As many bytes as bodies can restore: a header may claim more.
    let most = header.chunks.min(stream.len() as u64) * (header.capacity() * header.elem_bytes) as u64;
    let mut data = vec![0; header.data_bytes.min(most) as usize];
    let mut at = header.bodies_at;
    for group in 0..header.groups {
        let record = header.header_bytes + 16 * group;
        let offset = number(stream, record, 8)?;
        ensure(offset == at, || format!("group {group} starts at {at}, its record says {offset}"))?;
        let first = GROUP_CHUNKS * group;
        let mut bodies = Vec::new();
        let mut checksum = 0u64;
        for chunk in first..header.chunks.min(first + GROUP_CHUNKS) {
            let (kind, bytes) = header.entry(stream, chunk)?;
            let body = slice(stream, at, bytes)?;
            ensure(bytes > 0, || format!("chunk {chunk} has no body"))?;
            at += body.len() as u64;
            checksum = checksum.wrapping_add(body_checksum(body, chunk - first));
            bodies.push((kind, body));
        }
        ensure(checksum == number(stream, record + 8, 8)?, || format!("the checksum of group {group} differs"))?;
        for (k, (kind, body)) in bodies.into_iter().enumerate() {
            let chunk = first + k as u64;
            let (start, lens) = header.chunk(chunk);
            let elements = restore(&header, &lens, kind, body).map_err(|error| format!("chunk {chunk}: {error}"))?;
            header.scatter(&start, &lens, &elements, &mut data);
        }
    }
    ensure(at == stream.len() as u64, || format!("the bodies end at {at}, the stream at {}", stream.len()))?;
    Ok(data)
}

// ---- the stream, §8: files of several streams ----

/// Decodes a file: the bytes of the array, which is that of its streams one after another.
pub fn decode_file(file: &[u8]) -> Outcome<Vec<u8>> {
    // Along this dimension streams follow each other.
    let along = container(file)?.dims.iter().position(|len| *len > 1).unwrap_or(0);
    // Codec, element type, mode, byte order, bound, range, missing values, and the lengths along other dimensions.
    let kind = |stream: &[u8]| -> Outcome<_> {
        let Container { mut missing, found, mut dims, .. } = container(stream)?;
        missing.truncate(missing.len() - found);
        dims.iter_mut().skip(along).take(1).for_each(|len| *len = 0);
        Ok((stream[8..11].to_vec(), stream[11] & 1, stream[32..48].to_vec(), missing, dims))
    };
    let (mut data, mut at) = (Vec::new(), 0);
    loop {
        let stream = slice(file, at, number(file, at + 24, 8)?)?;
        data.extend(decode(stream)?);
        ensure(kind(stream)? == kind(file)?, || format!("the stream at {at} is of another kind than the first"))?;
        at += stream.len() as u64;
        let another = stream[11] & 4 != 0;
        if at == file.len() as u64 {
            ensure(!another, || format!("the file ends at {at}, where another stream should begin"))?;
            return Ok(data);
        }
        ensure(another, || format!("something follows the last stream, which ends at {at}"))?;
    }
}

// ---- the stream, §4: bodies ----

/// The elements of a chunk with these lengths that a body stands for.
fn restore(header: &Header, lens: &[u64], kind: u64, body: &[u8]) -> Outcome<Vec<u8>> {
    let (size, whole) = (header.elem_bytes, header.capacity() * header.elem_bytes);
    let len = lens.iter().product::<u64>() as usize * size;
    let mut bytes = match kind {
        0 => {
            ensure(body.len() <= whole, || format!("a packed body of {} bytes, above {whole}", body.len()))?;
            let words = if header.codec == 1 { packed(header, body)? } else { predict::packed(header, lens, body)? };
            let mut bytes = Vec::with_capacity(words.len() * size);
            let words = words.into_iter().map(|word| if header.next { beside(header, word) } else { word });
            words.for_each(|word: u64| bytes.extend_from_slice(&word.to_le_bytes()[..size]));
            bytes
        }
        1 => {
            let right = header.ceil_unit(len);
            ensure(body.len() as u64 == right, || format!("a raw body of {} bytes, not {right}", body.len()))?;
            ensure_zero(&body[len..], "after the raw data")?;
            body.to_vec()
        }
        2 => {
            let right = header.ceil_unit(size);
            ensure(body.len() as u64 == right, || format!("a constant body of {} bytes, not {right}", body.len()))?;
            ensure_zero(&body[size..], "after the constant")?;
            body[..size].repeat(len / size)
        }
        _ => return masked(header, lens, body, |kind, body| restore(header, lens, kind, body)),
    };
    bytes.truncate(len);
    if header.big_endian {
        bytes.chunks_mut(size).for_each(<[u8]>::reverse);
    }
    Ok(bytes)
}
