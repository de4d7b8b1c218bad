//! The final states of the lanes, as they stand in a body.

use crate::codec::interp::format::{LENGTH_BITS, bits_of_state, floor};
use crate::codec::predict::rest::take;
use crate::error::{Result, fail};
use crate::primitives::rans::{LANES, STATE_BITS};

/// Room for final states.
pub const STATE_ROOM: usize = (LANES * STATE_BITS as usize + LANES * LENGTH_BITS as usize) / 8 + 8;

/// Writes final states; the bits of the longest one, 0 if all are 1, and the bytes.
pub fn pack(lanes: &[u32; LANES], place: &mut [u8; STATE_ROOM]) -> (u32, usize) {
    let lengths = lanes.map(|x| if x == 1 { 0 } else { 32 - x.leading_zeros() });
    let longest = lengths.into_iter().fold(0, u32::max);
    if longest == 0 {
        return (0, 0);
    }
    let floor = floor(longest);
    let above = lengths.map(|length| length.saturating_sub(floor));
    let (mut at, mut next, mut bits) = (0, 0u64, 0);
    let mut put = |number: u32, count: u32| {
        next |= (u64::from(number) & ((1 << count) - 1)) << bits;
        bits += count;
        place[at..at + 8].copy_from_slice(&next.to_le_bytes());
        let whole = bits / 8;
        (at, next, bits) = (at + whole as usize, next >> (8 * whole), bits % 8);
        at + bits.div_ceil(8) as usize
    };
    above.iter().for_each(|above| _ = put(*above, LENGTH_BITS));
    let mut bytes = 0;
    lanes.iter().zip(above).for_each(|(x, above)| bytes = put(*x, bits_of_state(floor, above)));
    (longest, bytes.next_multiple_of(2))
}

/// Reads final states of which the longest has so many bits.
pub fn read(longest: u32, rest: &mut &[u8]) -> Result<[u32; LANES]> {
    let mut lanes = [1; LANES];
    if longest == 0 {
        return Ok(lanes);
    }
    let mut room = [0; STATE_ROOM + 8];
    let there = rest.len().min(room.len());
    room[..there].copy_from_slice(&rest[..there]);
    let number = |at: u32, n: u32| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&room[at as usize / 8..][..8]);
        (u64::from_le_bytes(bytes) >> (at % 8)) as u32 & ((1 << n) - 1)
    };
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
}
