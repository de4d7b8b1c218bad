//! Codec zfp, written from docs/reference/codecs/zfp.md alone: one bit after another.

use super::{Container, Geometry, Outcome, beside, container, ensure, masked, number, slice};

/// Bits of a stream, and how many were taken.
struct Bits<'a> {
    bytes: &'a [u8],
    at: u64,
}

impl Bits<'_> {
    fn take(&mut self, count: u32) -> Outcome<u64> {
        let mut value = 0;
        for i in 0..count {
            let byte = self.bytes.get((self.at / 8) as usize).ok_or("the stream ends early")?;
            value |= u64::from(byte >> (self.at % 8) & 1) << i;
            self.at += 1;
        }
        Ok(value)
    }
}

/// The parameters of a stream (§1).
#[derive(Clone, Copy)]
struct Coding {
    kind: u8,
    parameter: i64,
}

impl Coding {
    fn read(bytes: &[u8], float: bool, w: u32) -> Outcome<Coding> {
        let unsigned = i64::from(u16::from_le_bytes([bytes[2], bytes[3]]));
        let parameter = if bytes[0] == 3 { i64::from(unsigned as i16) } else { unsigned };
        let least = if float { if w == 32 { 9 } else { 12 } } else { 1 };
        let legal = match bytes[0] {
            0 => parameter == 0,
            1 => (least..=16658).contains(&parameter),
            2 => (1..=64).contains(&parameter),
            3 => float && (-1074..=1023).contains(&parameter),
            _ => false,
        };
        ensure(legal && bytes[1] == 0, || format!("parameters {bytes:?}"))?;
        Ok(Coding { kind: bytes[0], parameter })
    }
}

/// The places of coefficients (§4), from the page itself.
fn places(d: usize) -> Vec<usize> {
    let page = include_str!("../../docs/reference/codecs/zfp.md");
    let text = match d {
        1 => "0 1 2 3",
        2 => "0 1 4 5 2 8 6 9 3 12 10 7 13 11 14 15",
        _ => page.split(&format!("d = {d}:\n")).nth(1).unwrap().split(['d', '`']).next().unwrap(),
    };
    text.split_whitespace().map(|n| n.parse().unwrap()).collect()
}

/// What all blocks of a stream have in common.
struct Stream {
    container: Container,
    d: usize,
    w: u32,
    places: Vec<usize>,
}

impl Stream {
    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.w)
    }

    fn signed(&self, word: u64) -> i64 {
        (word << (64 - self.w)) as i64 >> (64 - self.w)
    }

    /// §4
    fn planes(&self, bits: &mut Bits, p: i64, mut budget: u64) -> Outcome<Vec<u64>> {
        let size = self.places.len();
        let mut u = vec![0u64; size];
        let mut n = 0;
        for k in (self.w - p.clamp(0, self.w.into()) as u32..self.w).rev() {
            if budget == 0 {
                break;
            }
            let m = (n as u64).min(budget);
            budget -= m;
            for u in &mut u[..m as usize] {
                *u |= bits.take(1)? << k;
            }
            while n < size && budget > 0 {
                budget -= 1;
                if bits.take(1)? == 0 {
                    break;
                }
                while n < size - 1 && budget > 0 {
                    budget -= 1;
                    if bits.take(1)? == 1 {
                        break;
                    }
                    n += 1;
                }
                u[n] |= 1 << k;
                n += 1;
            }
        }
        let m = 0xAAAA_AAAA_AAAA_AAAA & self.mask();
        let mut block = vec![0; size];
        for (u, place) in u.into_iter().zip(&self.places) {
            block[*place] = (u ^ m).wrapping_sub(m) & self.mask();
        }
        Ok(block)
    }

    /// §5: applies `lift` to every four values along each axis.
    fn transform(&self, block: &mut [u64], lift: impl Fn([i64; 4]) -> [i64; 4]) {
        for axis in (0..self.d).rev() {
            let stride = 1usize << (2 * axis);
            for first in (0..block.len()).filter(|i| (i / stride).is_multiple_of(4)) {
                let four = std::array::from_fn(|i| self.signed(block[first + i * stride]));
                for (i, value) in lift(four).into_iter().enumerate() {
                    block[first + i * stride] = value as u64 & self.mask();
                }
            }
        }
    }

    fn inverse(&self, block: &mut [u64]) {
        let wrap = |x: i64| self.signed(x as u64);
        let add = |x: i64, y: i64| wrap(x.wrapping_add(y));
        let twice_less = |x: i64, y: i64| wrap(x.wrapping_mul(2).wrapping_sub(y));
        self.transform(block, |[mut a, mut b, mut c, mut e]| {
            b = add(b, e >> 1);
            e = add(e, (b >> 1).wrapping_neg());
            b = add(b, e);
            e = twice_less(e, b);
            c = add(c, a);
            a = twice_less(a, c);
            b = add(b, c);
            c = twice_less(c, b);
            e = add(e, a);
            a = twice_less(a, e);
            [a, b, c, e]
        });
    }

    fn reversible(&self, bits: &mut Bits) -> Outcome<Vec<u64>> {
        let p = bits.take(if self.w == 32 { 5 } else { 6 })? as i64 + 1;
        let mut block = self.planes(bits, p, u64::MAX)?;
        self.transform(&mut block, |[a, mut b, mut c, mut e]| {
            e = e.wrapping_add(c);
            c = c.wrapping_add(b);
            e = e.wrapping_add(c);
            b = b.wrapping_add(a);
            c = c.wrapping_add(b);
            e = e.wrapping_add(c);
            [a, b, c, e]
        });
        Ok(block)
    }

    /// §6, the last sentence.
    fn scaled(&self, block: &mut [u64], t: i64) {
        let power = |e: i64| if e < -1074 { 0.0 } else { 2f64.powi(e.min(0) as i32) * 2f64.powi(e.max(0) as i32) };
        let factor = power(t - i64::from(self.w) + 2);
        for word in block {
            let q = self.signed(*word);
            *word = match self.w {
                32 => (q as f32 * factor as f32).to_bits().into(),
                _ => (q as f64 * factor).to_bits(),
            };
        }
    }

    fn block(&self, bits: &mut Bits, coding: Coding) -> Outcome<Vec<u64>> {
        let start = bits.at;
        let float = self.container.float.is_some();
        let (exponent_bits, bias) = if self.w == 32 { (8, 127) } else { (11, 1023) };
        let budget = if coding.kind == 1 { coding.parameter as u64 } else { u64::MAX };
        let zeros = || Ok(vec![0; self.places.len()]);
        let block = match (coding.kind, float) {
            (0, false) => self.reversible(bits),
            (_, false) => {
                let p = if coding.kind == 2 { coding.parameter } else { 64 };
                let mut block = self.planes(bits, p, budget)?;
                self.inverse(&mut block);
                Ok(block)
            }
            (0, true) if bits.take(1)? == 0 => zeros(),
            (0, true) if bits.take(1)? == 1 => {
                let mut block = self.reversible(bits)?;
                let top = 1 << (self.w - 1);
                block.iter_mut().filter(|word| **word & top != 0).for_each(|word| *word ^= top - 1);
                Ok(block)
            }
            (0, true) => {
                let t = bits.take(exponent_bits)? as i64 - bias;
                let mut block = self.reversible(bits)?;
                self.scaled(&mut block, t);
                Ok(block)
            }
            _ if bits.take(1)? == 0 => zeros(),
            (kind, true) => {
                let t = bits.take(exponent_bits)? as i64 - bias;
                let (most, lowest) = match kind {
                    1 => (64, -1074),
                    2 => (coding.parameter, -1074),
                    _ => (64, coding.parameter),
                };
                let p = (t - lowest + 2 * self.d as i64 + 2).clamp(0, most);
                let mut block = self.planes(bits, p, budget.saturating_sub(1 + u64::from(exponent_bits)))?;
                self.inverse(&mut block);
                self.scaled(&mut block, t);
                Ok(block)
            }
        };
        if coding.kind == 1 {
            bits.at = start + budget;
        }
        block
    }

    /// The elements of a tile with these lengths, in the order of the array.
    fn tile(&self, coding: Coding, bytes: &[u8], lens: &[u64; 4]) -> Outcome<Vec<u64>> {
        let mut bits = Bits { bytes, at: 0 };
        let mut elements = vec![0; lens.iter().product::<u64>() as usize];
        let blocks = lens.map(|len| len.div_ceil(4));
        for b in 0..blocks.iter().product::<u64>() {
            let (mut rest, mut corner) = (b, [0; 4]);
            for axis in 0..4 {
                corner[axis] = rest % blocks[axis] * 4;
                rest /= blocks[axis];
            }
            for (i, word) in self.block(&mut bits, coding)?.into_iter().enumerate() {
                let at: [u64; 4] = std::array::from_fn(|axis| corner[axis] + (i as u64 >> (2 * axis) & 3));
                if (0..4).all(|axis| at[axis] < lens[axis]) {
                    let place = ((at[3] * lens[2] + at[2]) * lens[1] + at[1]) * lens[0] + at[0];
                    elements[place as usize] = word;
                }
            }
        }
        let words = bits.at.div_ceil(64);
        ensure(8 * words == bytes.len() as u64, || format!("{words} words in {} bytes", bytes.len()))?;
        let is_next = self.container.next;
        Ok(elements.into_iter().map(|e| if is_next { beside(&self.container, e) } else { e }).collect())
    }

    /// The elements of a body of a tile with these lengths, and with these along its axes.
    fn body(&self, general: Coding, kind: u64, body: &[u8], lens: &[u64], along: &[u64; 4]) -> Outcome<Vec<u64>> {
        let (size, float) = (self.container.elem_bytes, self.container.float.is_some());
        let count: u64 = lens.iter().product();
        match kind {
            0 if body.len().is_multiple_of(8) => self.tile(general, body, along),
            0 => self.tile(Coding::read(slice(body, 0, 4)?, float, self.w)?, &body[4..], along),
            1 => (0..count).map(|i| number(body, i * size as u64, size as u64)).collect(),
            2 => Ok(vec![number(body, 0, size as u64)?; count as usize]),
            _ => {
                let little = Container { big_endian: false, ..self.container.clone() };
                let bytes = masked(&little, lens, body, |kind, body| {
                    let words = self.body(general, kind, body, lens, along)?;
                    Ok(words.iter().flat_map(|word| word.to_le_bytes()[..size].to_vec()).collect())
                })?;
                bytes.chunks(size).map(|word| number(word, 0, size as u64)).collect()
            }
        }
    }
}

/// Decodes a stream: the bytes of the array it was made from.
pub fn decode(stream: &[u8]) -> Outcome<Vec<u8>> {
    let container = container(stream)?;
    ensure(container.codec == 3 && container.unit == 4, || format!("codec {}", container.codec))?;
    ensure(matches!(stream[9], 1 | 2 | 7 | 8), || format!("type {}", stream[9]))?;
    ensure(container.section.is_empty(), || "a section".into())?;
    let Geometry::Tiles(sides) = container.geometry.clone() else { return Err("no tiles".into()) };
    let axes: Vec<usize> = (0..sides.len()).rev().filter(|k| sides[*k] > 0).collect();
    let right = (1..=4).contains(&axes.len()) && axes.iter().all(|k| sides[*k] >= 2) && sides.iter().sum::<u32>() <= 12;
    ensure(right, || format!("sides {sides:?}"))?;
    let (dims, size) = (container.dims.clone(), container.elem_bytes);
    let mut data = vec![0; container.data_bytes as usize];
    let mut at = container.bodies_at;
    let s = Stream { d: axes.len(), w: 8 * size as u32, places: places(axes.len()), container };
    let float = s.container.float.is_some();
    let general = Coding::read(&stream[12..16], float, s.w)?;
    for chunk in 0..s.container.chunks {
        let (kind, bytes) = s.container.entry(stream, chunk)?;
        let body = slice(stream, at, bytes)?;
        at += bytes;
        let (mut start, mut lens, mut rest) = (vec![0; dims.len()], vec![0; dims.len()], chunk);
        for k in (0..dims.len()).rev() {
            let (side, tiles) = (1u64 << sides[k], dims[k].div_ceil(1 << sides[k]));
            start[k] = rest % tiles * side;
            lens[k] = side.min(dims[k] - start[k]);
            rest /= tiles;
        }
        let along: [u64; 4] = std::array::from_fn(|axis| axes.get(axis).map_or(1, |k| lens[*k]));
        let words = s.body(general, kind, body, &lens, &along);
        for (i, word) in words.map_err(|e| format!("chunk {chunk}: {e}"))?.into_iter().enumerate() {
            let (mut place, mut i, mut stride) = (0, i as u64, 1);
            for k in (0..dims.len()).rev() {
                place += (start[k] + i % lens[k]) * stride;
                i /= lens[k];
                stride *= dims[k];
            }
            let to = &mut data[place as usize * size..][..size];
            to.copy_from_slice(&word.to_le_bytes()[..size]);
            if s.container.big_endian {
                to.reverse();
            }
        }
    }
    ensure(at == stream.len() as u64, || format!("the bodies end at {at}"))?;
    Ok(data)
}
