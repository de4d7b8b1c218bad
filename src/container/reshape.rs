//! Dimensions for a stream that was made without.

use super::constants::GROUP_BYTES;
use super::header::u64_at;
use super::{Header, Layout};
use crate::error::Result;

/// Writes header and index of a stream of `layout` to `head`, which has as many bytes. `line` are those of the stream
/// of `stream_bytes` that the same elements give as a line, chunk by chunk with the same bodies; in the new stream
/// these begin `layout.header_bytes` − its header's bytes later.
pub fn with_dims(line: &[u8], stream_bytes: u64, layout: &Layout, head: &mut [u8]) -> Result<()> {
    let header = Header::peek(line, stream_bytes)?;
    let (from, to) = (header.layout.header_bytes, layout.header_bytes);
    let shift = (to - from) as u64;
    head[to..].copy_from_slice(&line[from..header.layout.bodies_at()]);
    for record in head[to..layout.entries_at()].chunks_exact_mut(GROUP_BYTES) {
        let at = u64_at(record, 0) + shift;
        record[..8].copy_from_slice(&at.to_le_bytes());
    }
    Header { layout: *layout, stream_bytes: header.stream_bytes + shift, ..header }.write(&[], head);
    Ok(())
}
