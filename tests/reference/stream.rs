//! A stream up to its bodies: header, extension, index and checksums (`docs/reference/format.md` §1 to §3, §7).

use super::*;

pub(super) const CHUNK_BYTES: u64 = 16384;
pub(super) const SUBCHUNKS: usize = 32;
pub(super) const SUBCHUNK_BYTES: usize = 512;
pub(super) const GROUP_CHUNKS: u64 = 64;
pub(super) const HEADER_BYTES: u64 = 64;
pub(super) const MAGIC: [u8; 6] = [0x89, 0x53, 0x4C, 0x45, 0x45, 0x4B];

/// The layout of a floating-point type: mantissa bits, exponent bits, exponent bias, and the legal `step_j`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Float {
    pub mantissa: u32,
    pub exponent: u32,
    pub bias: i32,
    pub step_j: (i16, i16),
}

pub(super) const F32: Float = Float { mantissa: 23, exponent: 8, bias: 127, step_j: (-126, 100) };
pub(super) const F64: Float = Float { mantissa: 52, exponent: 11, bias: 1023, step_j: (-1022, 960) };
pub(super) const F16: Float = Float { mantissa: 10, exponent: 5, bias: 15, step_j: (-24, 5) };
pub(super) const BF16: Float = Float { mantissa: 7, exponent: 8, bias: 127, step_j: (-126, 100) };

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
    pub(super) fn capacity(&self) -> usize {
        match &self.geometry {
            Geometry::Runs(bytes) => *bytes as usize / self.elem_bytes,
            Geometry::Tiles(sides) => 1 << sides.iter().sum::<u32>(),
        }
    }

    pub(super) fn ceil_unit(&self, bytes: usize) -> u64 {
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
    pub(super) fn scatter(&self, start: &[u64], lens: &[u64], elements: &[u8], data: &mut [u8]) {
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
    pub(super) fn bits(&self) -> u32 {
        self.elem_bytes as u32 * 8
    }
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

pub(super) const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

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
pub(super) fn extension(container: &mut Container, count: u64, stream: &[u8]) -> Outcome<()> {
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
