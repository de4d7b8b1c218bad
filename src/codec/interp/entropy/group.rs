//! A group of codes as what words are made of.

use crate::codec::interp::format::{GROUP, token};
use crate::simd::word::Word;

/// A group taken apart: tokens, raw bits, and how many there are.
pub struct Group {
    pub tokens: [u8; GROUP],
    pub bits: [u64; GROUP],
    pub lens: [u8; GROUP],
    pub longest: u32,
}

impl Group {
    #[inline(always)]
    pub fn of<N: Word>(codes: &[N], shift: u32, direct: bool) -> Group {
        let mut group = Group { tokens: [0; GROUP], bits: [0; GROUP], lens: [0; GROUP], longest: 0 };
        for (i, c) in codes.iter().enumerate() {
            let c = (*c >> shift).to_u64();
            let (token, len) = if direct { (c as u32, 0) } else { token(c) };
            (group.tokens[i], group.lens[i], group.bits[i]) = (token as u8, len as u8, c);
            group.longest = group.longest.max(len);
        }
        group
    }
}
