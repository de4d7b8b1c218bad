//! Copying past the caches: for results that are larger than any cache the processor need not read what it overwrites.

/// Results from this size on are written past the caches.
pub const MIN_BYTES: usize = 16 << 20;

/// Copies `src` to `dst` of the same length without leaving `dst` in the caches. Call [`fence`] before others read it.
pub fn copy(src: &[u8], dst: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::*;
        let head = dst.as_ptr().align_offset(16).min(dst.len());
        let (first, dst) = dst.split_at_mut(head);
        let (src_first, src) = src.split_at(head);
        first.copy_from_slice(src_first);
        let (vectors, last) = dst.as_chunks_mut::<16>();
        let (sources, src_last) = src.as_chunks::<16>();
        for (to, from) in vectors.iter_mut().zip(sources) {
            // SAFETY: SSE2 is part of x86-64; 16 bytes each, and `to` is aligned since `head` bytes were cut off.
            unsafe { _mm_stream_si128(to.as_mut_ptr().cast(), _mm_loadu_si128(from.as_ptr().cast())) };
        }
        last.copy_from_slice(src_last);
    }
    #[cfg(not(target_arch = "x86_64"))]
    dst.copy_from_slice(src);
}

/// Asks the processor to fetch `bytes` while it does something else.
#[inline(always)]
pub fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(64) {
        use std::arch::x86_64::*;
        // SAFETY: SSE is part of x86-64, and a prefetch accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// Makes this thread's copies visible to others in the order that they expect.
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn copies_every_length_and_alignment() {
        let src: Vec<u8> = (0..200).collect();
        for offset in 0..17 {
            for len in 0..80 {
                let mut dst = [0xaau8; 120];
                super::copy(&src[3..3 + len], &mut dst[offset..offset + len]);
                super::fence();
                assert_eq!(dst[offset..offset + len], src[3..3 + len]);
                assert!(dst[..offset].iter().chain(&dst[offset + len..]).all(|b| *b == 0xaa));
            }
        }
    }
}
