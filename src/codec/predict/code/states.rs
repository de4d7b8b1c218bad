//! The states of the lanes: how they end and what of that stands in a body. And classes of groups, which come first.

use super::tables::{CLASS_SLOTS, CLASS_SYMBOLS, FIRST};
pub use crate::codec::interp::entropy::states::{State, change, check_end, lower};
use crate::codec::interp::reader::take;
use crate::codec::predict::format::*;
use crate::error::{Result, fail};
use crate::primitives::rans::{LANES, STATE_BITS, Source, Words};

impl State {
    /// Bytes of the final states.
    pub fn bytes(&self) -> usize {
        self.pack(&mut Head::default(), &mut [0; STATE_ROOM]).len()
    }

    /// Writes the final states, the shorter way; the head tells which.
    pub fn pack<'a>(&self, head: &mut Head, place: &'a mut [u8; STATE_ROOM]) -> &'a [u8] {
        let lengths = self.lanes.map(|x| if x == 1 { 0 } else { 32 - x.leading_zeros() });
        head.switch = self.switch;
        head.longest = lengths.into_iter().fold(0, u32::max);
        head.masked = false;
        if head.longest == 0 {
            return &[];
        }
        let floor = floor(head.longest);
        let parts = lengths.map(|length| length.saturating_sub(floor));
        let bits = parts.map(|part| bits_of_state(floor, part));
        let mask = (0..LANES).fold(0u32, |mask, l| mask | u32::from(lengths[l] > 0) << l);
        let left_out: u32 = (0..LANES).filter(|l| mask >> l & 1 == 0).map(|l| LENGTH_BITS + bits[l]).sum();
        head.masked = 32 < left_out;
        let mut out = BitWriter { place, at: 0, next: 0, bits: 0 };
        if head.masked {
            out.put(mask, 32);
        }
        let lanes = || (0..LANES).filter(|l| !head.masked || mask >> l & 1 == 1);
        lanes().for_each(|l| out.put(parts[l], LENGTH_BITS));
        lanes().for_each(|l| out.put(self.lanes[l], bits[l]));
        let bytes = out.end();
        &place[..bytes]
    }
}

/// Room for final states, and what is written behind them.
pub const STATE_ROOM: usize = 4 + (LANES * STATE_BITS as usize + LANES * LENGTH_BITS as usize) / 8 + 4;

/// Numbers of bits one behind the other, from the lowest bit of each byte on.
struct BitWriter<'a> {
    place: &'a mut [u8],
    /// Where the next bytes go.
    at: usize,
    next: u64,
    bits: u32,
}

impl BitWriter<'_> {
    /// Puts the lowest `count` ≤ 32 bits.
    fn put(&mut self, number: u32, count: u32) {
        self.next |= (u64::from(number) & ((1 << count) - 1)) << self.bits;
        self.bits += count;
        if self.bits >= 32 {
            self.place[self.at..self.at + 4].copy_from_slice(&(self.next as u32).to_le_bytes());
            self.at += 4;
            self.next >>= 32;
            self.bits -= 32;
        }
    }

    /// Puts the bits that are left; how many bytes there are, a multiple of two.
    fn end(&mut self) -> usize {
        self.place[self.at..self.at + 4].copy_from_slice(&(self.next as u32).to_le_bytes());
        self.at + self.bits.div_ceil(16) as usize * 2
    }
}

/// Encodes the classes of all groups.
pub fn encode_classes(state: &mut State, classes: &[u8], words: &mut Words) {
    state.step(words, 0, |lanes, words| {
        for s in (0..CLASSES_OF_LANE).rev() {
            for g in (s..classes.len()).step_by(CLASSES_OF_LANE).rev() {
                let before = if s == 0 { FIRST } else { usize::from(classes[g - 1]) };
                words.symbol(&mut lanes[g / CLASSES_OF_LANE], &CLASS_SYMBOLS[before][usize::from(classes[g])]);
            }
        }
    });
}

/// Bytes of lengths and states, and those that are read with the last of them.
const READ_ROOM: usize = LANES * (LENGTH_BITS + STATE_BITS) as usize / 8 + 8;

/// The final states of the encoder.
pub fn read_states(head: &Head, rest: &mut &[u8]) -> Result<[u32; LANES]> {
    let mut lanes = [1; LANES];
    if head.longest == 0 {
        return Ok(lanes);
    }
    let mask = if head.masked {
        let bytes = take(rest, 4)?;
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    } else {
        u32::MAX
    };
    let mut room = [0; READ_ROOM];
    let there = rest.len().min(READ_ROOM);
    room[..there].copy_from_slice(&rest[..there]);
    let number = |at: u32, n: u32| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&room[at as usize / 8..][..8]);
        (u64::from_le_bytes(bytes) >> (at % 8)) as u32 & ((1 << n) - 1)
    };
    let floor = floor(head.longest);
    let (mut length, mut at) = (0, LENGTH_BITS * mask.count_ones());
    for (l, state) in lanes.iter_mut().enumerate() {
        if mask >> l & 1 == 1 {
            let above = number(length, LENGTH_BITS);
            let n = bits_of_state(floor, above);
            *state = (u32::from(above > 0) << n | number(at, n)).max(1);
            length += LENGTH_BITS;
            at += n;
        }
    }
    let bytes = at.div_ceil(16) as usize * 2;
    if number(at, bytes as u32 * 8 - at) != 0 {
        return fail!(Corrupt, "bits behind the last state are not zero");
    }
    take(rest, bytes)?;
    Ok(lanes)
}

/// The class of each group.
pub fn read_classes(groups: usize, lanes: &mut [u32; LANES], source: &mut Source) -> [u8; GROUPS] {
    let mut classes = [0; GROUPS];
    for s in 0..CLASSES_OF_LANE {
        for g in (s..groups).step_by(CLASSES_OF_LANE) {
            let before = if s == 0 { FIRST } else { usize::from(classes[g - 1]) };
            let lane = &mut lanes[g / CLASSES_OF_LANE];
            let entry = CLASS_SLOTS[before][Source::slot(*lane)];
            source.pass(lane, entry >> 10 & 1023, entry & 1023);
            classes[g] = (entry >> 20) as u8;
        }
    }
    classes
}
