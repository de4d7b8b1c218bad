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

/// Ours and the reference decoder take or refuse `stream` alike, and parts are parts of the whole. Of streams of codecs
/// that the reference decoder does not know it judges header and index alone.
pub fn check(stream: &[u8]) {
    let info = sleek::inspect(stream);
    let ours = sleek::decompress(stream);
    if let Err(error) = &ours {
        assert_ne!(error.kind, sleek::Kind::Internal, "{error}");
    }
    if let Some(codec @ (1 | 2)) = stream.get(8) {
        match (&ours, reference::decode(stream)) {
            (Ok(ours), Ok(theirs)) => assert!(*ours == theirs, "restored differently"),
            (Err(_), Err(_)) => return,
            (ours, theirs) => panic!("ours: {:?}, the reference: {:?}", ours.as_ref().err(), theirs.as_ref().err()),
        }
        // A chunk, of 2^14 or 2^17 bytes, takes an entry and a unit at least.
        let most = if *codec == 1 { 900 } else { 1 << 14 };
        assert!(ours.as_ref().is_ok_and(|whole| whole.len() < most * stream.len()));
    } else if ours.is_ok() {
        reference::container(stream).unwrap();
    }
    let (Ok(whole), Ok(info)) = (&ours, &info) else {
        assert!(ours.is_err(), "a stream that decodes cannot be inspected");
        return;
    };
    let size = info.dtype.size();
    let first = info.count / 3;
    let count = (info.count - first).min(5000) as usize;
    let mut part = vec![0xA5; count * size];
    sleek::decompress_range_into(stream, first, count, &mut part).unwrap();
    assert!(part == whole[first as usize * size..][..part.len()]);
    let lens = info.dims.lens();
    let start: Vec<u64> = lens.iter().map(|len| len / 3).collect();
    let part: Vec<u64> = lens.iter().zip(&start).map(|(len, start)| (len - start).min(5)).collect();
    super::boxes::compare(stream, whole, size, lens, &start, &part);
}
