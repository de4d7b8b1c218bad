//! PTX as archives have it, with registers and labels told by where they were used last (`kernels/fold.py` says byte by
//! byte how), so that code which is the same for several element types is packed once.

use crate::error::{Result, fail};
use crate::host::memory::reserve;

const CLASSES: [&str; 8] = ["r", "rd", "p", "rs", "f", "fd", "h", "hh"];
/// The first class of registers; the others follow.
const REGISTER: u8 = 128;
const LABEL: u8 = 144;
const AHEAD: u8 = 145;
const BACK: u8 = 146;
const FORGET: u8 = 159;
/// More than the longest register or label has.
const NAME_BYTES: usize = 16;

/// The text, with numbers of its own for registers and labels.
pub fn unfold(folded: &[u8]) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    reserve(&mut text, folded.len() + folded.len() / 2)?;
    let (mut used, mut defined): ([Vec<usize>; CLASSES.len()], usize) = Default::default();
    let mut rest = folded;
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if text.capacity() - text.len() < NAME_BYTES {
            let more = text.len() / 4 + NAME_BYTES;
            reserve(&mut text, more)?;
        }
        let class = usize::from(byte.wrapping_sub(REGISTER));
        let named = match byte {
            0..REGISTER => {
                text.push(byte);
                Some(())
            }
            FORGET => {
                used.iter_mut().for_each(Vec::clear);
                Some(())
            }
            LABEL => {
                name(&mut text, "$L", defined);
                text.push(b':');
                defined += 1;
                Some(())
            }
            AHEAD => number(&mut rest).map(|n| name(&mut text, "$L", defined + n)),
            BACK => number(&mut rest).and_then(|n| defined.checked_sub(n)).map(|label| name(&mut text, "$L", label)),
            _ => match used.get_mut(class).zip(number(&mut rest)) {
                Some((names, n)) => register(names, n)?.map(|r| {
                    text.push(b'%');
                    name(&mut text, CLASSES[class], r);
                }),
                None => None,
            },
        };
        if named.is_none() {
            return fail!(Internal, "folded PTX is damaged at byte {} of {}", folded.len() - rest.len(), folded.len());
        }
    }
    Ok(text)
}

/// A byte, or 255 and two more.
fn number(from: &mut &[u8]) -> Option<usize> {
    let (&first, rest) = from.split_first()?;
    *from = rest;
    if first < 255 {
        return Some(first.into());
    }
    let (long, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(u16::from_le_bytes(*long).into())
}

/// The register that was the `n`-th of its class before this one, or for 0 a new one; it is the last one used now.
fn register(names: &mut Vec<usize>, n: usize) -> Result<Option<usize>> {
    let register = match n {
        0 => {
            if names.len() == names.capacity() {
                let more = names.len() + 256;
                reserve(names, more)?;
            }
            names.len() + 1
        }
        _ => match names.len().checked_sub(n) {
            Some(at) => names.remove(at),
            None => return Ok(None),
        },
    };
    names.push(register);
    Ok(Some(register))
}

/// `kind` and a number of at most ten digits, for which there is room.
fn name(text: &mut Vec<u8>, kind: &str, number: usize) {
    text.extend_from_slice(kind.as_bytes());
    let digits = number.checked_ilog10().unwrap_or(0);
    text.extend((0..=digits).rev().map(|place| b'0' + (number / 10usize.pow(place) % 10) as u8));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_and_labels_have_numbers_in_the_order_in_which_they_come() {
        let folded = [
            b"\x9f\tadd \x80\0, \x80\0, \x80\x02;\n\tsetp \x82\0, \x80\x01, \x81\0;\n\t@\x82\x01 bra \x91\x01;\n"
                .as_slice(),
            b"\x90\n\tbra \x92\x01;\n\x90\n\x9f\tmov \x80\0, \x80\x01;\n\x90\n\tbra \x92\x03;\n",
        ]
        .concat();
        let text = "\tadd %r1, %r2, %r1;\n\tsetp %p1, %r1, %rd1;\n\t@%p1 bra $L1;\n\
                    $L0:\n\tbra $L0;\n$L1:\n\tmov %r1, %r1;\n$L2:\n\tbra $L0;\n";
        assert_eq!(String::from_utf8(unfold(&folded).unwrap()).unwrap(), text);
        let far = [[b"\x80\0".as_slice(); 300].concat(), b"\x80\xff\x2c\x01\x91\xff\x00\x10".to_vec()].concat();
        let text = String::from_utf8(unfold(&far).unwrap()).unwrap();
        assert!(text.starts_with("%r1%r2%r3") && text.ends_with("%r299%r300%r1$L4096"), "{text}");
    }

    #[test]
    fn what_was_not_there_is_an_error() {
        for damaged in [
            &b"a\x80\x01"[..],
            b"\x80\0\x80\x02",
            b"\x81",
            b"\x88\0",
            b"\x92\x01",
            b"\x90\x92\x02",
            b"\x91",
            b"\xff",
            b"\x80\xff\0",
        ] {
            let e = unfold(damaged).unwrap_err().to_string();
            assert!(e.contains("damaged at byte"), "{damaged:?}: {e}");
        }
    }
}
