//! A second decoder, written from `docs/reference/format.md` and the pages of `docs/reference/codecs` alone and sharing
//! no code with the library: slow, plain and strict. It is the judge of the pages (are they enough to write a decoder?)
//! and of the codecs (do both read the same bytes alike?).

#![allow(dead_code)]

pub mod builder;
pub mod predict;
pub mod zfp;

const CHUNK_BYTES: u64 = 16384;
const SUBCHUNKS: usize = 32;
const SUBCHUNK_BYTES: usize = 512;
const GROUP_CHUNKS: u64 = 64;
const HEADER_BYTES: u64 = 64;
const MAGIC: [u8; 6] = [0x89, 0x53, 0x4C, 0x45, 0x45, 0x4B];

type Outcome<T> = Result<T, String>;

/// The layout of a floating-point type: mantissa bits, exponent bits, exponent bias, and the legal `step_j`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Float {
    pub mantissa: u32,
    pub exponent: u32,
    pub bias: i32,
    pub step_j: (i16, i16),
}

const F32: Float = Float { mantissa: 23, exponent: 8, bias: 127, step_j: (-126, 100) };
const F64: Float = Float { mantissa: 52, exponent: 11, bias: 1023, step_j: (-1022, 960) };
const F16: Float = Float { mantissa: 10, exponent: 5, bias: 15, step_j: (-24, 5) };
const BF16: Float = Float { mantissa: 7, exponent: 8, bias: 127, step_j: (-126, 100) };

/// Bytes of an element and its floating-point layout, by the dtype number of the header.
pub fn dtype(number: u8) -> Outcome<(usize, Option<Float>)> {
    Ok(match number {
        1 => (4, Some(F32)),
        2 => (8, Some(F64)),
        3 => (2, Some(F16)),
        4 => (2, Some(BF16)),
        5 | 9 => (1, None),
        6 | 10 => (2, None),
        7 | 11 => (4, None),
        8 | 12 => (8, None),
        _ => return Err(format!("dtype {number} is none of 1 to 12")),
    })
}

/// How the array is cut into chunks.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    /// Runs of so many bytes.
    Runs(u64),
    /// Tiles, with the powers of two that their sides are.
    Tiles(Vec<u32>),
}

/// What header and extension say, whatever the codec.
#[derive(Clone, Debug)]
pub struct Container {
    pub codec: u8,
    pub elem_bytes: usize,
    pub float: Option<Float>,
    pub big_endian: bool,
    pub data_bytes: u64,
    pub dims: Vec<u64>,
    pub geometry: Geometry,
    /// Bytes of an entry, and what bodies are multiples of.
    pub entry_bytes: u64,
    pub unit: u64,
    pub missing: Vec<u64>,
    /// How many of them, the last ones, were found.
    pub found: usize,
    /// Packed elements that are restored as one are the next larger numbers.
    pub next: bool,
    pub section: Vec<u8>,
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

    /// Elements of a whole chunk.
    fn capacity(&self) -> usize {
        match &self.geometry {
            Geometry::Runs(bytes) => *bytes as usize / self.elem_bytes,
            Geometry::Tiles(sides) => 1 << sides.iter().sum::<u32>(),
        }
    }

    fn ceil_unit(&self, bytes: usize) -> u64 {
        (bytes as u64).div_ceil(self.unit) * self.unit
    }

    /// Where chunk `c` begins and its lengths along the dimensions; of runs along the line of all elements.
    pub fn chunk(&self, c: u64) -> (Vec<u64>, Vec<u64>) {
        let line = [self.data_bytes / self.elem_bytes as u64];
        let (dims, sides) = match &self.geometry {
            Geometry::Runs(_) => (&line[..], vec![self.capacity() as u64]),
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

    /// Puts the elements of a chunk with this start and these lengths where they belong in the array.
    fn scatter(&self, start: &[u64], lens: &[u64], elements: &[u8], data: &mut [u8]) {
        let last = lens.len() - 1;
        let line = lens[last] as usize * self.elem_bytes;
        for (row, elements) in elements.chunks(line).enumerate() {
            let (mut row, mut at, mut stride) = (row as u64, start[last], 1);
            for k in (0..last).rev() {
                stride *= self.dims[k + 1];
                at += (start[k] + row % lens[k]) * stride;
                row /= lens[k];
            }
            data[at as usize * self.elem_bytes..][..line].copy_from_slice(elements);
        }
    }
}

/// The header of a stream of a codec that is known here: the fields that decoding needs.
#[derive(Clone, Debug)]
pub struct Header {
    pub container: Container,
    pub step_j: i32,
    pub step_w: u64,
    /// Of codec predict: that of the fine lattice, or 0.
    pub multiplier: u64,
}

impl std::ops::Deref for Header {
    type Target = Container;

    fn deref(&self) -> &Container {
        &self.container
    }
}

impl Header {
    fn bits(&self) -> u32 {
        self.elem_bytes as u32 * 8
    }
}

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

// ---- the stream, §7: checksums ----

pub fn sum(bytes: &[u8]) -> u64 {
    let mut total = 0u64;
    for (i, word) in bytes.chunks(4).enumerate() {
        let word = word.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let k = (2 * i as u64 + 1).wrapping_mul(0x9E37_79B1) & 0xFFFF_FFFF;
        total = total.wrapping_add(word * k);
    }
    total
}

pub fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The share of the body of the group's chunk `k` in the group's checksum.
pub fn body_checksum(body: &[u8], k: u64) -> u64 {
    mix(sum(body).wrapping_add((k + 1).wrapping_mul(GOLDEN)))
}

/// The checksum of everything in front of the bodies.
pub fn index_checksum(front: &[u8]) -> u64 {
    let mut front = front.to_vec();
    front[56..64].fill(0);
    mix(sum(&front).wrapping_add(GOLDEN.wrapping_mul(front.len() as u64)))
}

// ---- the stream, §1 and §2: header and extension ----

pub fn container(stream: &[u8]) -> Outcome<Container> {
    slice(stream, 0, HEADER_BYTES)?;
    ensure(stream[..6] == MAGIC, || "no SLEEK stream: the magic bytes are missing".into())?;
    let version = number(stream, 6, 2)?;
    ensure(version == 1, || format!("version {version} is not 1"))?;
    let (elem_bytes, float) = dtype(stream[9])?;
    ensure(stream[10] <= 5, || format!("mode {} is none of 0 to 5", stream[10]))?;
    ensure(stream[11] <= 15, || format!("flags {:#04x}: only bits 0 to 3 have a meaning", stream[11]))?;
    let count = number(stream, 16, 8)?;
    let data_bytes = count.checked_mul(elem_bytes as u64).filter(|&bytes| bytes < 1 << 62);
    let mut container = Container {
        codec: stream[8],
        elem_bytes,
        float,
        big_endian: stream[11] & 1 != 0,
        data_bytes: data_bytes.ok_or_else(|| format!("count {count} is too large"))?,
        dims: vec![count],
        geometry: Geometry::Runs(CHUNK_BYTES),
        entry_bytes: 2,
        unit: 16,
        missing: Vec::new(),
        found: 0,
        next: false,
        section: Vec::new(),
        header_bytes: HEADER_BYTES,
        chunks: 0,
        groups: 0,
        entries_at: 0,
        bodies_at: 0,
    };
    if stream[11] & 8 != 0 {
        extension(&mut container, count, stream)?;
    }
    container.chunks = match &container.geometry {
        _ if count == 0 => 0,
        Geometry::Runs(bytes) => container.data_bytes.div_ceil(*bytes),
        Geometry::Tiles(sides) => container.dims.iter().zip(sides).map(|(len, side)| len.div_ceil(1 << side)).product(),
    };
    ensure(container.chunks < 1 << 58, || format!("{} chunks are more than can be", container.chunks))?;
    container.groups = container.chunks.div_ceil(GROUP_CHUNKS);
    container.entries_at = container.header_bytes + 16 * container.groups;
    container.bodies_at = ceil16(container.entries_at + container.entry_bytes * container.chunks);
    Ok(container)
}

/// The header's extension.
fn extension(container: &mut Container, count: u64, stream: &[u8]) -> Outcome<()> {
    let length = number(stream, 64, 4)?;
    ensure(length % 16 == 0 && (16..=1 << 20).contains(&length), || format!("an extension of {length} bytes"))?;
    let bytes = slice(stream, 64, length)?;
    let [geometry, entries, run_log2, rank] = [bytes[4], bytes[5], bytes[6], bytes[7]];
    let [missing, found, next] = [bytes[8], bytes[9], bytes[10]];
    ensure(geometry <= 1 && entries <= 1, || format!("geometry {geometry} or entries {entries} is undefined"))?;
    ensure_zero(&bytes[11..12], "extension, byte 11")?;
    ensure(next == 0 || next == 1 && missing > 0, || format!("next numbers are said to be {next}"))?;
    ensure((1..=32).contains(&rank), || format!("rank {rank} is none of 1 to 32"))?;
    ensure(missing <= 4, || format!("{missing} missing values, above 4"))?;
    ensure(found <= missing, || format!("{found} of {missing} missing values were found"))?;
    let mut rest = Reader { rest: &bytes[16..] };
    if rank > 1 {
        container.dims = rest.numbers(rank.into())?;
    }
    container.missing = rest.numbers(missing.into())?;
    (container.found, container.next) = (found.into(), next == 1);
    container.geometry = if geometry == 1 {
        ensure(run_log2 == 0, || format!("tiles, and run_log2 is {run_log2}"))?;
        Geometry::Tiles(rest.take(rank.into())?.iter().map(|&side| u32::from(side)).collect())
    } else {
        ensure((12..=17).contains(&run_log2), || format!("run_log2 {run_log2} is none of 12 to 17"))?;
        Geometry::Runs(1 << run_log2)
    };
    container.section = rest.take(number(bytes, 12, 4)? as usize)?.to_vec();
    rest.finish(16, "extension")?;
    // A length of 0 must not hide that the others are too large.
    let product = container.dims.iter().try_fold(1u64, |n, &len| n.checked_mul(len.max(1)));
    ensure(product.is_some_and(|n| n < 1 << 63), || format!("dimensions {:?} are too large", container.dims))?;
    let product: u64 = container.dims.iter().product();
    ensure(product == count, || format!("dimensions {:?} are not {count} elements", container.dims))?;
    let bits = 8 * container.elem_bytes as u32;
    for (k, value) in container.missing.iter().enumerate() {
        ensure(container.float.is_some() && *value <= mask(bits), || format!("missing value {value:#x}"))?;
        ensure(!container.missing[..k].contains(value), || format!("missing value {value:#x} is there twice"))?;
    }
    if let Geometry::Tiles(sides) = &container.geometry {
        let log2 = sides.iter().sum::<u32>() + container.elem_bytes.ilog2();
        ensure(log2 <= 17, || format!("tiles of 2^{log2} bytes, above 2^17"))?;
    }
    container.header_bytes = 64 + length;
    container.entry_bytes = 2 << entries;
    container.unit = 16 >> (2 * entries);
    let plain = container.dims == [count]
        && container.geometry == Geometry::Runs(CHUNK_BYTES)
        && entries == 0
        && container.missing.is_empty()
        && container.section.is_empty();
    ensure(!plain, || "an extension that says nothing".into())
}

pub fn header(stream: &[u8]) -> Outcome<Header> {
    let container = container(stream)?;
    let right = match (container.codec, &container.geometry) {
        (1, geometry) => *geometry == Geometry::Runs(CHUNK_BYTES) && container.unit == 16,
        (4, Geometry::Tiles(_)) => container.capacity() <= 16384 && container.unit == 4,
        (4, Geometry::Runs(_)) => false,
        (codec, _) => return Err(format!("codec {codec} is not known here")),
    };
    ensure(right, || {
        format!("{:?} with units of {} in a stream of codec {}", container.geometry, container.unit, container.codec)
    })?;
    ensure(container.section.is_empty(), || format!("a section of {} bytes", container.section.len()))?;
    let step_j = i16::from_le_bytes([stream[12], stream[13]]);
    let step_w = stream[14];
    let multiplier = stream[15];
    ensure(multiplier == 0 || container.codec == 4, || format!("header, byte 15 is {multiplier}"))?;
    match (step_w, container.float) {
        (0, _) => ensure(step_j == 0, || format!("step_j is {step_j} in a stream that is not quantized"))?,
        (4..=7, Some(float)) => ensure((float.step_j.0..=float.step_j.1).contains(&step_j), || {
            format!("step_j {step_j} is outside {:?}", float.step_j)
        })?,
        (4..=7, None) => return Err("integers are not quantized".into()),
        _ => return Err(format!("step_w {step_w} is none of 0, 4, 5, 6, 7")),
    }
    let least_j = match container.float {
        Some(F32) => -100,
        Some(F64) => -960,
        _ => i16::MAX,
    };
    ensure(multiplier == 0 || step_w > 0 && step_j >= least_j && (67..=135).contains(&multiplier), || {
        format!("multiplier {multiplier} of a step of {step_w} · 2^{step_j}")
    })?;
    let stream_bytes = number(stream, 24, 8)?;
    ensure(stream_bytes == stream.len() as u64, || {
        format!("stream_bytes is {stream_bytes}, the stream has {} bytes", stream.len())
    })?;
    Ok(Header { container, step_j: step_j.into(), step_w: step_w.into(), multiplier: multiplier.into() })
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

// ---- the stream, §5: missing values and planes ----

/// A masked body: a plane, and behind it a packed or constant body with the other elements, which `restore` knows.
fn masked(
    header: &Container,
    lens: &[u64],
    body: &[u8],
    restore: impl FnOnce(u64, &[u8]) -> Outcome<Vec<u8>>,
) -> Outcome<Vec<u8>> {
    let size = header.elem_bytes;
    let raw = header.ceil_unit(lens.iter().product::<u64>() as usize * size);
    ensure(!header.missing.is_empty(), || "a masked chunk of a stream without missing values".into())?;
    ensure((body.len() as u64) < raw, || format!("a masked body of {} bytes", body.len()))?;
    let [first, zero] = [number(body, 0, 1)?, number(body, 1, 1)?];
    let (which, inner) = (first & 15, first >> 6);
    ensure(first & 0x30 == 0 && zero == 0, || "a plane's reserved bits are not zero".into())?;
    ensure(which != 0 && which >> header.missing.len() == 0, || format!("a plane of the values {which:#b}"))?;
    let plane_bytes = header.unit * number(body, 2, 2)?;
    let plane = slice(body, 0, plane_bytes)?;
    let rest = &body[plane.len()..];
    ensure(inner == 0 && !rest.is_empty() || inner == 2, || {
        format!("a masked body has one of kind {inner} and {} bytes within", rest.len())
    })?;
    let mut data = restore(inner, rest)?;
    let mut reader = Reader { rest: plane.get(4..).ok_or("a plane of less than 4 bytes")? };
    let mut taken = vec![false; header.capacity().next_multiple_of(64)];
    for (k, value) in header.missing.iter().enumerate().filter(|(k, _)| which >> k & 1 == 1) {
        for (i, is_missing) in plane_of_value(header.capacity(), &mut reader)?.into_iter().enumerate() {
            ensure(!(is_missing && taken[i]), || format!("element {i} has two missing values, the second is {k}"))?;
            taken[i] |= is_missing;
            if let Some(place) = data.chunks_mut(size).nth(i).filter(|_| is_missing) {
                place.copy_from_slice(&value.to_le_bytes()[..size]);
                if header.big_endian {
                    place.reverse();
                }
            }
        }
    }
    reader.finish(header.unit, "plane")?;
    Ok(data)
}

/// The element itself, or the next larger number where a missing value is the same number; for one missing value after
/// the other.
fn beside(header: &Container, element: u64) -> u64 {
    let sign = 1u64 << (8 * header.elem_bytes - 1);
    let special = header.float.as_ref().map_or(0, |float| ((1 << float.exponent) - 1) << float.mantissa);
    let number = |bits: u64| match header.elem_bytes {
        8 => f64::from_bits(bits),
        4 => f32::from_bits(bits as u32).into(),
        // Those of 16 bits are compared as they are ordered; the largest exponent is no number.
        _ if bits & special == special => f64::NAN,
        _ if bits & sign == 0 => bits as f64,
        _ => -((bits - sign) as f64),
    };
    let next = |bits: u64| match bits {
        _ if bits & !sign == 0 => 1,
        _ if bits & sign != 0 => bits - 1,
        _ => bits + 1,
    };
    header.missing.iter().fold(element, |element, missing| {
        let becomes = number(*missing) == number(element) && number(*missing).is_finite();
        if becomes && number(next(element)).is_finite() { next(element) } else { element }
    })
}

/// For each of a chunk's elements whether it is the value that the next part of a plane tells of.
fn plane_of_value(capacity: usize, reader: &mut Reader) -> Outcome<Vec<bool>> {
    let block = (capacity / 32).max(64);
    let blocks = capacity.div_ceil(block);
    let first = unpack(reader.take(4)?, 32, 1);
    let mixed = unpack(reader.take(4)?, 32, 1);
    let of_blocks = [&first[blocks..], &mixed[blocks..]].concat();
    ensure(!of_blocks.contains(&1), || format!("a plane tells of more than {blocks} blocks"))?;
    ensure(first.contains(&1) || mixed.contains(&1), || "a plane of a value that no element has".into())?;
    let mixed: Vec<usize> = (0..blocks).filter(|&b| mixed[b] == 1).collect();
    let flags = unpack(reader.take(mixed.len() * block / 64)?, mixed.len() * block / 8, 1);
    let mut changes = vec![0; blocks * block];
    for (m, &b) in mixed.iter().enumerate() {
        for j in (0..block / 8).filter(|j| flags[m * block / 8 + j] == 1) {
            let eight = unpack(reader.take(1)?, 8, 1);
            ensure(eight.contains(&1), || format!("block {b}: eight {j} has no changes"))?;
            changes[b * block + 8 * j..][..8].copy_from_slice(&eight);
        }
        let changes = &changes[b * block..][..block];
        ensure(changes[0] == 0 && changes.contains(&1), || format!("block {b} changes at its start, or never"))?;
    }
    let mut state = 0;
    let mut elements = Vec::new();
    for i in 0..blocks * block {
        state = if i % block == 0 { first[i / block] } else { state ^ changes[i] };
        elements.push(state == 1);
    }
    Ok(elements)
}

// ---- SLEEK, §2: packed chunks ----

/// `count` values of `bits` bits, packed LSB-first.
fn unpack(bytes: &[u8], count: usize, bits: u32) -> Vec<u64> {
    let value = |at: usize| {
        let around = bytes[at / 8..].iter().take(9).rev().fold(0u128, |sum, byte| sum << 8 | u128::from(*byte));
        (around >> (at % 8)) as u64 & mask(bits)
    };
    (0..count).map(|i| if bits == 0 { 0 } else { value(i * bits as usize) }).collect()
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

/// What the tail says of an active subchunk.
struct Plan {
    mode: u8,
    width: u32,
    /// Element and high part, already moved to its place above the low bits.
    exceptions: Vec<(usize, u64)>,
}

/// All 16384 bytes' worth of elements of a packed chunk, as W-bit words.
fn packed(header: &Header, body: &[u8]) -> Outcome<Vec<u64>> {
    let bits = header.bits();
    let active = number(body, 0, 4)? as u32;
    let patched = number(body, 4, 4)? as u32;
    let payload_bytes = 16 * number(body, 8, 2)?;
    let (base_width, exact) = (u32::from(body[10] & 127), body[10] >> 7 == 1);
    let shift_special = number(body, 11, 1)?;
    let mut base_ref = number(body, 12, 4)?;
    let (shift, special) = (shift_special as u32 & 63, shift_special >> 6);
    ensure(patched & !active == 0, || "an inactive subchunk is patched".into())?;
    ensure(patched == 0 || bits > 8, || "a subchunk of 8-bit elements is patched".into())?;
    ensure(base_width <= bits, || format!("base_width {base_width} is above {bits}"))?;
    ensure(shift < bits, || format!("shift {shift} is not below {bits}"))?;
    ensure(header.step_w != 0 || !exact, || "an exact chunk in a stream that is not quantized".into())?;
    let quantized = header.step_w != 0 && !exact;
    ensure(shift == 0 || !quantized, || format!("shift {shift} in a quantized chunk"))?;
    ensure(special <= 2, || format!("special {special} is undefined"))?;

    let payload = slice(body, 16, payload_bytes)?;
    let mut tail = Reader { rest: &body[16 + payload_bytes as usize..] };
    if bits == 64 {
        base_ref |= number(tail.take(4)?, 0, 4)? << 32;
    }
    ensure(base_ref <= mask(bits), || format!("base_ref {base_ref:#x} has more than {bits} bits"))?;
    let bases = unpack(tail.take(4 * base_width as usize)?, SUBCHUNKS, base_width);
    let mode3_allowed = special == 1 || (header.float.is_some() && !quantized && shift == 0);
    let mut plans = plans(header, active, patched, mode3_allowed, &mut tail)?;
    tail.finish(16, "tail")?;

    let mut payload = Reader { rest: payload };
    let mut elements = Vec::new();
    for s in 0..SUBCHUNKS {
        let base = base_ref.wrapping_add(bases[s]) & mask(bits);
        let words = match plans[s].take() {
            Some(plan) => subchunk(header, special, base, &plan, &mut payload)?,
            None => vec![base; SUBCHUNK_BYTES / header.elem_bytes],
        };
        for word in words {
            elements.push(if quantized { unquantize(header, word) } else { word << shift & mask(bits) });
        }
    }
    payload.finish(16, "payload")?;
    Ok(elements)
}

/// Items 3 to 7 of the tail.
fn plans(
    header: &Header,
    active: u32,
    patched: u32,
    mode3_allowed: bool,
    tail: &mut Reader,
) -> Outcome<[Option<Plan>; SUBCHUNKS]> {
    let bits = header.bits();
    let len = SUBCHUNK_BYTES / header.elem_bytes;
    let is_set = |set: u32, s: usize| set >> s & 1 != 0;
    let mut plans = [const { None }; SUBCHUNKS];
    for s in (0..SUBCHUNKS).filter(|&s| is_set(active, s)) {
        let descriptor = tail.take(1)?[0];
        let mode = descriptor >> 6;
        let width = u32::from(descriptor & 63) + u32::from(!is_set(patched, s));
        ensure(width <= bits, || format!("subchunk {s}: width {width} is above {bits}"))?;
        ensure(mode != 3 || mode3_allowed, || {
            format!("subchunk {s}: mode 3 is for floats that are neither quantized nor shifted")
        })?;
        plans[s] = Some(Plan { mode, width, exceptions: Vec::new() });
    }
    let places: Vec<usize> = (0..SUBCHUNKS).filter(|&s| is_set(patched, s)).collect();
    let highs = tail.take(places.len())?;
    let mut flags = Vec::new();
    for &s in &places {
        let of_eights = unpack(tail.take(len / 64)?, len / 8, 1);
        ensure(of_eights.contains(&1), || format!("subchunk {s}: no eight has exceptions"))?;
        flags.push(of_eights);
    }
    let mut exceptions = Vec::new();
    for (s, flags) in places.iter().zip(flags) {
        let mut elements = Vec::new();
        for j in (0..len / 8).filter(|&j| flags[j] == 1) {
            let of_elements = unpack(tail.take(1)?, 8, 1);
            ensure(of_elements.contains(&1), || format!("subchunk {s}: eight {j} has no exceptions"))?;
            elements.extend((0..8).filter(|&i| of_elements[i] == 1).map(|i| 8 * j + i));
        }
        exceptions.push(elements);
    }
    for ((s, elements), &high) in places.into_iter().zip(exceptions).zip(highs) {
        let Some(plan) = &mut plans[s] else { return Err(format!("subchunk {s} is patched and inactive")) };
        let (count, high) = (elements.len(), u32::from(high));
        ensure(high >= 1 && plan.width + high <= bits, || format!("subchunk {s}: high parts of {high} bits"))?;
        let packed = tail.take((count * high as usize).div_ceil(8))?;
        let unused = packed.len() * 8 - count * high as usize;
        ensure(u32::from(packed[packed.len() - 1]) >> (8 - unused) == 0, || {
            format!("subchunk {s}: unused bits of the high parts are not zero")
        })?;
        let values = unpack(packed, count, high);
        plan.exceptions = elements.into_iter().zip(values).map(|(at, v)| (at, v << plan.width)).collect();
    }
    Ok(plans)
}

// ---- SLEEK, §3: from codes to elements ----

fn zz(code: u64, bits: u32) -> u64 {
    ((code >> 1) ^ (code & 1).wrapping_neg()) & mask(bits)
}

/// The words x_i of an active subchunk.
fn subchunk(header: &Header, special: u64, base: u64, plan: &Plan, payload: &mut Reader) -> Outcome<Vec<u64>> {
    let bits = header.bits();
    let len = SUBCHUNK_BYTES / header.elem_bytes;
    let mut codes = unpack(payload.take(len * plan.width as usize / 8)?, len, plan.width);
    for &(at, high) in &plan.exceptions {
        codes[at] += high;
    }
    let (mut word, mut step) = (base, 0u64);
    let mut words = Vec::new();
    for code in codes {
        let signed = zz(code, bits);
        let value = match (plan.mode, special, header.float) {
            (0, _, _) => base.wrapping_add(code),
            (1, _, _) => base.wrapping_add(signed),
            (2, _, _) => word.wrapping_add(signed),
            (_, 0, Some(float)) => unmap(code, bits, float.exponent),
            (_, 2, Some(float)) => uncount(code, base, bits, float.exponent),
            (_, 0 | 2, None) => return Err("mode 3 is for floats".into()),
            _ => {
                step = step.wrapping_add(signed);
                word.wrapping_add(step)
            }
        };
        word = value & mask(bits);
        words.push(word);
    }
    Ok(words)
}

// ---- SLEEK, §4: the exponent map ----

pub fn unmap(code: u64, bits: u32, exponent: u32) -> u64 {
    let mut x = zz(code, bits);
    if x >> (bits - exponent) != 0 {
        if x >= 1 << (bits - 1) {
            x = x.wrapping_add(1 << (bits - exponent));
        }
        x = x.wrapping_add(1 << (bits - 1)) & mask(bits);
    }
    (x >> 1) | (x & 1) << (bits - 1)
}

pub fn map(value: u64, bits: u32, exponent: u32) -> u64 {
    let mut x = (value << 1 | value >> (bits - 1)) & mask(bits);
    if x >> (bits - exponent) != 0 {
        x = x.wrapping_sub(1 << (bits - 1)) & mask(bits);
        if x >> (bits - exponent) == 0 || x >= 1 << (bits - 1) {
            x = x.wrapping_sub(1 << (bits - exponent)) & mask(bits);
        }
    }
    (x << 1 ^ (x >> (bits - 1)).wrapping_neg()) & mask(bits)
}

// ---- SLEEK, §5: the countdown ----

/// The word of a code, counted down from what `base` tells.
pub fn uncount(code: u64, base: u64, bits: u32, exponent: u32) -> u64 {
    let top = (base.wrapping_add(1) << (bits - exponent - 2)).wrapping_add(1);
    let y = if code < 2 { code } else { top.wrapping_sub(code) & mask(bits) };
    (y >> 1) | (y & 1) << (bits - 1)
}

// ---- SLEEK, §6: the quantizer ----

/// Q⁻¹, in integers throughout.
fn unquantize(header: &Header, word: u64) -> u64 {
    let (Some(float), bits) = (header.float, header.bits()) else { return word };
    let sign = 1 << (bits - 1);
    let negative = word & sign != 0;
    let magnitude = if negative { word.wrapping_neg() & mask(bits) } else { word };
    let k = ((1 << float.mantissa) + 3) / header.step_w + 1;
    let restored = if magnitude < k {
        float_bits(magnitude * header.step_w, header.step_j, float)
    } else {
        let t = ((header.step_j + float.mantissa as i32 + float.bias) as u64) << float.mantissa;
        magnitude.wrapping_sub(k).wrapping_add(t) & mask(bits)
    };
    if negative { restored | sign } else { restored }
}

/// The bits of n · 2^j, for n below 2^(mantissa + 1) and a product that the type holds exactly.
fn float_bits(n: u64, j: i32, float: Float) -> u64 {
    if n == 0 {
        return 0;
    }
    let top = n.ilog2();
    let biased = top as i32 + j + float.bias;
    if biased >= 1 {
        let fraction = (n << (float.mantissa - top)) - (1 << float.mantissa);
        (biased as u64) << float.mantissa | fraction
    } else {
        // Subnormal numbers are multiples of 2^(1 − bias − mantissa).
        n << (j - (1 - float.bias - float.mantissa as i32))
    }
}

// ---- what a stream makes use of ----

/// The features of the format that a valid stream uses, by name.
pub fn features(stream: &[u8]) -> Outcome<std::collections::BTreeSet<&'static str>> {
    decode(stream)?;
    let header = header(stream)?;
    let mut found = std::collections::BTreeSet::new();
    if header.codec == 4 {
        found.insert("predict");
    }
    if header.big_endian {
        found.insert("big-endian");
    }
    if stream[11] & 4 != 0 {
        found.insert("another follows");
    }
    found.insert(if header.step_w == 0 { "exact" } else { "quantized" });
    if header.groups > 1 {
        found.insert("groups");
    }
    if header.dims.len() > 1 {
        found.insert("dimensions");
    }
    if header.next {
        found.insert(if header.codec == 4 { "predict: next" } else { "next" });
    }
    if header.found > 0 {
        found.insert("found missing values");
    }
    let mut at = header.bodies_at;
    for chunk in 0..header.chunks {
        let (kind, bytes) = header.entry(stream, chunk)?;
        let body = slice(stream, at, bytes)?;
        at += bytes;
        if header.codec == 4 {
            found.extend(predict::features(&header, &header.chunk(chunk).1, kind, body)?);
            continue;
        }
        match kind {
            0 => packed_features(&header, body, &mut found)?,
            1 => _ = found.insert("raw"),
            2 => _ = found.insert("constant"),
            _ => masked_features(&header, body, &mut found)?,
        }
    }
    Ok(found)
}

fn masked_features(header: &Header, body: &[u8], found: &mut std::collections::BTreeSet<&'static str>) -> Outcome<()> {
    found.insert("masked");
    if (body[0] & 15).count_ones() > 1 {
        found.insert("several missing values");
    }
    match body[0] >> 6 {
        0 => packed_features(header, &body[(header.unit * number(body, 2, 2)?) as usize..], found),
        _ => {
            found.insert("masked constant");
            Ok(())
        }
    }
}

fn packed_features(header: &Header, body: &[u8], found: &mut std::collections::BTreeSet<&'static str>) -> Outcome<()> {
    let active = number(body, 0, 4)?;
    let base_width = u64::from(body[10] & 127);
    let special = body[11] >> 6;
    let high_half = if header.bits() == 64 { 4 } else { 0 };
    let descriptors_at = 16 + 16 * number(body, 8, 2)? + high_half + 4 * base_width;
    for &descriptor in slice(body, descriptors_at, active.count_ones().into())? {
        found.insert(match (descriptor >> 6, special) {
            (0, _) => "offset",
            (1, _) => "zigzag",
            (2, _) => "delta",
            (_, 0) => "exponent map",
            (_, 1) => "second difference",
            _ => "countdown",
        });
    }
    let used = [
        (active != 0xFFFF_FFFF, "inactive"),
        (number(body, 4, 4)? != 0, "patched"),
        (body[11] & 63 != 0, "shift"),
        (base_width == 0, "no bases"),
        (base_width != 0, "bases"),
        (body[10] >> 7 == 1, "exact chunk"),
    ];
    found.extend(used.iter().filter(|(holds, _)| *holds).map(|&(_, name)| name));
    Ok(())
}
