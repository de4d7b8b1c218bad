//! The decoder beside the reference decoder.

use crate::reference::{self, builder};

/// Bytes of any kind, as they are.
pub fn decode(bytes: &[u8]) {
    check(bytes);
}

/// The checksums made right first, so that what they would hide is reached.
pub fn sealed(bytes: &[u8]) {
    let mut stream = bytes.to_vec();
    builder::seal(&mut stream);
    check(&stream);
}

/// Ours and the reference decoder take or refuse `stream` alike, and parts are parts of the whole.
pub fn check(stream: &[u8]) {
    let info = sleek::inspect(stream);
    let ours = sleek::decompress(stream);
    if let Err(error) = &ours {
        assert_ne!(error.kind, sleek::Kind::Internal, "{error}");
    }
    let theirs = reference::decode(stream);
    match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => assert!(ours == theirs, "restored differently"),
        (Err(_), Err(_)) => return,
        (ours, theirs) => panic!("ours: {:?}, the reference: {:?}", ours.as_ref().err(), theirs.as_ref().err()),
    }
    let (whole, info) = (ours.unwrap(), info.expect("a stream that decodes can be inspected"));
    assert!(whole.len() < 900 * stream.len());
    let size = info.dtype.size();
    let first = info.count / 3;
    let count = (info.count - first).min(5000) as usize;
    let mut part = vec![0xA5; count * size];
    sleek::decompress_range_into(stream, first, count, &mut part).unwrap();
    assert!(part == whole[first as usize * size..][..part.len()]);
}
