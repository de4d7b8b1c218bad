//! Masks by their changes, as planes hold them (docs/reference/format.md §5): for each block its first bit and whether
//! it changes, then flags and changes of the blocks that do. Here is what has instructions of its own;
//! `container::missing` has the portable code, and says what is wrong where reading fails.

#[cfg(target_arch = "x86_64")]
pub mod avx512 {
    use std::arch::x86_64::*;

    use crate::exec::{Avx512, Isa};
    use crate::simd::avx512::{load, load_some, store, store_some};
    use crate::simd::given;

    /// How the 8 words of a vector make up blocks.
    #[derive(Clone, Copy)]
    struct Blocks {
        words: u32,
        /// The blocks of a vector.
        count: u32,
        /// The lanes that begin one.
        starts: u8,
        /// The lanes with 1, 2 and 4 others of their block before them.
        behind: [u8; 3],
    }

    impl Blocks {
        /// For masks of `len` words in blocks of so many; `None` if they are no whole vectors.
        fn new(words: usize, len: usize) -> Option<Blocks> {
            let (starts, behind) = match words {
                1 => (0xff, [0, 0, 0]),
                2 => (0x55, [0xaa, 0, 0]),
                4 => (0x11, [0xee, 0xcc, 0]),
                8 => (0x01, [0xfe, 0xfc, 0xf0]),
                _ => return None,
            };
            let blocks = Blocks { words: words as u32, count: 8 / words as u32, starts, behind };
            (len.is_multiple_of(8) && len / words <= 32).then_some(blocks)
        }

        /// The bits of the lanes that begin blocks.
        #[inline]
        #[target_feature(enable = "bmi2")]
        fn of_starts(self, lanes: u8) -> u32 {
            _pext_u32(lanes.into(), self.starts.into())
        }

        /// All lanes of the blocks whose bits are the lowest of `blocks`.
        #[inline]
        #[target_feature(enable = "bmi2")]
        fn lanes(self, blocks: u32) -> u8 {
            (_pdep_u32(blocks, self.starts.into()) * ((1 << self.words) - 1)) as u8
        }

        /// Each bit that begins a block becomes the union of those of the block.
        #[inline]
        fn any(self, lanes: u8) -> u8 {
            let mut any = lanes;
            for (k, behind) in self.behind.into_iter().enumerate() {
                any |= (any & behind) >> (1 << k);
            }
            any
        }
    }

    /// A byte of ones for each bit.
    #[inline]
    #[target_feature(enable = "bmi2")]
    fn bytes(bits: u8) -> u64 {
        _pdep_u64(bits.into(), 0x0101_0101_0101_0101) * 0xff
    }

    /// Writes `mask`, blocks of so many `words`, to the start of `out`; `room` is for as many words. Returns the bytes,
    /// or `None` if this is not for this processor or these blocks.
    pub fn write(isa: Isa, mask: &[u64], words: usize, room: &mut [u64], out: &mut [u8]) -> Option<usize> {
        let blocks = Blocks::new(words, mask.len())?;
        let enough = room.len() >= mask.len() && out.len() >= 8 + 9 * mask.len();
        Avx512::of(isa).filter(|_| enough).map(|p| write_mask(p, mask, blocks, room, out))
    }

    given! { Avx512,
        fn write_mask(_p: Avx512, mask: &[u64], blocks: Blocks, room: &mut [u64], out: &mut [u8]) -> usize {
            assert!(room.len() >= mask.len() && out.len() >= 8 + 9 * mask.len());
            let one = _mm512_set1_epi64(1);
            let (mut first, mut mixed, mut before) = (0, 0, _mm512_setzero_si512());
            let vectors = mask.as_chunks::<8>().0.iter().zip(room.as_chunks_mut::<8>().0);
            for (v, (words, place)) in vectors.enumerate() {
                let words = load(words);
                let last_bits = _mm512_srli_epi64::<63>(_mm512_alignr_epi64::<7>(words, before));
                let last_bits = _mm512_mask_and_epi64(last_bits, blocks.starts, words, one);
                let changes = _mm512_xor_si512(words, _mm512_or_si512(_mm512_slli_epi64::<1>(words), last_bits));
                store(changes, place);
                let shift = blocks.count * v as u32;
                first |= blocks.of_starts(_mm512_test_epi64_mask(words, one)) << shift;
                mixed |= blocks.of_starts(blocks.any(_mm512_test_epi64_mask(changes, changes))) << shift;
                before = words;
            }
            out[..4].copy_from_slice(&first.to_le_bytes());
            out[4..8].copy_from_slice(&mixed.to_le_bytes());
            let mut flags_at = 8;
            let mut at = flags_at + (mixed.count_ones() * blocks.words) as usize;
            for (v, changes) in room[..mask.len()].as_chunks::<8>().0.iter().enumerate() {
                let changes = load(changes);
                let flags = _mm512_test_epi8_mask(changes, changes);
                let lanes = blocks.lanes(_bzhi_u32(mixed >> (blocks.count * v as u32), blocks.count));
                let packed = _mm_cvtsi64_si128(_pext_u64(flags, bytes(lanes)) as i64);
                let (of_flags, of_changes) = (lanes.count_ones() as usize, flags.count_ones() as usize);
                store_some(_mm512_castsi128_si512(packed), &mut out[flags_at..], of_flags);
                store_some(_mm512_maskz_compress_epi8(flags, changes), &mut out[at..], of_changes);
                flags_at += of_flags;
                at += of_changes;
            }
            at
        }
    }

    /// Reads the mask at the start of `bytes`, whose blocks have so many `words`; returns the bytes that it takes, or
    /// `None` if it is not legal, or this is not for this processor or these blocks.
    pub fn read(isa: Isa, bytes: &[u8], words: usize, mask: &mut [u64]) -> Option<usize> {
        let blocks = Blocks::new(words, mask.len())?;
        read_mask(Avx512::of(isa)?, bytes, blocks, mask)
    }

    given! { Avx512,
        fn read_mask(_p: Avx512, plane: &[u8], blocks: Blocks, mask: &mut [u64]) -> Option<usize> {
            let head = u64::from_le_bytes(*plane.first_chunk()?);
            let (first, mixed) = (head as u32, (head >> 32) as u32);
            let beyond = u64::from(first | mixed) >> (mask.len() as u32 / blocks.words);
            let mut flags_at = 8;
            let mut at = flags_at + (mixed.count_ones() * blocks.words) as usize;
            if beyond != 0 || head == 0 || plane.len() < at {
                return None;
            }
            let at_starts = _mm512_maskz_set1_epi64(blocks.starts, 1);
            let mut wrong = 0;
            for (v, place) in mask.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                let shift = blocks.count * v as u32;
                let lanes = blocks.lanes(_bzhi_u32(mixed >> shift, blocks.count));
                let of_flags = lanes.count_ones() as usize;
                let packed = _mm512_castsi512_si128(load_some(&plane[flags_at..], of_flags));
                let flags = _pdep_u64(_mm_cvtsi128_si64(packed) as u64, bytes(lanes));
                let count = flags.count_ones() as usize;
                if plane.len() - at < count {
                    return None;
                }
                let packed = load_some(&plane[at..], count);
                let changes = _mm512_maskz_expand_epi8(flags, packed);
                let changed = blocks.any(_mm512_test_epi64_mask(changes, changes)) & blocks.starts;
                let mixed_starts = lanes & blocks.starts;
                let zeros = _mm512_mask_testn_epi8_mask(flags, changes, changes);
                wrong |= zeros
                    | u64::from(changed ^ mixed_starts)
                    | u64::from(_mm512_test_epi64_mask(changes, at_starts));
                // Each bit becomes the parity of all bits of its word up to it, then turns if the state before is set.
                let mut states = changes;
                states = _mm512_xor_si512(states, _mm512_slli_epi64::<1>(states));
                states = _mm512_xor_si512(states, _mm512_slli_epi64::<2>(states));
                states = _mm512_xor_si512(states, _mm512_slli_epi64::<4>(states));
                states = _mm512_xor_si512(states, _mm512_slli_epi64::<8>(states));
                states = _mm512_xor_si512(states, _mm512_slli_epi64::<16>(states));
                states = _mm512_xor_si512(states, _mm512_slli_epi64::<32>(states));
                let mut ends = _mm512_movepi64_mask(states);
                for (k, behind) in blocks.behind.into_iter().enumerate() {
                    ends ^= (ends << (1 << k)) & behind;
                }
                let before = ((ends << 1) & !blocks.starts) ^ blocks.lanes(_bzhi_u32(first >> shift, blocks.count));
                let states = _mm512_mask_xor_epi64(states, before, states, _mm512_set1_epi64(-1));
                store(states, place);
                flags_at += of_flags;
                at += count;
            }
            (wrong == 0).then_some(at)
        }
    }
}
