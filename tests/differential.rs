//! The library's decoder against the reference decoder, on streams that our encoder would never write.

mod reference;
mod vectors;

use reference::builder::{Body, Stream, random_packed};
use vectors::Random;

/// Bits and exponent bits of the float types with few enough values to try them all.
const HALVES: [(u32, u32); 2] = [(16, 5), (16, 8)];

#[test]
fn the_exponent_map_is_a_bijection() {
    for (bits, exponent) in HALVES {
        for word in 0..1u64 << bits {
            assert_eq!(reference::unmap(reference::map(word, bits, exponent), bits, exponent), word);
            assert_eq!(reference::map(reference::unmap(word, bits, exponent), bits, exponent), word);
        }
    }
}

#[test]
fn the_reference_decoder_reads_every_legal_chunk() {
    let mut random = Random(1);
    for dtype in 1..=12u8 {
        let (size, float) = reference::dtype(dtype).unwrap();
        for _ in 0..20 {
            let bits = size as u32 * 8;
            let mut stream = Stream::lossless(dtype, 16384 / size as u64);
            stream.bodies.push(Body::Packed(random_packed(&mut random, bits, float.is_some(), true, bits).body()));
            assert_eq!(reference::decode(&stream.bytes()).unwrap().len(), 16384);
        }
    }
}
