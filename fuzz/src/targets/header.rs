//! The reader of header and index: what it takes is consistent, and is written back as it was.

use sleek::container::{Header, Index};

/// Runs the target.
pub fn run(bytes: &[u8]) {
    let mut stream = bytes.to_vec();
    crate::reference::builder::seal(&mut stream);
    let Ok(header) = Header::read(&stream) else {
        assert!(sleek::inspect(&stream).is_err());
        return;
    };
    let front = header.layout.bodies_at();
    let mut again = stream[..front].to_vec();
    header.write(header.section(&stream), &mut again);
    assert!(again == stream[..front], "{header:?}");
    let Ok(index) = Index::new(&header, &stream) else {
        assert!(sleek::inspect(&stream).is_err());
        return;
    };
    let bodies: usize = (0..header.layout.groups).flat_map(|g| index.chunks(g)).map(|c| c.body.bytes().len()).sum();
    assert_eq!((front + bodies) as u64, header.stream_bytes);
    // A chunk has a body of a unit at least, and an entry.
    let (chunk_bytes, unit) = (header.layout.chunk_bytes() as u64, header.layout.unit() as u64);
    assert!(header.layout.raw_bytes * unit < chunk_bytes * header.stream_bytes);
    sleek::inspect(&stream).ok();
}
