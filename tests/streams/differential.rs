//! The library's decoder against the reference decoder, on streams that our encoder would never write: every legal
//! feature of the format in every combination, and streams that break the rules with checksums that do not give them
//! away.

use crate::{reference, vectors};
use reference::agreed;
use reference::builder::{Body, Packed, Stream, Subchunk, random_packed, seal};
use sleek::DType;
use vectors::Random;

fn dtype_of(random: &mut Random) -> DType {
    DType::ALL[random.below(12) as usize]
}

/// The least and the largest `step_j`, of floats.
fn step_range(dtype: DType) -> Option<(i16, i16)> {
    match dtype {
        DType::F32 | DType::BF16 => Some((-126, 100)),
        DType::F64 => Some((-1022, 960)),
        DType::F16 => Some((-24, 5)),
        _ => None,
    }
}

/// A stream of one or two random legal packed chunks.
fn random_stream(random: &mut Random, dtype: DType) -> Stream {
    let (size, steps) = (dtype.size(), step_range(dtype));
    let mut stream = Stream::lossless(dtype as u8, 1 + random.below(2 * 16384 / size as u64));
    stream.flags = random.below(8) as u8;
    stream.mode = random.below(4) as u8;
    if let Some((low, high)) = steps.filter(|_| random.below(2) == 0) {
        let j = i64::from(low) + random.below((high - low + 1) as u64) as i64;
        stream.step_j = if random.below(4) == 0 { [low, high][random.below(2) as usize] } else { j as i16 };
        stream.step_w = 4 + random.below(4) as u8;
    }
    let exact = stream.step_w == 0;
    for _ in 0..(stream.count * size as u64).div_ceil(16384) {
        // A chunk of the widest codes does not fit the index; the next one may.
        let body = loop {
            let apart = !exact && random.below(3) == 0;
            let by_bits = exact || apart;
            let mut packed =
                random_packed(random, 8 * size as u32, steps.is_some() && by_bits, by_bits, 8 * size as u32);
            packed.exact = apart;
            let body = packed.body();
            if body.len() <= 16384 {
                break body;
            }
        };
        stream.bodies.push(Body::Packed(body));
    }
    stream
}

#[test]
fn random_legal_streams_decode_alike() {
    let mut random = Random(2026);
    for round in 0..1200 {
        let dtype = dtype_of(&mut random);
        let stream = random_stream(&mut random, dtype);
        let what = format!("round {round}, {dtype:?}, step {} * 2^{}", stream.step_w, stream.step_j);
        let restored = agreed(&stream.bytes(), &what).unwrap_or_else(|| panic!("{what}: both refuse a legal stream"));
        assert_eq!(restored.len() as u64, stream.count * dtype.size() as u64);
    }
}

/// Legal features that our encoder makes no use of, one by one.
#[test]
fn features_our_encoder_does_not_use() {
    let sub = |mode, width, lows: Vec<u64>| Subchunk { mode, width, lows, high_width: 0, exceptions: Vec::new() };
    let mut packed = Packed::flat(16, 0xFF00);
    packed.base_width = 16;
    packed.bases = (0..32).map(|s| s * 2047).collect();
    packed.shift = 3;
    packed.special = 1;
    // Every element an exception, high parts of zero among them, over payloads of no bits and of some.
    for (s, width) in [(0, 0), (1, 5), (31, 15)] {
        packed.subchunks[s] = Some(Subchunk {
            high_width: 16 - width,
            exceptions: (0..=255).map(|at| (at, u64::from(at) & ((1 << (16 - width)) - 1))).collect(),
            ..sub(s as u8 % 4, width, (0..256).map(|i| i & ((1 << width) - 1)).collect())
        });
    }
    // Neighbours of every mode, and widths that our encoder would call needlessly large.
    for mode in 0..4 {
        packed.subchunks[4 + usize::from(mode)] = Some(sub(mode, 1 + u32::from(mode) * 5, vec![1; 256]));
    }
    for dtype in [DType::F16, DType::BF16, DType::I16, DType::U16] {
        for count in [1, 255, 256, 257, 8191, 8192] {
            let mut stream = Stream::lossless(dtype as u8, count);
            stream.bodies.push(Body::Packed(packed.body()));
            agreed(&stream.bytes(), &format!("{dtype:?}")).unwrap();
        }
    }
    // All kinds of chunks in one quantized stream; a raw one keeps what a quantizer would not.
    let mut stream = Stream::lossless(DType::F32 as u8, 3 * 4096 + 1);
    (stream.step_j, stream.step_w, stream.mode) = (-9, 5, 1);
    let mut flat = Packed::flat(32, 7);
    flat.special = 1;
    flat.subchunks[3] = Some(sub(3, 2, vec![1; 128]));
    stream.bodies.push(Body::Packed(flat.body()));
    stream.bodies.push(Body::Raw((0..16384u32).map(|i| ((i * 37) >> 3) as u8).collect()));
    stream.bodies.push(Body::Constant(0x8000_0000u32.to_le_bytes().to_vec()));
    stream.bodies.push(Body::Raw(0x7fc0_1234u32.to_le_bytes().to_vec()));
    let restored = agreed(&stream.bytes(), "kinds").unwrap();
    assert_eq!(restored[2 * 16384..][..4], 0x8000_0000u32.to_le_bytes());
    assert_eq!(restored[3 * 16384..], 0x7fc0_1234u32.to_le_bytes());
    let constant_of_one_more_byte = Body::Constant(vec![1, 2, 3, 4, 5]);
    *stream.bodies.last_mut().unwrap() = constant_of_one_more_byte;
    assert_eq!(agreed(&stream.bytes(), "a constant body with something behind the element"), None);
}

/// A word of the page broken at a time; both decoders must see it, and not through the checksum.
#[test]
fn broken_rules_are_refused() {
    let sub = |mode, width, lows: Vec<u64>| Subchunk { mode, width, lows, high_width: 0, exceptions: Vec::new() };
    let patched = |exceptions: Vec<(u8, u64)>, width, high_width| Subchunk {
        high_width,
        exceptions,
        ..sub(1, width, vec![1; 128])
    };
    let valid = || {
        let mut packed = Packed::flat(32, 1000);
        packed.base_width = 3;
        packed.bases = vec![5; 32];
        packed.subchunks[2] = Some(sub(0, 4, (0..128).map(|i| i % 16).collect()));
        packed.subchunks[9] = Some(patched(vec![(3, 1), (100, 2), (127, 3)], 3, 3));
        packed
    };
    let stream_of = |packed: &Packed| {
        let mut stream = Stream::lossless(DType::F32 as u8, 4096);
        stream.bodies.push(Body::Packed(packed.body()));
        stream
    };
    assert!(agreed(&stream_of(&valid()).bytes(), "the valid stream").is_some());

    type Change = (&'static str, fn(&mut Packed));
    let changes: [Change; 5] = [
        ("exact without bins", |p| p.exact = true),
        ("special 3", |p| p.special = 3),
        ("base_width 33", |p| p.base_width = 33),
        ("shift 32", |p| p.shift = 32),
        ("width 33", |p| p.subchunks[2].as_mut().unwrap().width = 33),
    ];
    for (what, change) in changes {
        let mut packed = valid();
        change(&mut packed);
        assert_eq!(agreed(&stream_of(&packed).bytes(), what), None, "{what} was accepted");
    }
    // The exponent map and the countdown where they have no place.
    let places = [("quantized", DType::F32, 4, 0), ("shifted", DType::F32, 0, 1), ("of integers", DType::I32, 0, 0)];
    for (special, (what, dtype, step_w, shift)) in [0, 2].into_iter().flat_map(|s| places.map(|place| (s, place))) {
        let mut packed = Packed::flat(32, 0);
        (packed.shift, packed.special) = (shift, special);
        packed.subchunks[0] = Some(sub(3, 4, vec![1; 128]));
        let mut stream = Stream { dtype: dtype as u8, step_w, ..stream_of(&packed) };
        assert_eq!(agreed(&stream.bytes(), what), None, "special {special} {what} was accepted");
        packed.subchunks[0] = Some(sub(1, 4, vec![1; 128]));
        if step_w == 0 {
            stream.bodies = vec![Body::Packed(packed.body())];
            assert!(agreed(&stream.bytes(), what).is_some());
        }
    }
    // A shift in a quantized stream; patches where nothing is active; patches of bytes.
    let mut packed = Packed::flat(32, 0);
    packed.shift = 1;
    assert_eq!(agreed(&Stream { step_w: 4, ..stream_of(&packed) }.bytes(), "shifted bins"), None);
    let mut body = valid().body();
    body[4] |= 1;
    assert_eq!(agreed(&Stream { bodies: vec![Body::Packed(body)], ..stream_of(&packed) }.bytes(), "idle patch"), None);
    let mut bytes = Packed::flat(8, 0);
    bytes.subchunks[0] = Some(Subchunk { lows: vec![1; 512], ..patched(vec![(3, 1)], 3, 1) });
    let stream = Stream { dtype: DType::U8 as u8, count: 16384, ..stream_of(&bytes) };
    assert_eq!(agreed(&stream.bytes(), "patched bytes"), None);
    let wide = Packed::flat(16, 0x1_0000);
    let stream = Stream { dtype: DType::U16 as u8, count: 8192, ..stream_of(&wide) };
    assert_eq!(agreed(&stream.bytes(), "base_ref of 17 bits"), None);
    // Too much room: a unit more of payload, of tail, of a raw body.
    let mut body = valid().body();
    body.extend([0; 16]);
    assert_eq!(agreed(&Stream { bodies: vec![Body::Packed(body)], ..stream_of(&packed) }.bytes(), "long tail"), None);
    let raw = Body::Raw(vec![7; 16384 + 16]);
    assert_eq!(agreed(&Stream { bodies: vec![raw], ..stream_of(&packed) }.bytes(), "long raw body"), None);
    let constant = Body::Constant(vec![7; 17]);
    assert_eq!(agreed(&Stream { bodies: vec![constant], ..stream_of(&packed) }.bytes(), "long constant"), None);
    let large = Body::Packed(vec![0; 16384 + 16]);
    assert_eq!(agreed(&Stream { bodies: vec![large], ..stream_of(&packed) }.bytes(), "packed above raw"), None);
}

/// A subchunk's exceptions as the tail has them.
#[derive(Clone)]
struct Exceptions {
    high_width: u8,
    flags: u32,
    masks: Vec<u8>,
    highs: Vec<u8>,
}

impl Exceptions {
    fn new(high_width: u8, flags: u32, masks: &[u8], highs: &[u8]) -> Exceptions {
        Exceptions { high_width, flags, masks: masks.to_vec(), highs: highs.to_vec() }
    }

    /// Three of three bits, in the first eight and in the last one: elements 3 and 5 have 1 and 2, the last element has
    /// 3.
    fn of_three(len: usize) -> Exceptions {
        Exceptions::new(3, 1 | 1 << (len / 8 - 1), &[0x28, 0x80], &[0xD1, 0])
    }

    /// Every element one, of three bits.
    fn of_all(len: usize) -> Exceptions {
        Exceptions::new(3, u32::MAX >> (32 - len / 8), &vec![0xFF; len / 8], &vec![0xA7; len * 3 / 8])
    }
}

/// The body of a chunk whose subchunks are all patched, byte by byte as the page has it: offsets from 100, whose low
/// three bits are set.
fn spelled_out(dtype: DType, exceptions: &[Exceptions]) -> Vec<u8> {
    let len = 512 / dtype.size();
    let payload = vec![0xFF; 32 * len * 3 / 8];
    let mut body = vec![0xFF; 8];
    body.extend((payload.len() as u16 / 16).to_le_bytes());
    body.extend([0, 0, 100, 0, 0, 0]);
    body.extend(payload);
    if dtype.size() == 8 {
        body.extend([0; 4]);
    }
    body.extend([3; 32]);
    body.extend(exceptions.iter().map(|e| e.high_width));
    body.extend(exceptions.iter().flat_map(|e| e.flags.to_le_bytes().into_iter().take(len / 64)));
    body.extend(exceptions.iter().flat_map(|e| &e.masks));
    body.extend(exceptions.iter().flat_map(|e| &e.highs));
    body.resize(body.len().next_multiple_of(16), 0);
    body
}

/// One of each size of elements that can have exceptions.
const PATCHABLE: [DType; 3] = [DType::F64, DType::I32, DType::BF16];

/// Each fault is the only one: a decoder that does not look for it takes the stream.
#[test]
fn broken_exceptions_are_refused() {
    for dtype in PATCHABLE {
        let (size, len) = (dtype.size(), 512 / dtype.size());
        let stream_of = |exceptions: &[Exceptions]| {
            let mut stream = Stream::lossless(dtype as u8, 32 * len as u64);
            stream.bodies.push(Body::Packed(spelled_out(dtype, exceptions)));
            stream.bytes()
        };
        let valid = Exceptions::of_three(len);
        let restored = agreed(&stream_of(&vec![valid.clone(); 32]), "three exceptions").unwrap();
        for (i, element) in restored.chunks(size).enumerate() {
            let high =
                [(3, 1), (5, 2), (len - 1, 3)].iter().find(|(at, _)| *at == i % len).map_or(0, |(_, high)| *high);
            assert_eq!(element[0], 107 + 8 * high, "{dtype:?}, element {i}");
            assert!(element[1..].iter().all(|&byte| byte == 0), "{dtype:?}, element {i}");
        }

        let all = Exceptions::of_all(len);
        let (both, last) = (valid.flags, valid.flags & !1);
        let mut gap = all.clone();
        gap.masks[len / 16] = 0;
        gap.highs.truncate((len - 8) * 3 / 8);
        let mut cases = vec![
            ("high parts of zero".to_owned(), Exceptions { highs: vec![0, 0], ..valid.clone() }, true),
            ("the last element".into(), Exceptions::new(3, last, &[0x80], &[7]), true),
            ("a bit behind high parts".into(), Exceptions { highs: vec![0xD1, 2], ..valid.clone() }, false),
            ("an eight, no unused bits".into(), Exceptions::new(3, last, &[0xFF], &[0xFF; 3]), true),
            ("all elements".into(), all, true),
            ("no flags".into(), Exceptions::new(3, 0, &[], &[]), false),
            ("a mask of zero alone".into(), Exceptions::new(3, last, &[0], &[]), false),
            ("a mask of zero before another".into(), Exceptions::new(3, both, &[0, 0x80], &[7]), false),
            ("a mask of zero behind another".into(), Exceptions::new(3, both, &[0x28, 0], &[0x3F]), false),
            ("a mask of zero among all".into(), gap, false),
        ];
        for (high_width, bit) in (1..8).flat_map(|high_width| (0..8).map(move |bit| (high_width, bit))) {
            let case = Exceptions::new(high_width, last, &[0x80], &[1 << bit]);
            cases.push((format!("bit {bit} of a high part of {high_width}"), case, bit < high_width));
        }
        for high_width in 0..=255 {
            let highs = vec![0; (3 * usize::from(high_width)).div_ceil(8)];
            let is_legal = (1..=8 * size as u8 - 3).contains(&high_width);
            let case = Exceptions { high_width, highs, ..valid.clone() };
            cases.push((format!("high parts of {high_width} bits"), case, is_legal));
        }
        for (what, case, is_legal) in cases {
            for s in [0, 1, 15, 16, 31] {
                let mut exceptions = vec![valid.clone(); 32];
                exceptions[s] = case.clone();
                let what = format!("{dtype:?}, subchunk {s}: {what}");
                assert_eq!(agreed(&stream_of(&exceptions), &what).is_some(), is_legal, "{what}");
            }
        }
    }
}

/// A tail that ends anywhere, with what is missing right behind it: in the body of the next chunk, where it is not to
/// be read.
#[test]
fn exceptions_that_are_cut_off_are_refused() {
    for dtype in PATCHABLE {
        let len = 512 / dtype.size();
        let body = spelled_out(dtype, &vec![Exceptions::of_all(len); 32]);
        let cut_at = |body: &[u8], at: usize| {
            let mut rest = body[at..].to_vec();
            rest.resize(16384, 0);
            let mut stream = Stream::lossless(dtype as u8, 2 * 32 * len as u64);
            stream.bodies = vec![Body::Packed(body[..at].to_vec()), Body::Raw(rest)];
            agreed(&stream.bytes(), &format!("{dtype:?}, {at} of {} bytes", body.len()))
        };
        assert!(cut_at(&body, body.len()).is_some());
        for at in (16..body.len()).step_by(16) {
            assert_eq!(cut_at(&body, at), None, "{dtype:?}: {at} of {} bytes were enough", body.len());
        }
        // No high parts, of any width; the bytes of some are multiples of 2^16 together.
        for high_width in 0..=255 {
            let body =
                spelled_out(dtype, &vec![Exceptions { high_width, highs: vec![], ..Exceptions::of_all(len) }; 32]);
            assert_eq!(cut_at(&body, body.len()), None, "{dtype:?}: no high parts of {high_width} bits");
        }
    }
}

#[test]
fn broken_headers_are_refused() {
    let mut packed = Packed::flat(32, 1);
    packed.subchunks[0] =
        Some(Subchunk { mode: 0, width: 1, lows: vec![1; 128], high_width: 0, exceptions: Vec::new() });
    let mut stream = Stream::lossless(DType::F32 as u8, 4000);
    stream.bodies.push(Body::Packed(packed.body()));
    let valid = stream.bytes();
    for at in (0..64).filter(|at| !(56..64).contains(at)) {
        for value in (0..=255u8).filter(|value| *value < 20 || value % 5 == 0 || *value > 250) {
            let mut changed = valid.clone();
            changed[at] = value;
            seal(&mut changed);
            agreed(&changed, &format!("header byte {at} set to {value}"));
        }
    }
    for dtype in DType::ALL {
        for step_w in 0..=8 {
            // The least and the largest of every type, of plain steps and of those with a multiplier, and others.
            let edges = [-1022, -960, -126, -100, -24, 0, 5, 100, 960].into_iter().flat_map(|j| j - 1..=j + 1);
            for step_j in edges.chain((-1100..1100).step_by(61)) {
                let stream =
                    Stream { dtype: dtype as u8, count: 0, bodies: Vec::new(), step_w, step_j, ..stream.clone() };
                agreed(&stream.bytes(), &format!("{dtype:?} {step_w} * 2^{step_j}"));
            }
        }
    }
}

/// Legal streams with a few bytes of a body, the index or the header changed, and the checksums made right again.
#[test]
fn mutated_streams_are_judged_alike() {
    let mut random = Random(77);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..2500 {
        let dtype = dtype_of(&mut random);
        let stream = random_stream(&mut random, dtype).bytes();
        for _ in 0..3 {
            let mut changed = stream.clone();
            for _ in 0..1 + random.below(3) {
                // The places that rule over others: the header, the first chunk's header, and the end of a body.
                let at = match random.below(8) {
                    0 => random.below(64),
                    1 => random.below(112.min(changed.len() as u64)),
                    2..=4 => 96 + random.below(16),
                    5 | 6 => changed.len() as u64 - 1 - random.below(200.min(changed.len() as u64)),
                    _ => random.below(changed.len() as u64),
                } as usize;
                let at = at.min(changed.len() - 1);
                changed[at] = match random.below(3) {
                    0 => changed[at] ^ 1 << random.below(8),
                    1 => 0,
                    _ => random.next() as u8,
                };
            }
            seal(&mut changed);
            match agreed(&changed, &format!("round {round}, {dtype:?}")) {
                Some(_) => accepted += 1,
                None => refused += 1,
            }
        }
    }
    // Both outcomes must be common, or the test says little.
    assert!(accepted > 500 && refused > 500, "{accepted} accepted, {refused} refused");
}

#[test]
fn every_simd_level_decodes_alike() {
    vectors::levels::at_lower_levels(&[
        "differential::random_legal_streams",
        "differential::features_our_encoder",
        "differential::exceptions",
    ]);
}
