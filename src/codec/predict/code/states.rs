//! The states of the lanes: how they end, what stands of that in a body, and the classes of groups, which they have first.

use super::tables::{CLASS_SLOTS, CLASS_SYMBOLS, FIRST};
use crate::codec::predict::format::*;
use crate::codec::predict::rest::take;
use crate::error::{Result, fail};
use crate::primitives::rans::{LANES, LOW, STATE_BITS, Source, TOP, Words};

/// How coding ended.
pub struct State {
    /// The states.
    pub lanes: [u32; LANES],
    pub switch: usize,
}

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

impl State {
    /// States begin at 1.
    pub fn new() -> State {
        State { lanes: [1; LANES], switch: NEVER }
    }

    /// Encodes by `encode` what stands from group `before` − 1 on, or the classes.
    pub fn step(&mut self, words: &mut Words, before: usize, encode: impl Fn(&mut [u32; LANES], &mut Words)) {
        let start = (self.lanes, words.at);
        loop {
            encode(&mut self.lanes, words);
            if self.holds(start, words, before) {
                return;
            }
        }
    }

    /// Whether states are still those that take no words.
    #[inline(always)]
    pub fn is_small(&self) -> bool {
        self.switch == NEVER
    }

    /// Whether a step may stay as it was encoded. If it needs larger states and they are not yet, they are as large as
    /// they must be, and as they were before it, on return.
    #[inline(always)]
    pub fn holds(&mut self, (lanes, at): ([u32; LANES], usize), words: &mut Words, before: usize) -> bool {
        if self.switch != NEVER || words.at == at && self.lanes.iter().all(|x| *x < TOP - LOW) {
            return true;
        }
        words.at = at;
        self.switch = before;
        self.lanes = lanes.map(|x| x + LOW);
        false
    }
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

/// Checks the states at the end, and the words behind the last one that was taken, if there are as many.
pub fn check_end(lanes: &[u32; LANES], rest: Option<&[[u8; 2]]>) -> Result<()> {
    if *lanes != [1; LANES] {
        return fail!(Corrupt, "states of a tile end as {lanes:?}, not as 1");
    }
    match rest {
        Some([] | [[0, 0]]) => Ok(()),
        Some(rest) => fail!(Corrupt, "{} words behind a tile's last", rest.len()),
        None => fail!(Corrupt, "a tile's words end early"),
    }
}

/// From here on states take no words.
pub fn change(lanes: &mut [u32; LANES], source: &mut Source) -> Result<()> {
    lower(lanes)?;
    source.threshold = 0;
    Ok(())
}

/// Makes states as small as those are that take no words.
pub fn lower(lanes: &mut [u32; LANES]) -> Result<()> {
    if lanes.iter().any(|x| *x <= LOW) {
        return fail!(Corrupt, "states {lanes:?} are to become smaller by {LOW}");
    }
    lanes.iter_mut().for_each(|x| *x -= LOW);
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A state so large that it could not be made larger any more has to be so already, though no word was needed.
    #[test]
    fn states_change_before_it_is_too_late() {
        let mut buffer = [0; 8];
        for (reached, switch) in [(TOP - LOW - 1, NEVER), (TOP - LOW, 7), (TOP - 1, 7)] {
            let mut words = Words::new(&mut buffer);
            let mut state = State { lanes: [1; LANES], switch: NEVER };
            state.step(&mut words, 7, |lanes, _| lanes[3] = reached);
            assert_eq!(state.switch, switch, "{reached}");
            assert_eq!(state.lanes[0], if switch == NEVER { 1 } else { 1 + LOW });
        }
    }
}
