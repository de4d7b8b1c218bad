//! The decoder, on streams of any kind. tests/streams/fuzz.rs has the reference decoder beside it.

use crate::reference::builder;

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

/// No stream makes the library fail in itself or expands beyond measure, and parts are parts of the whole.
pub fn check(stream: &[u8]) {
    judge(stream, sleek::decompress(stream));
}

/// [`check`] of what has been decompressed already.
pub fn judge(stream: &[u8], ours: sleek::Result<Vec<u8>>) {
    let info = sleek::inspect(stream);
    if let Err(error) = &ours {
        assert_ne!(error.kind, sleek::Kind::Internal, "{error}");
    }
    if let (Ok(ours), Some(codec @ (1 | 4))) = (&ours, stream.get(8)) {
        let most = if *codec == 1 { 900 } else { 16_000 };
        assert!(ours.len() < most * stream.len());
    }
    let (Ok(whole), Ok(info)) = (&ours, &info) else {
        assert!(ours.is_err(), "a stream that decodes cannot be inspected");
        // What nobody can decode as a whole may have a part that can be.
        if let Err(error) = sleek::decompress_coarse_into(stream, 1, None, &mut vec![0; 1 << 16]) {
            assert_ne!(error.kind, sleek::Kind::Internal, "{error}");
        }
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
    super::boxes::compare_coarse(stream, whole, size, lens, 1 + (info.count % 3) as u32);
}
