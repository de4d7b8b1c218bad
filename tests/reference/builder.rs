//! Builds streams from their parts, legal or not: the encoder that the reference decoder is tested with. It writes
//! whatever it is told and thinks about nothing but the layout and the checksums.

use super::{body_checksum, container, index_checksum};
use crate::vectors::Random;

/// An active subchunk: the low `width` bits of every code, and what its exceptions add above them.
#[derive(Clone, Debug)]
pub struct Subchunk {
    pub mode: u8,
    pub width: u32,
    pub lows: Vec<u64>,
    pub high_width: u32,
    /// Element and high part, in the order of elements; a subchunk with exceptions is patched.
    pub exceptions: Vec<(u8, u64)>,
}

impl Subchunk {
    /// For each eight in order a byte: bit i is set where its element i is an exception.
    fn masks(&self) -> Vec<u8> {
        let mut masks = vec![0; self.lows.len() / 8];
        self.exceptions.iter().for_each(|(at, _)| masks[usize::from(at / 8)] |= 1 << (at % 8));
        masks
    }
}

/// A packed chunk.
#[derive(Clone, Debug)]
pub struct Packed {
    pub bits: u32,
    pub base_ref: u64,
    pub base_width: u32,
    /// Words are elements' bits although the stream is quantized.
    pub exact: bool,
    pub bases: Vec<u64>,
    pub shift: u8,
    pub special: u8,
    pub subchunks: Vec<Option<Subchunk>>,
}

/// Appends values LSB-first and pads to whole bytes.
pub fn pack(values: impl IntoIterator<Item = u64>, width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut pending, mut held) = (0u128, 0);
    for value in values {
        pending |= u128::from(value) << held;
        held += width;
        while held >= 8 {
            bytes.push(pending as u8);
            pending >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        bytes.push(pending as u8);
    }
    bytes
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(16), 0);
}

impl Packed {
    /// A chunk whose subchunks are all inactive and all equal to `base_ref`.
    pub fn flat(bits: u32, base_ref: u64) -> Packed {
        let subchunks = vec![None; 32];
        Packed { bits, base_ref, base_width: 0, exact: false, bases: vec![0; 32], shift: 0, special: 0, subchunks }
    }

    /// The body of the chunk.
    pub fn body(&self) -> Vec<u8> {
        let active = || self.subchunks.iter().enumerate().filter_map(|(s, sub)| Some((s, sub.as_ref()?)));
        let patched = || active().filter(|(_, sub)| !sub.exceptions.is_empty());
        let mut payload: Vec<u8> = active().flat_map(|(_, sub)| pack(sub.lows.iter().copied(), sub.width)).collect();
        pad(&mut payload);

        let mut body = Vec::new();
        body.extend(active().fold(0u32, |set, (s, _)| set | 1 << s).to_le_bytes());
        body.extend(patched().fold(0u32, |set, (s, _)| set | 1 << s).to_le_bytes());
        body.extend((payload.len() as u16 / 16).to_le_bytes());
        body.push(self.base_width as u8 | u8::from(self.exact) << 7);
        body.push(self.shift | self.special << 6);
        body.extend((self.base_ref as u32).to_le_bytes());
        body.extend(payload);
        if self.bits == 64 {
            body.extend(((self.base_ref >> 32) as u32).to_le_bytes());
        }
        body.extend(pack(self.bases.iter().copied(), self.base_width));
        body.extend(active().map(|(_, sub)| {
            let number = sub.width as u8 - u8::from(sub.exceptions.is_empty());
            sub.mode << 6 | number
        }));
        body.extend(patched().map(|(_, sub)| sub.high_width as u8));
        body.extend(patched().flat_map(|(_, sub)| pack(sub.masks().iter().map(|&mask| u64::from(mask != 0)), 1)));
        body.extend(patched().flat_map(|(_, sub)| sub.masks()).filter(|&mask| mask != 0));
        body.extend(patched().flat_map(|(_, sub)| pack(sub.exceptions.iter().map(|&(_, high)| high), sub.high_width)));
        pad(&mut body);
        body
    }
}

/// The body of a chunk, and its kind in the index.
#[derive(Clone, Debug)]
pub enum Body {
    Packed(Vec<u8>),
    Raw(Vec<u8>),
    Constant(Vec<u8>),
}

impl Body {
    fn parts(&self) -> (u16, Vec<u8>) {
        let (kind, mut bytes) = match self {
            Body::Packed(bytes) => (0, bytes.clone()),
            Body::Raw(bytes) => (1, bytes.clone()),
            Body::Constant(bytes) => (2, bytes.clone()),
        };
        pad(&mut bytes);
        (kind, bytes)
    }
}

/// A stream in its parts.
#[derive(Clone, Debug)]
pub struct Stream {
    pub dtype: u8,
    pub mode: u8,
    pub flags: u8,
    pub step_j: i16,
    pub step_w: u8,
    pub count: u64,
    pub bodies: Vec<Body>,
}

impl Stream {
    /// A lossless stream of `count` elements; its bodies are the caller's to add.
    pub fn lossless(dtype: u8, count: u64) -> Stream {
        Stream { dtype, mode: 0, flags: 0, step_j: 0, step_w: 0, count, bodies: Vec::new() }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let groups = self.bodies.len().div_ceil(64);
        let mut stream = vec![0x89, 0x53, 0x4C, 0x45, 0x45, 0x4B, 1, 0, 1, self.dtype, self.mode, self.flags];
        stream.extend(self.step_j.to_le_bytes());
        stream.extend([self.step_w, 0]);
        stream.extend(self.count.to_le_bytes());
        stream.resize(64 + 16 * groups, 0);
        for body in &self.bodies {
            let (kind, bytes) = body.parts();
            stream.extend((kind << 14 | (bytes.len() / 16) as u16).to_le_bytes());
        }
        pad(&mut stream);
        for (c, body) in self.bodies.iter().enumerate() {
            if c % 64 == 0 {
                let offset = stream.len() as u64;
                stream[64 + c / 4..][..8].copy_from_slice(&offset.to_le_bytes());
            }
            stream.extend(body.parts().1);
        }
        let len = stream.len() as u64;
        stream[24..32].copy_from_slice(&len.to_le_bytes());
        seal(&mut stream);
        stream
    }
}

/// Makes the checksums right again after a change, as far as header, extension and index can still be followed, of any
/// codec; what a decoder then says of the stream, it says because of the change.
pub fn seal(stream: &mut [u8]) {
    let Ok(container) = container(stream) else { return };
    if container.bodies_at > stream.len() as u64 {
        return;
    }
    let mut at = container.bodies_at as usize;
    for group in 0..container.groups {
        let mut checksum = 0u64;
        for chunk in (64 * group..container.chunks).take(64) {
            let Ok((_, size)) = container.entry(stream, chunk) else { return };
            let end = at.saturating_add(size as usize).min(stream.len());
            checksum = checksum.wrapping_add(body_checksum(&stream[at..end], chunk % 64));
            at = end;
        }
        let record = (container.header_bytes + 16 * group) as usize;
        stream[record + 8..][..8].copy_from_slice(&checksum.to_le_bytes());
    }
    let checksum = index_checksum(&stream[..container.bodies_at as usize]);
    stream[56..64].copy_from_slice(&checksum.to_le_bytes());
}

/// A value of at most `bits` bits.
pub fn bits_of(random: &mut Random, bits: u32) -> u64 {
    if bits == 0 { 0 } else { random.next() >> (64 - bits) }
}

/// Some legal packed chunk: any mode, any width, any number of exceptions, so far as the page allows. `mapped` allows
/// the exponent map and the countdown, `shifted` a shift, and `width_limit` bounds every code and base (W for all that
/// is legal).
pub fn random_packed(random: &mut Random, bits: u32, mapped: bool, shifted: bool, width_limit: u32) -> Packed {
    let special = random.below(3) as u8;
    let shift = if shifted && random.below(2) == 0 { random.below(u64::from(bits)) as u8 } else { 0 };
    let mode3 = special == 1 || (mapped && shift == 0);
    let base_width = random.below(u64::from(width_limit) + 1) as u32;
    // The subchunks of a chunk share a limit so that narrow chunks, which real data have, turn up as often as wide
    // ones.
    let limit = 1 + random.below(u64::from(width_limit)) as u32;
    let patching = random.below(3);
    let base_ref = bits_of(random, width_limit);
    let bases = (0..32).map(|_| bits_of(random, base_width)).collect();
    let subchunks = (0..32)
        .map(|_| {
            (random.below(4) != 0).then(|| {
                let patched = bits > 8 && random.below(4) < patching;
                random_subchunk(random, bits, limit, 3 + u64::from(mode3), patched)
            })
        })
        .collect();
    Packed { bits, base_ref, base_width, exact: false, bases, shift, special, subchunks }
}

fn random_subchunk(random: &mut Random, bits: u32, limit: u32, modes: u64, patched: bool) -> Subchunk {
    let len = 4096 / bits as usize;
    let mode = random.below(modes) as u8;
    let total = 1 + random.below(u64::from(limit)) as u32;
    let high_width = if patched { 1 + random.below(u64::from(total)) as u32 } else { 0 };
    let width = total - high_width;
    let mut exceptions = Vec::new();
    if patched {
        let most = if random.below(4) == 0 { len } else { len.min(12) };
        let count = 1 + random.below(most as u64) as usize;
        let mut places: Vec<usize> = (0..len).collect();
        for i in 0..count {
            let other = i + random.below((len - i) as u64) as usize;
            places.swap(i, other);
        }
        places.truncate(count);
        places.sort_unstable();
        exceptions = places.into_iter().map(|at| (at as u8, bits_of(random, high_width))).collect();
    }
    let lows = (0..len).map(|_| bits_of(random, width)).collect();
    Subchunk { mode, width, lows, high_width, exceptions }
}
