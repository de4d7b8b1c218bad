//! Vectors of words that are packed by so many bits each, one behind the other, LSB first (the paper's horizontal
//! layout, SLEEK §III), and what is found and put above these bits.

use super::word::Word;

/// The most parts that are put above words.
pub const MOST: usize = 32;
/// Words that a word of a mask tells.
pub const MASKED: usize = 64;
/// Bytes behind packed ones that a level may touch: written when packing, read when unpacking.
pub const SLACK: usize = 64;

/// The words of one width as a level packs them. What has a body here is the portable code.
pub trait BitVectors<W: Word>: Copy {
    /// Words that are unpacked at once: a multiple of eight.
    const UNPACKED: usize;
    /// Words of up to so many bits are faster to unpack.
    const WITHIN: u32;
    /// Bytes behind packed ones that are touched.
    const TOUCHED: usize = SLACK;

    /// What is put above words: `MOST` at most.
    type Parts: Default;

    /// Unpacks `UNPACKED` words of n bits from byte `at` on; `WITHIN` where n ≤ `Self::WITHIN`.
    ///
    /// # Safety
    /// As many words can be written at `to`; what they take of `packed`, and `TOUCHED` bytes behind, are readable.
    unsafe fn unpack<const WITHIN: bool>(self, packed: &[u8], at: usize, n: u32, to: *mut W);

    /// Packs the low n bits, 1 ≤ n ≤ BITS, of a multiple of 32 words at the start of `out`.
    fn pack(self, words: &[W], n: u32, out: &mut [u8]);

    /// `count` parts of n bits, at the start of `packed`, to be put above the low `width` bits of words.
    fn unpack_parts(self, packed: &[u8], count: usize, n: u32, width: u32, parts: &mut Self::Parts);

    /// Which words have more than `width` bits.
    #[inline(always)]
    fn wider(self, words: &[W; MASKED], width: u32) -> u64 {
        (0..MASKED).fold(0, |set, i| set | u64::from(words[i] >> width != W::ZERO) << i)
    }

    /// What the words of a set have above their low `width` bits, one behind the other, and anything behind the last: a
    /// vector more than there are has room.
    #[inline(always)]
    fn take(self, words: &[W; MASKED], width: u32, set: u64, to: &mut [W]) {
        // A loop, since compilers leave an iterator over the set as functions of their own here.
        let (mut rest, mut count) = (set, 0);
        while rest != 0 {
            to[count] = words[rest.trailing_zeros() as usize] >> width;
            count += 1;
            rest &= rest - 1;
        }
    }

    /// Puts parts from `at` on above the low bits of the words of a set: the inverse of `take`.
    fn put(self, words: &mut [W; MASKED], set: u64, parts: &Self::Parts, at: usize);

    /// The widths of the last of each four of a multiple of 64 words, in whatever order.
    #[inline(always)]
    fn sampled_widths(self, words: &[W], widths: &mut [u8]) {
        for (w, four) in widths.iter_mut().zip(words.as_chunks::<4>().0) {
            *w = four[3].width() as u8;
        }
    }
}

/// For lanes of so many bytes, each of which wants a value of n bits, and blocks of bytes that are shuffled
/// together: the bytes that values begin in and those behind, counted from those of their block's first value.
pub const fn begins<const BYTES: usize>(n: usize, lane_bytes: usize, block: usize) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    let mut at = 0;
    while at < BYTES {
        let first = at / block * block / lane_bytes;
        bytes[at] = (at / lane_bytes * n / 8 - first * n / 8 + at % lane_bytes) as u8;
        at += 1;
    }
    bytes
}

/// For such lanes, in their lowest bytes, the first bits of values in the bytes that they begin in.
#[cfg(target_arch = "x86_64")]
pub const fn first_bits<const BYTES: usize>(n: usize, lane_bytes: usize) -> [u8; BYTES] {
    let mut bits = [0; BYTES];
    let mut at = 0;
    while at < BYTES {
        bits[at] = (at / lane_bytes * n % 8) as u8;
        at += lane_bytes;
    }
    bits
}

/// For each set of eight lanes their numbers, a byte each, one behind the other.
pub static LISTED: [u64; 256] = of_sets(0, false);
/// For each set of eight lanes how many of it come before each of them; `NO_PLACE` for a lane that is not of it.
pub static PLACES: [u64; 256] = of_sets(NO_PLACE, true);
/// No level finds a byte there.
pub const NO_PLACE: u64 = 0xc0;

const fn of_sets(none: u64, places: bool) -> [u64; 256] {
    let mut table = [none * 0x0101_0101_0101_0101; 256];
    let mut set = 0;
    while set < 256 {
        let (mut count, mut lane) = (0, 0);
        while lane < 8 {
            if set >> lane & 1 == 1 {
                let (at, value) = if places { (lane, count) } else { (count, lane) };
                table[set] = table[set] & !(0xff << (8 * at)) | value << (8 * at);
                count += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    table
}

/// Parts in memory, and a vector behind them, with the width of what they are put above.
#[repr(align(64))]
pub struct InMemory<W, const N: usize>(pub [W; N], pub u32);

impl<W: Word, const N: usize> Default for InMemory<W, N> {
    #[inline(always)]
    fn default() -> Self {
        InMemory([W::ZERO; N], 0)
    }
}

impl<W: Word, const N: usize> InMemory<W, N> {
    /// See `BitVectors::unpack_parts`; so many as are unpacked.
    #[inline(always)]
    pub fn unpack<P: BitVectors<W>>(&mut self, p: P, packed: &[u8], count: usize, n: u32, width: u32) {
        unpack(p, packed, n, &mut self.0[..count]);
        self.1 = width;
    }

    /// The same part by part: most often there are few.
    #[inline(always)]
    pub fn unpack_each(&mut self, packed: &[u8], count: usize, n: u32, width: u32) {
        for (i, part) in self.0[..count].iter_mut().enumerate() {
            *part = W::from_u64(bits_at(packed, i * n as usize, n));
        }
        self.1 = width;
    }
}

/// `BitVectors::put` word by word.
#[inline(always)]
pub fn put_each<W: Word, const N: usize>(words: &mut [W; MASKED], set: u64, parts: &InMemory<W, N>, at: usize) {
    let (mut rest, mut at) = (set, at);
    while rest != 0 {
        let word = &mut words[rest.trailing_zeros() as usize];
        *word = *word | parts.0[at] << parts.1;
        at += 1;
        rest &= rest - 1;
    }
}

/// Unpacks a multiple of `P::UNPACKED` words.
#[inline(always)]
pub fn unpack<W: Word, P: BitVectors<W>>(p: P, packed: &[u8], n: u32, words: &mut [W]) {
    debug_assert!(words.len().is_multiple_of(P::UNPACKED));
    assert!(packed.len() >= words.len() * n as usize / 8 + P::TOUCHED);
    let (words, bytes) = (words.chunks_exact_mut(P::UNPACKED), P::UNPACKED / 8 * n as usize);
    // SAFETY: as many words are written, and the bytes of all words and those behind are there.
    unsafe {
        if n <= P::WITHIN {
            for (i, words) in words.enumerate() {
                p.unpack::<true>(packed, bytes * i, n, words.as_mut_ptr());
            }
        } else {
            for (i, words) in words.enumerate() {
                p.unpack::<false>(packed, bytes * i, n, words.as_mut_ptr());
            }
        }
    }
}

/// Bit j says whether byte j of `word` is other than 0.
#[inline(always)]
pub fn nonzero_bytes(word: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let tops = (((word & LOW) + LOW) | word) & !LOW;
    // Each factor brings the top bit of one byte to its place in the top byte.
    (tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Of eight bytes those of a set, one behind the other; zeros behind them.
#[inline(always)]
pub fn listed(bytes: u64, set: u8) -> u64 {
    let of_set = (0..8).filter(|j| set >> j & 1 == 1);
    of_set.zip(0..8).fold(0, |all, (j, at)| all | (bytes >> (8 * j) & 0xff) << (8 * at))
}

/// The inverse; zeros in the other places.
#[inline(always)]
pub fn placed(list: u64, set: u8) -> u64 {
    let of_set = (0..8).filter(|j| set >> j & 1 == 1);
    of_set.zip(0..8).fold(0, |all, (j, at)| all | (list >> (8 * at) & 0xff) << (8 * j))
}

/// Checks that there are `packed` bytes and the slack.
#[inline(always)]
pub fn room(packed: usize, bytes: &[u8]) {
    assert!(bytes.len() >= packed + SLACK);
}

/// `n` ≤ 64 bits from bit `at` on; zeros follow the end.
#[inline(always)]
pub fn bits_at(packed: &[u8], at: usize, n: u32) -> u64 {
    let (byte, bit) = (at / 8, (at % 8) as u32);
    let rest = packed.get(byte..).unwrap_or(&[]);
    let (low, high) = match rest.first_chunk::<9>() {
        Some([window @ .., next]) => (u64::from_le_bytes(*window), *next),
        None => near_end(rest),
    };
    let word = low >> bit | if bit > 0 { u64::from(high) << (64 - bit) } else { 0 };
    word & (u64::MAX >> (64 - n))
}

/// The first eight bytes and the ninth, zeros where there are fewer.
#[cold]
fn near_end(rest: &[u8]) -> (u64, u8) {
    let mut window = [0; 8];
    let len = rest.len().min(8);
    window[..len].copy_from_slice(&rest[..len]);
    (u64::from_le_bytes(window), rest.get(8).copied().unwrap_or(0))
}

/// Writes numbers of any widths one behind the other, LSB first.
pub struct BitWriter<'a> {
    out: &'a mut [u8],
    at: usize,
    word: u64,
    fill: u32,
}

impl<'a> BitWriter<'a> {
    /// Writes from the start of `out`.
    pub fn new(out: &'a mut [u8]) -> Self {
        BitWriter { out, at: 0, word: 0, fill: 0 }
    }

    /// Appends `value` < 2^n, n ≤ 64.
    #[inline(always)]
    pub fn push(&mut self, value: u64, n: u32) {
        self.word |= value << self.fill;
        self.fill += n;
        if self.fill >= 64 {
            self.out[self.at..self.at + 8].copy_from_slice(&self.word.to_le_bytes());
            self.at += 8;
            self.fill -= 64;
            self.word = if self.fill == 0 { 0 } else { value >> (n - self.fill) };
        }
    }

    /// Completes the last byte with zeros; returns the bytes written.
    #[inline(always)]
    pub fn finish(self) -> usize {
        let rest = self.fill.div_ceil(8) as usize;
        self.out[self.at..self.at + rest].copy_from_slice(&self.word.to_le_bytes()[..rest]);
        self.at + rest
    }
}
