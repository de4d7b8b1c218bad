//! A small stream cannot make a reader allocate much: its index must account for every chunk with bytes that are there.
//! In a process of its own, whose address space it limits.

use std::ffi::c_void;

use crate::{common, reference, vectors};
use reference::builder::{Body, Stream, seal};
use sleek::api::hdf5_filter::abi::{FilterClass, H5Z_FLAG_REVERSE};
use sleek::{Bound, DType, Dims, Kind, Mode, Params, Profile};

/// More than the test needs, and less than what its bombs claim.
const ADDRESS_SPACE: u64 = 2 << 30;
/// Chunks of 4 GiB.
const MANY: usize = 1 << 18;

/// A sealed stream whose header claims `MANY` chunks; `entry` stands for each of them in the index, and no body
/// follows.
fn claims(entry: u16) -> Vec<u8> {
    let index = 64 + 16 * (MANY / 64) + 2 * MANY;
    let mut stream = Stream::lossless(DType::F32 as u8, (MANY * 4096) as u64).bytes();
    stream.resize(index, 0);
    stream[24..32].copy_from_slice(&(index as u64).to_le_bytes());
    for group in 0..MANY / 64 {
        stream[64 + 16 * group..][..8].copy_from_slice(&(index as u64).to_le_bytes());
    }
    stream[64 + 16 * (MANY / 64)..].chunks_exact_mut(2).for_each(|e| e.copy_from_slice(&entry.to_le_bytes()));
    seal(&mut stream);
    stream
}

/// A legal stream of `chunks` constant chunks: what expands the most.
fn constants(chunks: usize) -> Vec<u8> {
    let mut stream = Stream::lossless(DType::F32 as u8, (chunks * 4096) as u64);
    stream.bodies = vec![Body::Constant(1.5f32.to_le_bytes().to_vec()); chunks];
    stream.bytes()
}

/// Streams of every codec whose headers claim what is not there, each with the checksums that go with it: dimensions of
/// `MANY` and more chunks, over no index and over one whose entries are all the `entry`; extensions and sections that
/// are longer than the stream.
fn extended_claims(entry: u8) -> Vec<Vec<u8>> {
    let put = |stream: &mut [u8], at: usize, bytes: &[u8]| stream[at..at + bytes.len()].copy_from_slice(bytes);
    let mut bombs = vec![];
    for codec in sleek::codec::REGISTRY {
        let small = Params { codec: codec.id(), dims: Dims::new(&[2, 3]).unwrap(), ..Params::new(DType::F32) };
        let small = sleek::compress(&small, &[0; 24]).unwrap();
        assert_eq!((small[11] & 8, small[71]), (8, 2), "an extension with two dimensions");
        for lens in [[1 << 10, 1 << 20], [1 << 30, 1 << 20], [1u64 << 30, 1 << 29]] {
            let mut stream = small.clone();
            put(&mut stream, 16, &(lens[0] * lens[1]).to_le_bytes());
            put(&mut stream, 80, &lens[0].to_le_bytes());
            put(&mut stream, 88, &lens[1].to_le_bytes());
            seal(&mut stream);
            bombs.push(stream.clone());
            // An index of all the chunks, as far as it is of a size to be sent.
            let of = reference::container(&stream).unwrap();
            if of.bodies_at > 64 << 20 {
                continue;
            }
            stream.resize(of.entries_at as usize, 0);
            stream.resize((of.entries_at + of.entry_bytes * of.chunks) as usize, entry);
            stream.resize(of.bodies_at as usize, 0);
            put(&mut stream, 24, &of.bodies_at.to_le_bytes());
            for group in 0..of.groups {
                put(&mut stream, (of.header_bytes + 16 * group) as usize, &of.bodies_at.to_le_bytes());
            }
            seal(&mut stream);
            bombs.push(stream);
        }
        for (at, length) in [(64, 1u32 << 20), (64, u32::MAX), (64, !15), (76, u32::MAX), (76, 1 << 20)] {
            let mut stream = small.clone();
            put(&mut stream, at, &length.to_le_bytes());
            seal(&mut stream);
            bombs.push(stream);
        }
    }
    bombs
}

/// A legal stream of codec interp with tiles of these sides, each with the same body.
fn tiles(dtype: DType, lens: [u64; 2], sides: [u8; 2], kind: u32, body: &[u8]) -> Vec<u8> {
    let chunks: u64 = lens.iter().zip(sides).map(|(len, side)| len.div_ceil(1 << side)).product();
    let (groups, entry) = (chunks.div_ceil(64), (kind << 30) + body.len() as u32 / 4);
    let mut stream = vec![0x89, 0x53, 0x4C, 0x45, 0x45, 0x4B, 1, 0, 5, dtype as u8, 1, 8, 0, 0, 4, 0];
    stream.extend((lens[0] * lens[1]).to_le_bytes());
    stream.resize(64, 0);
    stream.extend(48u32.to_le_bytes());
    stream.extend([1, 1, 0, 2]);
    stream.resize(80, 0);
    lens.iter().for_each(|len| stream.extend(len.to_le_bytes()));
    stream.extend(sides);
    let bodies_at = (112 + 16 * groups + 4 * chunks).next_multiple_of(16);
    stream.resize(112, 0);
    for group in 0..groups {
        stream.extend((bodies_at + 64 * group * body.len() as u64).to_le_bytes());
        stream.extend([0; 8]);
    }
    (0..chunks).for_each(|_| stream.extend(entry.to_le_bytes()));
    stream.resize(bodies_at as usize, 0);
    (0..chunks).for_each(|_| stream.extend(body));
    let len = stream.len() as u64;
    stream[24..32].copy_from_slice(&len.to_le_bytes());
    seal(&mut stream);
    stream
}

/// The error text that the filter leaves when it is given `stream` to read; `None` if it restores it.
fn filter(stream: &[u8]) -> Option<String> {
    unsafe extern "C" {
        fn sleek_last_error() -> *const std::ffi::c_char;
    }
    // SAFETY: called as HDF5 calls it, with a block from malloc that is as long as the stream.
    unsafe {
        let class = &*sleek::hdf5::class().cast::<FilterClass>();
        let mut buffer: *mut c_void = libc::malloc(stream.len());
        let mut size = stream.len();
        std::ptr::copy_nonoverlapping(stream.as_ptr(), buffer.cast(), stream.len());
        let made = class.filter.unwrap()(H5Z_FLAG_REVERSE, 0, std::ptr::null(), size, &mut size, &mut buffer);
        libc::free(buffer);
        let text = std::ffi::CStr::from_ptr(sleek_last_error()).to_str().unwrap().to_owned();
        (made == 0).then_some(text)
    }
}

/// What a stream takes to be decoded or refused, in nanoseconds of this thread, the least of some tries.
fn time_of(stream: &[u8], tries: u32) -> u64 {
    let now = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: a live local.
        assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    };
    let once = |_| {
        let start = now();
        _ = std::hint::black_box(sleek::decompress(stream));
        now() - start
    };
    (0..tries).map(once).min().unwrap()
}

/// Of tiles with tables of their own nobody can make one that lasts long: whatever is changed in table, states and
/// words, with the checksums made right, it takes no longer than eight times the slowest of the encoder's, and so does
/// its refusal.
fn nobody_waits_long_for_a_tile() {
    let (mut usual, mut with_tables) = (0, vec![]);
    for (k, generator) in vectors::GENERATORS.iter().enumerate() {
        for dtype in DType::ALL {
            let mode = if dtype.is_float() && k % 2 == 0 { Mode::Abs } else { Mode::Lossless };
            let mut params =
                Params { profile: Profile::Small, ..Params::new(dtype).with_bound(Bound::new(mode, 1e-3).unwrap()) };
            params.dims = Dims::new(&[128, 128]).unwrap();
            let stream = sleek::compress(&params, &vectors::bytes(generator, dtype, 3, 1 << 14, false)).unwrap();
            let of = reference::container(&stream).unwrap();
            assert_eq!(of.chunks, 1, "one tile");
            let (entry, body) = (of.entries_at as usize, of.bodies_at as usize);
            usual = usual.max(time_of(&stream, 3));
            // A packed tile, whose head says that it has a table (docs/reference/codecs/interp.md, 3).
            if stream[entry + 3] >> 6 == 0 && stream[body] & 0x80 != 0 {
                with_tables.push((stream, body));
            }
        }
    }
    assert!(with_tables.len() >= 100, "{} tiles with tables", with_tables.len());
    let mut random = vectors::Random(17);
    for (right, body) in with_tables {
        for _ in 0..200 {
            let mut stream = right.clone();
            // Head, table and states lie in the first bytes.
            let places = (stream.len() - body).min(if random.below(4) == 0 { usize::MAX } else { 160 }) as u64;
            for _ in 0..1 + random.below(4) {
                let at = body + random.below(places) as usize;
                stream[at] = if random.below(2) == 0 { random.next() as u8 } else { [0, 1, 127, 131, 255][at % 5] };
            }
            seal(&mut stream);
            let allowed = 8 * usual;
            let took = time_of(&stream, 1);
            assert!(took <= allowed || time_of(&stream, 5) <= allowed, "{took} ns, {usual} for the encoder's slowest");
        }
    }
}

#[test]
fn what_a_header_claims_is_not_allocated() {
    if std::env::var_os("SLEEK_TEST_ALONE").is_none() {
        let mut alone = vectors::levels::program(std::env::current_exe().unwrap());
        alone.args(["--exact", "bombs::what_a_header_claims_is_not_allocated"]).env("SLEEK_TEST_ALONE", "1");
        assert!(common::run(&mut alone).contains("1 passed"));
        return;
    }
    nobody_waits_long_for_a_tile();
    let limit = libc::rlimit { rlim_cur: ADDRESS_SPACE, rlim_max: ADDRESS_SPACE };
    // SAFETY: a plain call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);

    // Entries of no body, of constants, of full packed bodies: none of them is there, so none is allocated for.
    for entry in [0, 2 << 14 | 1, 1024, 1 << 14 | 1024, 0xffff] {
        let stream = claims(entry);
        let error = sleek::decompress(&stream).unwrap_err();
        assert_eq!(error.kind, Kind::Corrupt, "entry {entry:#x}: {error}");
        let text = filter(&stream).expect("the filter took a bomb");
        assert!(text.starts_with("corrupt stream: "), "entry {entry:#x}: {text}");
    }

    for stream in [0, 1, 0x80, 0xc1, 0xff].into_iter().flat_map(extended_claims) {
        let error = sleek::decompress(&stream).unwrap_err();
        assert!(matches!(error.kind, Kind::Corrupt | Kind::Truncated), "{error}");
        assert!(sleek::inspect(&stream).is_err());
        assert!(sleek::decompress_box_into(&stream, &[0, 0], &[1, 1], &mut [0; 4]).is_err());
        let text = filter(&stream).expect("the filter took a bomb");
        assert!(text.starts_with("corrupt stream: ") || text.starts_with("truncated stream: "), "{text}");
    }

    // The most that a legal stream expands.
    let stream = constants(1000);
    let array = sleek::decompress(&stream).unwrap();
    assert!(array.chunks_exact(4).all(|v| v == 1.5f32.to_le_bytes()));
    let expansion = array.len() / stream.len();
    assert!((800..900).contains(&expansion), "{expansion}");
    assert_eq!(filter(&stream), None);

    // Tiles are larger: the most that they expand, constant and packed. Nobody waits long for the same number of tiles
    // that have but one element in all their places.
    let constant = tiles(DType::F64, [128 * 20, 128 * 20], [7, 7], 2, &1.5f64.to_le_bytes());
    // Bins of the step 4, all of them the base 0, and no state or word: symbol 0 of state 1 leaves 1.
    let packed = tiles(DType::F64, [128 * 20, 128 * 20], [7, 7], 0, &[0x20, 0xfc, 3, 0]);
    for (stream, value) in [(&constant, 1.5f64), (&packed, 0.0)] {
        let array = sleek::decompress(stream).unwrap();
        assert!(array.chunks_exact(8).all(|v| v == value.to_le_bytes()));
        let expansion = array.len() / stream.len();
        assert!((10_000..16_000).contains(&expansion), "{expansion}");
        assert_eq!(reference::decode(stream).unwrap().len(), array.len());
        assert_eq!(filter(stream), None);
    }
    let thin = tiles(DType::F64, [400, 1], [0, 14], 0, &[0x20, 0xfc, 3, 0]);
    assert!(sleek::decompress(&thin).unwrap() == [0; 3200] && reference::decode(&thin).unwrap() == [0; 3200]);

    // A hundred bytes and some that ask for a terabyte: one tile, and the dimensions of 2^37 elements.
    let small = tiles(DType::F64, [1, 1], [7, 7], 2, &1.5f64.to_le_bytes());
    for lens in [[1u64 << 20, 1 << 17], [1 << 37, 1], [1, 1 << 37]] {
        let mut stream = small.clone();
        stream[16..24].copy_from_slice(&(1u64 << 37).to_le_bytes());
        stream[80..88].copy_from_slice(&lens[0].to_le_bytes());
        stream[88..96].copy_from_slice(&lens[1].to_le_bytes());
        seal(&mut stream);
        let error = sleek::decompress(&stream).unwrap_err();
        assert!(stream.len() < 200 && matches!(error.kind, Kind::Truncated | Kind::Corrupt), "{error}");
        assert!(sleek::inspect(&stream).is_err() && filter(&stream).is_some());
    }

    // An array of 4 GiB that is really there does not fit: an error, no abort.
    let stream = constants(MANY);
    assert_eq!(sleek::decompress(&stream).unwrap_err().kind, Kind::OutOfMemory);
    let text = filter(&stream).expect("4 GiB within 2 GiB");
    assert!(text.starts_with("out of memory: "), "{text}");
    assert_eq!(sleek::inspect(&stream).unwrap().raw_bytes, 4 << 30);
}
