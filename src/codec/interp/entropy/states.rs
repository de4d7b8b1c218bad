//! The states of the lanes: how they grow and change, and how the final ones stand in a body.

use crate::codec::interp::format::{LENGTH_BITS, NEVER, bits_of_state, floor};
use crate::codec::shared::reader::take;
use crate::error::{Result, fail};
use crate::primitives::rans::{LANES, LOW, STATE_BITS, TOP, Words};
use crate::simd::bits::{BitWriter, bits_at};

/// How coding ended.
pub struct State {
    /// The states.
    pub lanes: [u32; LANES],
    pub switch: usize,
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

/// Room for final states.
pub const STATE_ROOM: usize = (LANES * STATE_BITS as usize + LANES * LENGTH_BITS as usize) / 8;

/// Writes final states; the bits of the longest one, 0 if all are 1, and the bytes.
pub fn pack(lanes: &[u32; LANES], place: &mut [u8; STATE_ROOM]) -> (u32, usize) {
    let lengths = lanes.map(|x| if x == 1 { 0 } else { 32 - x.leading_zeros() });
    let longest = lengths.into_iter().fold(0, u32::max);
    if longest == 0 {
        return (0, 0);
    }
    let floor = floor(longest);
    let above = lengths.map(|length| length.saturating_sub(floor));
    let mut bits = BitWriter::new(place);
    above.iter().for_each(|above| bits.push((*above).into(), LENGTH_BITS));
    for (x, above) in lanes.iter().zip(above) {
        let n = bits_of_state(floor, above);
        bits.push((*x & ((1 << n) - 1)).into(), n);
    }
    let bytes = bits.finish();
    (longest, bytes.next_multiple_of(2))
}

/// Reads final states of which the longest has so many bits.
pub fn read(longest: u32, rest: &mut &[u8]) -> Result<[u32; LANES]> {
    let mut lanes = [1; LANES];
    if longest == 0 {
        return Ok(lanes);
    }
    let number = |at: u32, n: u32| if n > 0 { bits_at(rest, at as usize, n) as u32 } else { 0 };
    let floor = floor(longest);
    let mut at = LENGTH_BITS * LANES as u32;
    for (l, state) in lanes.iter_mut().enumerate() {
        let above = number(LENGTH_BITS * l as u32, LENGTH_BITS);
        let n = bits_of_state(floor, above);
        *state = (u32::from(above > 0) << n | number(at, n)).max(1);
        at += n;
    }
    let bytes = at.div_ceil(16) * 2;
    if number(at, bytes * 8 - at) != 0 {
        return fail!(Corrupt, "bits behind the last state are not zero");
    }
    take(rest, bytes as usize)?;
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

/// Makes states as small as those are that take no words.
pub fn lower(lanes: &mut [u32; LANES]) -> Result<()> {
    if lanes.iter().any(|x| *x <= LOW) {
        return fail!(Corrupt, "states {lanes:?} are to become smaller by {LOW}");
    }
    lanes.iter_mut().for_each(|x| *x -= LOW);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_back() {
        let mut random = 7u32;
        for round in 0..500u32 {
            let lanes: [u32; LANES] = std::array::from_fn(|_| {
                random = random.wrapping_mul(0x9e37_79b1).rotate_left(13).wrapping_add(1);
                ((random >> 4) >> (random % (1 + round % 28))).max(1)
            });
            let mut place = [0; STATE_ROOM];
            let (longest, bytes) = pack(&lanes, &mut place);
            let rest = &mut &place[..bytes];
            assert_eq!(read(longest, rest).unwrap(), lanes, "{round}");
            assert!(rest.is_empty());
        }
        assert_eq!(pack(&[1; LANES], &mut [0; STATE_ROOM]), (0, 0));
    }
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
