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
    judge(stream, sleek::decompress(stream));
}

/// [`check`] of what has been decompressed already.
pub fn judge(stream: &[u8], ours: sleek::Result<Vec<u8>>) {
    let info = sleek::inspect(stream);
    if let Err(error) = &ours {
        assert_ne!(error.kind, sleek::Kind::Internal, "{error}");
    }
    if stream.get(8).is_some_and(|codec| reference::knows(*codec)) {
        match (&ours, reference::decode(stream)) {
            (Ok(ours), Ok(theirs)) => assert!(*ours == theirs, "restored differently"),
            (Err(_), Err(_)) => return,
            (ours, theirs) => panic!("ours: {:?}, the reference: {:?}", ours.as_ref().err(), theirs.as_ref().err()),
        }
        let most = if stream[8] == 1 { 900 } else { 16_000 };
        assert!(ours.as_ref().is_ok_and(|whole| whole.len() < most * stream.len()));
    } else if let Ok(ours) = &ours {
        let container = reference::container(stream).unwrap();
        if container.codec == 3 && container.missing.is_empty() && ours.len() <= 20 << 10 {
            assert_eq!(reference::zfp::decode(stream).unwrap().len(), ours.len());
        }
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
