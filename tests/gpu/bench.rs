//! `gpu bench` and its like: time beside a device-to-device copy.

use super::*;

/// Buffers that a table's rows share.
pub struct Bench {
    pub bytes: usize,
    pub reps: usize,
    pub src: Memory,
    pub dst: Memory,
    pub back: Memory,
    pub workspace: Memory,
    pub outcome: Memory,
}

impl Bench {
    pub fn new(mib: usize, reps: usize) -> Bench {
        let bytes = mib << 20;
        let [workspace, outcome] = [route::WORKSPACE_BYTES, 16].map(Memory::new);
        let (src, dst, back) = (Memory::new(bytes), Memory::new(bytes + bytes / 4096 + 4096), Memory::new(bytes));
        Bench { bytes, reps, src, dst, back, workspace, outcome }
    }

    /// Fills the source with copies of a field.
    pub fn fill(&self, field: &Field) {
        for at in (0..self.bytes).step_by(field.bytes.len()) {
            let n = field.bytes.len().min(self.bytes - at);
            ok(unsafe { sys::cuMemcpyHtoD_v2(self.src.0 + at as u64, field.bytes.as_ptr().cast(), n) });
        }
    }

    pub fn copy(&self) -> f64 {
        time(self.reps, || ok(unsafe { sys::cuMemcpyDtoDAsync_v2(self.back.0, self.src.0, self.bytes, null_mut()) }))
    }

    pub fn compress(&self, p: &Params) -> f64 {
        let (count, room) = (self.bytes / p.dtype.size(), self.bytes + self.bytes / 4096 + 4096);
        let (src, dst, outcome, workspace) = (self.src.at(0), self.dst.at(0), self.outcome.at(0), self.workspace.at(0));
        time(self.reps, || unsafe {
            route::compress_async(p, src, count, dst, room, outcome, workspace, null_mut()).unwrap()
        })
    }

    pub fn decompress(&self, dtype: DType, n: usize) -> f64 {
        let all = (0, (self.bytes / dtype.size()) as u64);
        let (src, dst, outcome, workspace) =
            (self.dst.at(0), self.back.at(0), self.outcome.at(0), self.workspace.at(0));
        time(self.reps, || unsafe {
            route::decompress_async(&Params::new(dtype), src, n, dst, all, outcome, workspace, null_mut()).unwrap()
        })
    }

    /// Measures an array, and prints it if there is a `name`.
    pub fn row(&self, name: Option<&str>, p: &Params) -> Row {
        let before = self.copy();
        // The range costs a pass over the data; programs that know it give it.
        let measured = self.compress(p);
        let range = self.dst.read(40, 8).try_into().map(f64::from_le_bytes).unwrap_or(0.0);
        let bound = p.bound.of_range(Some(range).filter(|r| *r > 0.0));
        let given = Params { bound, ..p.clone() };
        let c = if p.bound.mode() == Mode::Noa { self.compress(&given) } else { measured };
        let (n, status) = result(&self.outcome);
        assert_eq!(status, 0, "{name:?} {p:?}");
        let d = self.decompress(p.dtype, n);
        assert_eq!(result(&self.outcome).1, 0, "{name:?} {p:?}");
        let memcpy = (before + self.copy()) / 2.0;
        let ratio = self.bytes as f64 / n as f64;
        let ceiling = 2.0 / (1.0 + 1.0 / ratio);
        let bound = if p.bound == Bound::Lossless { "lossless".into() } else { format!("{:e}", p.bound.number()) };
        if let Some(name) = name {
            println!(
                "| {name} | {bound} | {} | {ratio:.2} | {:.2} | {:.0} % | {:.2} | {:.2} | {:.0} % |",
                p.profile.name(),
                memcpy / c,
                100.0 * memcpy / c / ceiling,
                memcpy / measured,
                memcpy / d,
                100.0 * memcpy / d / ceiling
            );
        }
        let lossless = p.bound == Bound::Lossless;
        Row { profile: p.profile, dtype: p.dtype, lossless, ratio, compress: memcpy / c, decompress: memcpy / d }
    }

    /// Measures all fields at all bounds.
    pub fn rows(&self, bounds: &[f64], print: bool) -> Vec<Row> {
        let mut rows = Vec::new();
        for field in fields::load() {
            self.fill(&field);
            let name = print.then_some(field.name.as_str());
            rows.extend(settings(&field, bounds).iter().map(|p| self.row(name, p)));
        }
        rows
    }

    /// Rows of a field of each width: without a missing value, and with one that is named but not there. Then one
    /// element in a hundred is missing, every second one, and half of all runs of 200, as land lies in the sea.
    pub fn missing(&self) {
        let mut r = Random(11);
        let value = MissingValue::Number(-9999.0);
        for field in ["navy", "mpas"]
            .into_iter()
            .filter_map(|name| fields::load().into_iter().find(|f| f.name.starts_with(name)))
        {
            let (size, bits) = (field.dtype.size(), value.bits(field.dtype).unwrap().to_le_bytes());
            for (what, run, one_in) in [
                ("no missing value", 1, 0),
                ("one named, none there", 1, u64::MAX),
                ("one in 100 missing", 1, 100),
                ("one in 2 missing", 1, 2),
                ("half of runs of 200 missing", 200, 2),
            ] {
                let mut holey = Field { name: field.name.clone(), bytes: field.bytes.clone(), ..field.clone() };
                for run in holey.bytes.chunks_mut(size * run) {
                    if one_in > 0 && r.next().is_multiple_of(one_in) {
                        run.chunks_exact_mut(size).for_each(|element| element.copy_from_slice(&bits[..size]));
                    }
                }
                self.fill(&holey);
                let missing = MissingValues::of(&[value][..usize::from(one_in > 0)]).unwrap();
                for profile in [Profile::Fast, Profile::Adaptive] {
                    let p = Params { profile, missing, ..Params::new(field.dtype).with_bound(Bound::noa(1e-3)) };
                    self.row(Some(&format!("{}, {what}", field.name)), &p);
                }
            }
        }
    }
}

/// What missing values cost codec sleek.
pub fn gaps(mib: usize, reps: usize) {
    println!("{HEADING}");
    let bench = Bench::new(mib, reps);
    bench.missing();
    println!("\nmemcpy: {:.0} GB/s of {mib} MiB", bench.bytes as f64 / 1e6 / bench.copy());
}

pub const HEADING: &str = "| field | bound | profile | ratio | compress × memcpy | share of 2/(1+1/ratio) | range \
measured too | decompress × memcpy | share |\n|---|---|---|---|---|---|---|---|---|";

pub const BOUNDS: [f64; 5] = [1e-1, 1e-2, 1e-3, 1e-4, 1e-6];

pub fn bench(mib: usize, reps: usize, bounds: &[f64]) {
    println!("{HEADING}");
    let bench = Bench::new(mib, reps);
    let rows = bench.rows(bounds, true);
    let fields = fields::load();
    for field in fields.iter().find(|f| f.name.starts_with("navy")).map(other_types).into_iter().flatten() {
        bench.fill(&field);
        let bounds: &[f64] = if field.dtype.is_float() { &[1e-3] } else { &[] };
        for p in settings(&field, bounds) {
            bench.row(Some(&field.name), &p);
        }
    }
    bench.missing();
    means::heading();
    means::print(mib, &rows);
    println!("\nmemcpy: {:.0} GB/s of {mib} MiB", bench.bytes as f64 / 1e6 / bench.copy());
}

/// Arrays of all float types bit for bit.
pub fn lossless(mib: usize, reps: usize) {
    println!("{HEADING}");
    let bench = Bench::new(mib, reps);
    let mut rows = Vec::new();
    for field in fields::load_types(&[DType::F32, DType::F64, DType::F16, DType::BF16]) {
        bench.fill(&field);
        rows.extend(settings(&field, &[]).iter().map(|p| bench.row(Some(&field.name), p)));
    }
    means::heading();
    means::print(mib, &rows);
    println!("\nmemcpy: {:.0} GB/s of {mib} MiB", bench.bytes as f64 / 1e6 / bench.copy());
}

/// What arrays of several sizes take, means only.
pub fn sizes(reps: usize) {
    means::heading();
    for mib in [128, 256, 512, 1024, 2048] {
        means::print(mib, &Bench::new(mib, reps).rows(&BOUNDS, false));
    }
}

/// A field of 32-bit floats as other types: the same numbers in hundredths as integers.
pub fn other_types(field: &Field) -> Vec<Field> {
    let numbers: Vec<f32> = field.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let as_type = |dtype: DType, f: &dyn Fn(f32) -> u64| Field {
        name: format!("{} as {}", field.name, dtype.name()),
        dtype,
        bytes: numbers.iter().flat_map(|x| f(*x).to_le_bytes()[..dtype.size()].to_vec()).collect(),
        dims: field.dims,
        fill: None,
    };
    vec![
        as_type(DType::F16, &|x| {
            let b = x.to_bits();
            let e = (b >> 23 & 255) as i32 - 112;
            u64::from((if e <= 0 { 0 } else { (e.min(30) as u32) << 10 | b >> 13 & 0x3ff }) | b >> 16 & 0x8000)
        }),
        as_type(DType::BF16, &|x| u64::from(x.to_bits() >> 16)),
        as_type(DType::I32, &|x| (100.0 * x) as i64 as u64),
        as_type(DType::I16, &|x| (100.0 * x) as i64 as u64),
        as_type(DType::U8, &|x| (x + 128.0) as u64),
    ]
}

/// Arrays of one size in one launch, together as large as the arrays of the other table.
pub fn batches(mib: usize, reps: usize) {
    println!(
        "\n| KiB of an array | arrays | profile | ratio | compress × memcpy | decompress × memcpy \
        |\n|---|---|---|---|---|---|"
    );
    let Some(field) = fields::load().into_iter().find(|f| f.name.starts_with("navy")) else { return };
    let bench = Bench::new(mib, reps);
    bench.fill(&field);
    let memcpy = bench.copy();
    for kib in [64usize, 256, 1024, 4096, 16384] {
        for profile in [Profile::Fast, Profile::Adaptive] {
            let base = Params { ..Params::new(DType::F32) };
            let p = Params { profile, ..base.with_bound(Bound::Noa { share: 1e-3, range: Some(100.0) }) };
            let (each, arrays) = (kib << 10, bench.bytes / (kib << 10));
            let room = sleek::compress_bound(&p, each / 4).unwrap().next_multiple_of(16);
            let dst = Memory::new(room * arrays);
            let (results, workspace) = (Memory::new(16 * arrays), Memory::new(route::batch::workspace_bytes(arrays)));
            let item = |i: usize, from: &Memory, to: &Memory, (a, b): (usize, usize)| {
                Item::new(from.at(i * a), to.at(i * b), each as u64 / 4, room as u64)
            };
            let there: Vec<Item> = (0..arrays).map(|i| item(i, &bench.src, &dst, (each, room))).collect();
            let again: Vec<Item> = (0..arrays).map(|i| item(i, &dst, &bench.back, (room, each))).collect();
            let (r, w) = (results.at(0), workspace.at(0));
            let c = time(reps, || unsafe { route::batch::compress_async(&p, &there, r, w, null_mut()) }.unwrap());
            let n: u64 =
                results.read(0, 16 * arrays).chunks(16).map(|b| u64::from_le_bytes(b[..8].try_into().unwrap())).sum();
            let d = time(reps, || unsafe { route::batch::decompress_async(&p, &again, r, w, null_mut()) }.unwrap());
            assert!(results.read(0, 16 * arrays).chunks(16).all(|b| b[8..12] == [0; 4]));
            let ratio = bench.bytes as f64 / n as f64;
            println!("| {kib} | {arrays} | {} | {ratio:.2} | {:.2} | {:.2} |", profile.name(), memcpy / c, memcpy / d);
        }
    }
}
