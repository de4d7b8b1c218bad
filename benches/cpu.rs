//! What a core takes to compress and decompress with profile small: this library beside another build, by turns.
//!
//! `cargo bench --bench cpu -- [--old LIBRARY] [--rounds N] [--bounds 1e-1,1e-3,0] FIELD...`
//! times each bound (a part of the range; 0 is lossless) in nanoseconds a value of processor time, the least of the
//! rounds. `--compress` leaves decompression out. `--looks` times previews at strides 2, 4 and 8 instead, and a
//! question that one chunk of a hundred may answer, as parts of the time of the whole decode. With `--hash` it prints
//! a checksum of each stream instead: so builds and levels (`SLEEK_SIMD`) are compared that are to give the same bytes.
//! A field's name ends like `_48x256x256.f32`.

use std::ffi::CString;
use std::path::Path;

use sleek::{Bound, ChunkRange, DType, Device, Dims, Params, Profile};

/// Processor time of this process.
fn seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every POSIX system, and `t` is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = seconds();
    let done = work();
    (seconds() - start, done)
}

/// The fields of `sleek_params` that are set here, and room for those behind them.
#[repr(C)]
struct CParams {
    struct_size: usize,
    dtype: i32,
    mode: i32,
    codec: i32,
    profile: i32,
    bound: f64,
    range: f64,
    fill_value: f64,
    has_fill_value: i32,
    big_endian: i32,
    device: i32,
    threads: i32,
    dims: *const u64,
    rank: i32,
    others: [u32; 61],
}

type Init = unsafe extern "C" fn(*mut CParams) -> i32;
type Compress = unsafe extern "C" fn(
    *const CParams,
    *const libc::c_void,
    usize,
    *mut libc::c_void,
    usize,
    *mut usize,
    *mut libc::c_void,
) -> i32;
type Decompress =
    unsafe extern "C" fn(*const libc::c_void, usize, *mut libc::c_void, usize, *mut usize, *mut libc::c_void) -> i32;

/// Profile small of another build.
struct Old {
    init: Init,
    compress: Compress,
    decompress: Decompress,
}

impl Old {
    fn open(path: &str) -> Old {
        let path = CString::new(path).unwrap();
        // SAFETY: the caller names a build of this library, whose functions have these types.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            assert!(!library.is_null(), "{path:?} cannot be loaded");
            let of = |name: &std::ffi::CStr| libc::dlsym(library, name.as_ptr());
            Old {
                init: std::mem::transmute::<*mut libc::c_void, Init>(of(c"sleek_params_init")),
                compress: std::mem::transmute::<*mut libc::c_void, Compress>(of(c"sleek_compress")),
                decompress: std::mem::transmute::<*mut libc::c_void, Decompress>(of(c"sleek_decompress")),
            }
        }
    }

    fn decompress(&self, stream: &[u8], to: &mut [u8]) {
        let (mut size, none) = (0, std::ptr::null_mut());
        let (from, out) = (stream.as_ptr().cast(), to.as_mut_ptr().cast());
        // SAFETY: all pointers are to what is ours, of the sizes that are told.
        let status = unsafe { (self.decompress)(from, stream.len(), out, to.len(), &mut size, none) };
        assert_eq!((status, size), (0, to.len()));
    }

    fn compress(&self, field: &Field, bound: f64, to: &mut [u8]) -> usize {
        let mut size = 0;
        // SAFETY: all pointers are to what is ours, of the sizes that are told.
        unsafe {
            let mut params: CParams = std::mem::zeroed();
            (self.init)(&mut params);
            let Field { dims, bytes, .. } = field;
            let code = DType::ALL.iter().position(|dtype| *dtype == field.dtype).unwrap_or(0);
            (params.dtype, params.profile, params.device, params.threads) = (code as i32 + 1, 2, 1, 1);
            (params.mode, params.bound) = if bound > 0.0 { (2, bound) } else { (0, 0.0) };
            (params.dims, params.rank) = (dims.as_ptr(), dims.len() as i32);
            let count = bytes.len() / field.dtype.size();
            let out = to.as_mut_ptr().cast();
            let none = std::ptr::null_mut();
            let status = (self.compress)(&params, bytes.as_ptr().cast(), count, out, to.len(), &mut size, none);
            assert_eq!(status, 0, "{}", field.name);
        }
        size
    }
}

struct Field {
    name: String,
    dtype: DType,
    dims: Vec<u64>,
    bytes: Vec<u8>,
}

impl Field {
    fn read(path: &str) -> Field {
        let name = Path::new(path).file_name().unwrap().to_string_lossy().into_owned();
        let (stem, end) = name.rsplit_once('.').unwrap();
        let dtype = DType::from_name(end).unwrap();
        let bytes = std::fs::read(path).unwrap();
        let lens = stem.rsplit('_').next().unwrap_or_default().split('x');
        let dims: Vec<u64> = lens.map_while(|n| n.parse().ok()).collect();
        let count = (bytes.len() / dtype.size()) as u64;
        let dims = if dims.iter().product::<u64>() == count { dims } else { vec![count] };
        Field { name, dtype, dims, bytes }
    }

    fn params(&self, bound: f64) -> Params {
        let bound = if bound > 0.0 { Bound::noa(bound) } else { Bound::Lossless };
        let dims = Dims::new(&self.dims).unwrap();
        let params = Params::new(self.dtype).with_bound(bound);
        Params { dims, profile: Profile::Small, device: Device::Cpu, threads: 1, ..params }
    }
}

/// The time of previews, and of a question that one chunk of a hundred may answer, as parts of that of the whole
/// decode, by turns.
fn looks(field: &Field, bound: f64, rounds: usize) {
    let stream = sleek::compress(&field.params(bound), &field.bytes).unwrap();
    let known = sleek::chunk_ranges(&stream).unwrap();
    let mut ends: Vec<f64> = known.iter().map(|range| range.most).collect();
    ends.sort_by(f64::total_cmp);
    let above = ends[ends.len().saturating_sub(1 + ends.len().div_ceil(100))];
    let mut back = vec![0; field.bytes.len()];
    let mut least = [f64::INFINITY; 5];
    for _ in 0..rounds {
        for (level, least) in least.iter_mut().enumerate() {
            let (time, _) = timed(|| match level {
                0..4 => _ = sleek::decompress_coarse_into(&stream, level as u32, None, &mut back).unwrap(),
                _ => {
                    let chunks: Vec<u64> = (0..).zip(&known).filter(|(_, r)| r.most > above).map(|(c, _)| c).collect();
                    let n = sleek::decompress_chunks_into(&stream, &chunks, &mut back).unwrap();
                    std::hint::black_box(ChunkRange::of(field.dtype, false, &[], &back[..n]));
                }
            });
            *least = least.min(time);
        }
    }
    let [whole, parts @ ..] = least;
    let [two, four, eight, question] = parts.map(|time| format!("{:.3}", time / whole));
    let (ns, ratio) = (whole * 1e9 * field.dtype.size() as f64, field.bytes.len() as f64 / stream.len() as f64);
    println!(
        "{:40} {bound:6.0e}; whole {:5.2} ns; strides 2 · 4 · 8 {two} · {four} · {eight} × whole; \
         where 1 % of {} chunks may answer {question} × whole; ratio {ratio:.1}",
        field.name,
        ns / field.bytes.len() as f64,
        known.len()
    );
}

fn main() {
    let (mut rounds, mut bounds, mut old, mut hash, mut fields) = (5, vec![1e-1, 1e-3, 0.0], None, false, Vec::new());
    let (mut decodes, mut only_looks) = (true, false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut next = || args.next().unwrap_or_default();
        match arg.as_str() {
            "--old" => old = Some(Old::open(&next())),
            "--rounds" => rounds = next().parse().unwrap(),
            "--bounds" => bounds = next().split(',').map(|b| b.parse().unwrap()).collect(),
            "--hash" => hash = true,
            "--compress" => decodes = false,
            "--looks" => only_looks = true,
            "--bench" => {}
            path => fields.push(Field::read(path)),
        }
    }
    for field in &fields {
        for bound in &bounds {
            if only_looks {
                looks(field, *bound, rounds);
                continue;
            }
            let params = field.params(*bound);
            let count = field.bytes.len() / field.dtype.size();
            if hash {
                let stream = sleek::compress(&params, &field.bytes).unwrap();
                let sum = stream
                    .iter()
                    .fold(0xcbf2_9ce4_8422_2325u64, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
                println!("{} {bound:e} {} {sum:016x}", field.name, stream.len());
                continue;
            }
            let (mut least, mut sizes) = ([f64::INFINITY; 4], [0; 2]);
            let mut room = vec![0; field.bytes.len() + field.bytes.len() / 1000 + 65536];
            let mut back = vec![0; field.bytes.len()];
            let note = |least: &mut f64, time: f64| *least = least.min(time);
            for _ in 0..rounds {
                let (time, size) = timed(|| sleek::compress_into(&params, &field.bytes, &mut room).unwrap());
                note(&mut least[0], time);
                sizes[0] = size;
                if decodes {
                    note(&mut least[2], timed(|| _ = sleek::decompress_into(&room[..size], &mut back).unwrap()).0);
                }
                if let Some(old) = &old {
                    let (time, size) = timed(|| old.compress(field, *bound, &mut room));
                    note(&mut least[1], time);
                    sizes[1] = size;
                    if decodes {
                        note(&mut least[3], timed(|| old.decompress(&room[..size], &mut back)).0);
                    }
                }
            }
            let shown = |name: &str, new: f64, old: f64| {
                let of = |seconds: f64| seconds * 1e9 / count as f64;
                let beside = format!(", old {:6.2} ({:4.2} ×)", of(old), old / new);
                print!("; {name} {:6.2} ns{}", of(new), if old.is_finite() { &beside } else { "" });
            };
            print!("{:40} {bound:6.0e}", field.name);
            shown("compress", least[0], least[1]);
            if decodes {
                shown("decompress", least[2], least[3]);
            }
            let ratio = |size: usize| field.bytes.len() as f64 / size as f64;
            println!(
                "; ratio {:.1}{}",
                ratio(sizes[0]),
                old.as_ref().map_or(String::new(), |_| format!(", old {:.1}", ratio(sizes[1])))
            );
        }
    }
}
