//! Datasets of filter 32013, H5Z-ZFP, are read without its plugin: a chunk is a zfp stream, whose header is in the
//! dataset's `cd_values`.

use std::ffi::{c_int, c_uint, c_void};

use sleek::api::hdf5_filter::abi::{CLASS_VERSION, FLAG_REVERSE, FilterClass};
use zfp_rs::{ZfpBitStream, ZfpConfig, ZfpFieldMut, ZfpHeaderMask, ZfpScalar, ZfpScalarType};

/// The filter's number.
pub const ID: c_int = 32013;

/// For `H5Zregister`, where HDF5 finds no plugin.
pub static CLASS: FilterClass = FilterClass {
    version: CLASS_VERSION,
    id: ID,
    encoder_present: 0,
    decoder_present: 1,
    name: c"H5Z-ZFP, to read".as_ptr(),
    can_apply: None,
    set_local: None,
    filter: Some(filter),
};

/// `H5Z_func_t`.
///
/// # Safety
/// As HDF5 calls it: `*buf` holds `nbytes` bytes and comes from `malloc`.
unsafe extern "C" fn filter(
    flags: c_uint,
    cd_nelmts: usize,
    cd_values: *const c_uint,
    nbytes: usize,
    buf_size: *mut usize,
    buf: *mut *mut c_void,
) -> usize {
    if flags & FLAG_REVERSE == 0 || cd_nelmts == 0 || nbytes == 0 {
        return 0;
    }
    // SAFETY: HDF5 gives `cd_nelmts` words at `cd_values` and `nbytes` bytes at `*buf`.
    let (words, chunk) = unsafe {
        (std::slice::from_raw_parts(cd_values, cd_nelmts), std::slice::from_raw_parts((*buf).cast::<u8>(), nbytes))
    };
    let Ok(Some(bytes)) = std::panic::catch_unwind(|| decode(words, chunk)) else { return 0 };
    // SAFETY: at least a byte, so that null is failure.
    let out = unsafe { libc::malloc(bytes.len().max(1)) };
    if out.is_null() {
        return 0;
    }
    // SAFETY: `out` has room for the bytes; HDF5 hands its buffer over, to be freed, and takes ours in its place.
    unsafe {
        out.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        libc::free(*buf);
        *buf = out;
        *buf_size = bytes.len();
    }
    bytes.len()
}

/// The elements of a chunk; behind the first word, which is of versions, the `cd_values` are the header.
fn decode(words: &[u32], chunk: &[u8]) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = words.get(1..)?.iter().flat_map(|word| word.to_le_bytes()).collect();
    let header = ZfpBitStream::from_bytes(&bytes).ok()?.read_header(ZfpHeaderMask::FULL).ok()?;
    // Behind the end it would read zeros.
    if header.bits_read > 8 * bytes.len() {
        return None;
    }
    let (metadata, config) = (header.metadata?, header.config?);
    let stream = ZfpBitStream::from_bytes(chunk).ok()?;
    match metadata.scalar_type {
        ZfpScalarType::I32 => elements(stream, &config, metadata.dims, i32::to_le_bytes),
        ZfpScalarType::I64 => elements(stream, &config, metadata.dims, i64::to_le_bytes),
        ZfpScalarType::F32 => elements(stream, &config, metadata.dims, f32::to_le_bytes),
        ZfpScalarType::F64 => elements(stream, &config, metadata.dims, f64::to_le_bytes),
    }
}

fn elements<T: ZfpScalar + Clone + Default, const N: usize>(
    mut stream: ZfpBitStream,
    config: &ZfpConfig,
    dims: [usize; 4],
    bytes: impl Fn(T) -> [u8; N],
) -> Option<Vec<u8>> {
    let lens = dims.iter().filter(|len| **len > 0);
    let count = lens.clone().try_fold(1usize, |n, len| n.checked_mul(*len))?;
    // A block takes a bit at least, so the stream tells how many elements there can be.
    if count > (8 * stream.capacity()).checked_shl(2 * lens.count() as u32)? {
        return None;
    }
    let mut values = Vec::new();
    values.try_reserve_exact(count).ok()?;
    values.resize(count, T::default());
    stream.decompress(config, &mut ZfpFieldMut::new(&mut values, dims).ok()?).ok()?;
    Some(values.into_iter().flat_map(bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use zfp_rs::{ZfpField, ZfpFieldMetadata};

    /// `cd_values` as H5Z-ZFP writes them.
    fn words(metadata: &ZfpFieldMetadata, config: &ZfpConfig) -> Vec<u32> {
        let mut header = ZfpBitStream::new(64).unwrap();
        header.write_header(config, metadata, ZfpHeaderMask::FULL).unwrap();
        header.flush();
        let words = header.as_bytes().chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        std::iter::once(0x1010_5113).chain(words).collect()
    }

    #[test]
    fn chunks_are_restored_or_refused() {
        let values: Vec<f32> = (0..35 * 20).map(|i| (i as f32 * 0.1).sin()).collect();
        let field = ZfpField::new(&values, [35, 20]).unwrap();
        for config in [ZfpConfig::reversible(), ZfpConfig::fixed_accuracy(1e-3), ZfpConfig::fixed_precision(20)] {
            let words_of = |dims| words(&ZfpFieldMetadata { dims, ..field.metadata() }, &config);
            let right = words_of([35, 20, 0, 0]);
            let mut stream = ZfpBitStream::new(1 << 16).unwrap();
            stream.compress(&config, &field).unwrap();
            let chunk = stream.as_bytes();
            let back = decode(&right, chunk).unwrap();
            let restored = back.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
            assert!(back.len() == 4 * values.len() && values.iter().zip(restored).all(|(v, r)| (v - r).abs() <= 1e-3));
            assert!(decode(&right, &chunk[..chunk.len() / 2]).is_none() && decode(&right[..2], chunk).is_none());
            // Dimensions of which the stream cannot have a block for each.
            assert!(decode(&words_of([1 << 20, 1 << 20, 0, 0]), chunk).is_none());
        }
    }
}
