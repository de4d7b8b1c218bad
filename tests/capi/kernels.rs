//! The committed files that are made from others, such as `kernels/common/constants.h` from the format's constants; and
//! the compiled kernels, if `make kernels` built them.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use sleek::bound::step_range;
use sleek::codec::interp;
use sleek::codec::sleek::constants::*;
use sleek::codec::sleek::format::{Special, SubMode};
use sleek::codec::zfp::format::{BLOCK_LOG2, CODEC_ZFP, MAX_AXES, TILE_LOG2};
use sleek::container::constants::*;
use sleek::container::{EntryForm, GRID_AXES, Kind as ChunkKind, MAX_RANK};
use sleek::missing::MAX_MISSING;
use sleek::primitives::quantize::mantissa_and_bias;
use sleek::runtime::cuda::launch::*;
use sleek::{DType, Kind, Mode};

fn kernels() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("kernels")
}

/// `kernels/common/constants.h` as the constants of the crate make it.
fn constants_h() -> String {
    let magic = MAGIC.iter().rev().fold(0u64, |m, b| m << 8 | u64::from(*b));
    let numbers: [(&str, u64); 52] = [
        ("VERSION", VERSION.into()),
        ("HEADER_BYTES", HEADER_BYTES as u64),
        ("CHUNK_BYTES", CHUNK_BYTES as u64),
        ("SUBCHUNK_BYTES", SUBCHUNK_BYTES as u64),
        ("SUBCHUNKS", SUBCHUNKS as u64),
        ("GROUP_CHUNKS", GROUP_CHUNKS as u64),
        ("GROUP_BYTES", GROUP_BYTES as u64),
        ("ENTRY_BYTES", ENTRY_BYTES as u64),
        ("ALIGN", ALIGN as u64),
        ("CHUNK_HEADER_BYTES", CHUNK_HEADER_BYTES as u64),
        ("ENTRY_SIZE_MASK", ENTRY_UNITS_MASK.into()),
        ("ENTRY_KIND_SHIFT", ENTRY_KIND_SHIFT.into()),
        ("ENTRY_ZERO_MASK", (!(ENTRY_UNITS_MASK | 3 << ENTRY_KIND_SHIFT)).into()),
        ("KIND_PACKED", ChunkKind::Packed as u64),
        ("KIND_RAW", ChunkKind::Raw as u64),
        ("KIND_CONSTANT", ChunkKind::Constant as u64),
        ("KIND_MASKED", ChunkKind::Masked as u64),
        ("SUBMODE_OFFSET", SubMode::Offset as u64),
        ("SUBMODE_ZIGZAG", SubMode::ZigZag as u64),
        ("SUBMODE_DELTA", SubMode::Delta as u64),
        ("SUBMODE_SPECIAL", SubMode::Special as u64),
        ("SPECIAL_EXPONENT", Special::Exponent as u64),
        ("SPECIAL_DELTA2", Special::Delta2 as u64),
        ("SPECIAL_COUNTDOWN", Special::Countdown as u64),
        ("MODE_LOSSLESS", Mode::Lossless as u64),
        ("MODE_ABS", Mode::Abs as u64),
        ("MODE_NOA", Mode::Noa as u64),
        ("MODE_REL", Mode::Rel as u64),
        ("CODEC_SLEEK", CODEC_SLEEK.into()),
        ("FLAG_BIG_ENDIAN", FLAG_BIG_ENDIAN.into()),
        ("FLAG_FAST", FLAG_FAST.into()),
        ("FLAG_MORE", FLAG_MORE.into()),
        ("FLAG_EXTENDED", FLAG_EXTENDED.into()),
        ("EXTENSION_BYTES", EXTENSION_BYTES as u64),
        ("MAX_EXTENSION_BYTES", MAX_EXTENSION_BYTES as u64),
        ("MAX_RANK", MAX_RANK as u64),
        ("GRID_AXES", GRID_AXES as u64),
        ("MAX_MISSING", MAX_MISSING as u64),
        ("KEY32", KEY32.into()),
        ("MAX_EXCEPTIONS", MAX_EXCEPTIONS as u64),
        ("WARP_TILE", WARP_TILE as u64),
        ("MODE_SAMPLE", MODE_SAMPLE as u64),
        ("SAMPLE", SAMPLE as u64),
        ("NEAR_TOTALS", NEAR_TOTALS.into()),
        ("FEW_MISSING", FEW_MISSING as u64),
        ("STATUS_INVALID_ARGUMENT", Kind::InvalidArgument.code() as u64),
        ("STATUS_BUFFER_TOO_SMALL", Kind::BufferTooSmall.code() as u64),
        ("STATUS_NOT_SLEEK", Kind::NotSleek.code() as u64),
        ("STATUS_UNSUPPORTED_FORMAT", Kind::UnsupportedFormat.code() as u64),
        ("STATUS_TRUNCATED", Kind::Truncated.code() as u64),
        ("STATUS_CORRUPT", Kind::Corrupt.code() as u64),
        ("STATUS_OUT_OF_RANGE", Kind::OutOfRange.code() as u64),
    ];
    let mut h = String::from(
        "// Constants of the crate, made by `SLEEK_UPDATE=1 cargo test --test capi`; do not edit.\n#pragma once\n",
    );
    for (name, value) in numbers {
        writeln!(h, "#define {name} {value:#x}u").unwrap();
    }
    writeln!(h, "#define KEY64 {KEY64:#x}ull\n#define MAGIC48 {magic:#x}ull").unwrap();
    h + &dtypes()
}

/// A conditional expression of `dtype` that gives each type its value, of which the last one stands for all others.
fn by_dtype<T: PartialEq + std::fmt::Display>(values: &[(DType, T)]) -> String {
    let mut groups: Vec<(&T, Vec<String>)> = Vec::new();
    for (dtype, value) in values {
        let is = format!("(dtype) == DTYPE_{}", dtype.name().to_uppercase());
        match groups.iter_mut().find(|(v, _)| *v == value) {
            Some((_, types)) => types.push(is),
            None => groups.push((value, vec![is])),
        }
    }
    let (last, _) = groups.pop().unwrap();
    let cases: String =
        groups.iter().map(|(value, types)| format!("{} ? {value} : \\\n    ", types.join(" || "))).collect();
    format!("({cases}{last})")
}

/// The element types: codes, sizes, which are floats, the parts of those, and the exponents of their steps.
fn dtypes() -> String {
    let mut h = String::from("\n");
    for dtype in DType::ALL {
        writeln!(h, "#define DTYPE_{} {}u", dtype.name().to_uppercase(), dtype as u32).unwrap();
    }
    let floats: Vec<DType> = DType::ALL.into_iter().filter(|t| t.is_float()).collect();
    assert!(DType::ALL.iter().all(|t| t.is_float() == (*t as u32 <= DType::BF16 as u32)), "floats come first");
    for dtype in &floats {
        let (mantissa, bias) = mantissa_and_bias(*dtype);
        let name = dtype.name().to_uppercase();
        writeln!(h, "#define {name}_MANTISSA {mantissa}\n#define {name}_BIAS {bias}").unwrap();
    }
    let sized = [DType::F64, DType::I64, DType::U64, DType::F32, DType::I32, DType::U32, DType::I8, DType::U8];
    let bytes = |t: &DType| (*t, format!("{}u", t.size()));
    let mut sizes: Vec<(DType, String)> = sized.iter().map(bytes).collect();
    sizes.extend(DType::ALL.iter().filter(|t| !sized.contains(t)).map(bytes));
    let steps = [DType::F64, DType::F16, DType::F32, DType::BF16].map(|t| (t, step_range(t)));
    let (least, most) = (steps.clone().map(|(t, r)| (t, *r.start())), steps.map(|(t, r)| (t, *r.end())));
    writeln!(h, "#define DTYPE_IS_FLOAT(dtype) ((dtype) <= DTYPE_BF16)").unwrap();
    writeln!(h, "#define DTYPE_BYTES(dtype) {}", by_dtype(&sizes)).unwrap();
    writeln!(h, "// Exponents of the steps of a float type.\n#define STEP_MIN(dtype) {}", by_dtype(&least)).unwrap();
    writeln!(h, "#define STEP_MAX(dtype) {}", by_dtype(&most)).unwrap();
    h
}

/// A field of a struct as C declares it.
fn declared(ty: &str, name: &str) -> String {
    let c = |ty: &str| if ty == "f64" { "double".into() } else { ty.to_string() };
    if let Some(to) = ty.strip_prefix("*const ") {
        format!("const {}* {name}", c(to))
    } else if let Some(to) = ty.strip_prefix("*mut ") {
        format!("{}* {name}", c(to))
    } else if let Some((of, n)) =
        ty.strip_prefix('[').and_then(|t| t.strip_suffix(']')).and_then(|t| t.split_once("; "))
    {
        format!("{} {name}[{n}]", c(of))
    } else {
        format!("{} {name}", c(ty))
    }
}

/// A doc comment as C has it, a line for each.
fn comment(indent: &str, doc: &str) -> String {
    doc.lines().map(|line| format!("{indent}//{line}\n")).collect()
}

/// A `launch.h`, of some structs of src/runtime/cuda/launch.rs and numbers that go with them.
fn launch_h(includes: &str, numbers: &[(&str, u64)], layouts: &[Layout]) -> String {
    let mut h = String::from(
        "// Structs of src/runtime/cuda/launch.rs, made by `SLEEK_UPDATE=1 cargo test --test capi`; do not edit.\n\
         #pragma once\n",
    );
    writeln!(h, "{includes}").unwrap();
    for (name, value) in numbers {
        writeln!(h, "#define {name} {value}u").unwrap();
    }
    for Layout { name, doc, fields, size } in layouts {
        writeln!(h, "\n{}struct {name} {{", comment("", doc)).unwrap();
        let declared: Vec<String> = fields.iter().map(|field| declared(field.ty, field.name) + ";").collect();
        let width = declared.iter().map(String::len).max().unwrap_or_default();
        for (field, declared) in fields.iter().zip(&declared) {
            let line = format!("    {declared:width$}    //{}", field.doc.trim_end());
            let fits = field.doc.lines().count() == 1 && line.chars().count() <= 120;
            h += &if fits { line + "\n" } else { format!("{}    {declared}\n", comment("    ", field.doc)) };
        }
        // There are no gaps, as launch.rs asserts.
        writeln!(h, "}};\nstatic_assert(sizeof({name}) == {size}, \"{name}\");").unwrap();
    }
    h
}

/// `kernels/interp/tables.h`: the numbers of codec interp and its tables.
fn interp_tables_h() -> String {
    use interp::tables;
    let mut h = String::from(
        "// Numbers and tables of codec interp, made by `SLEEK_UPDATE=1 cargo test --test capi`; do not edit.\n\
         #pragma once\n#include \"machine.cuh\"\n\nnamespace interp {\n\nenum : u32 {\n",
    );
    for (name, value) in interp::gpu_numbers() {
        writeln!(h, "    {name} = {value},").unwrap();
    }
    writeln!(h, "}};").unwrap();
    let mut list = |about: &str, name: &str, numbers: Vec<u64>| {
        let ty = if numbers.iter().any(|n| *n >= 1 << 16) { "u32" } else { "u16" };
        writeln!(h, "\n// {about}\nCONSTANT {ty} {name}[{}] = {{", numbers.len()).unwrap();
        let mut line = String::from("   ");
        for number in numbers {
            let next = format!(" {number},");
            if line.len() + next.len() > 120 {
                writeln!(h, "{}", std::mem::replace(&mut line, "   ".into())).unwrap();
            }
            line.push_str(&next);
        }
        writeln!(h, "{line}\n}};").unwrap();
    };
    let lens: Vec<u64> = tables::FREQUENCIES.iter().map(|table| table.len() as u64).collect();
    list(
        "Of each table of tokens the number of its first frequency, and of the last one's end.",
        "FIRSTS",
        (0..=lens.len()).map(|t| lens[..t].iter().sum()).collect(),
    );
    let wide = |numbers: &[u16]| numbers.iter().map(|n| u64::from(*n)).collect::<Vec<_>>();
    list("Frequencies of all of them, one behind the other.", "FREQUENCIES", wide(&tables::FREQUENCIES.concat()));
    let starts = |row: &[u16; tables::CLASSES]| (0..=row.len()).map(|k| row[..k].iter().sum()).collect::<Vec<u16>>();
    let starts: Vec<u16> = tables::CLASS_FREQUENCIES.iter().flat_map(starts).collect();
    list(
        "Of the classes behind each class, and of the first ones, where their slots begin, and the last one's end.",
        "CLASS_STARTS",
        wide(&starts),
    );
    list("The classes that an encoder gives a group: see tables.rs.", "SORTS", wide(&tables::SORTS.concat()));
    list("See rules.rs.", "MEANS", interp::MEANS.map(u64::from).to_vec());
    list("See rules.rs.", "LIMITS", interp::LIMITS.to_vec());
    writeln!(h, "\n}}    // namespace interp").unwrap();
    h
}

#[test]
fn headers_are_fresh() {
    let wide = EntryForm::Wide;
    let common = [
        ("LIST_WORDS", LIST_WORDS as u64),
        ("PIECE_BYTES", PIECE_BYTES),
        ("EXTENSION_WORDS", EXTENSION_WORDS as u64),
        ("UNIT", wide.unit() as u64),
        ("WIDE_ENTRY_BYTES", wide.entry_bytes() as u64),
        ("WIDE_KIND_SHIFT", wide.kind_shift().into()),
        ("WIDE_SIZE_MASK", (1 << wide.kind_shift()) - 1),
    ];
    let hyperslab = [("MAX_DIMS", MAX_DIMS as u64), ("PIECE_ELEMENTS", PIECE_ELEMENTS)];
    let zfp = [
        ("CODEC_ZFP", CODEC_ZFP.into()),
        ("ZFP_TILE_LOG2", TILE_LOG2.into()),
        ("ZFP_BLOCK_LOG2", BLOCK_LOG2.into()),
        ("ZFP_MAX_AXES", MAX_AXES as u64),
        ("ZFP_MAX_BITS", zfp_rs::ZFP_MAX_BITS.into()),
        ("ZFP_MAX_PRECISION", zfp_rs::ZFP_MAX_PREC.into()),
        // The lowest bit plane is that of 2 to the power of minus this.
        ("ZFP_DEPTH", u64::from(zfp_rs::ZFP_MIN_EXP.unsigned_abs())),
        ("ZFP_MODES", Mode::Precision as u64),
    ];
    for (name, made) in [
        ("common/constants.h", constants_h()),
        ("zfp/launch.h", launch_h("#include \"../common/constants.h\"\n#include \"../common/launch.h\"\n", &zfp, ZFP)),
        ("interp/tables.h", interp_tables_h()),
        (
            "interp/launch.h",
            launch_h("#include \"../common/constants.h\"\n#include \"../common/launch.h\"\n", INTERP_NUMBERS, INTERP),
        ),
        ("common/launch.h", launch_h("#include \"constants.h\"\n#include \"platform.cuh\"\n", &common, COMMON)),
        ("hyperslab/launch.h", launch_h("#include \"../common/launch.h\"\n", &hyperslab, HYPERSLAB)),
        ("sentinel/launch.h", launch_h("#include \"../common/launch.h\"\n", &[], SENTINEL)),
    ] {
        let path = kernels().join(name);
        if std::env::var_os("SLEEK_UPDATE").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        let committed = std::fs::read_to_string(path).unwrap();
        assert!(committed == made, "kernels/{name} is stale: SLEEK_UPDATE=1 cargo test --test capi");
    }
}

/// In continuous integration kernels are built, so that no test is passed over there.
#[test]
fn kernels_are_built_where_every_test_is_to_run() {
    if !cfg!(kernels_are_built) {
        eprintln!("built without kernels: every test of them is passed over; make kernels");
        assert!(std::env::var_os("CI").is_none_or(|ci| ci.is_empty()), "built without kernels: make kernels");
    }
}

/// The first line of each source names the Rust files whose rules it follows, or says that there are none.
#[test]
fn each_source_names_its_twin() {
    let mut sources = 0;
    for path in files(&kernels()).into_iter().filter(|p| p.extension().is_some_and(|e| e == "cu" || e == "cuh")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap();
        if first != "// No twin in src." {
            let twins = first.strip_prefix("// Twin: ").unwrap_or_else(|| panic!("{path:?} names no twin: {first}"));
            for twin in twins.split(", ") {
                assert!(kernels().join("..").join(twin).is_file(), "{path:?}: there is no {twin}");
            }
        }
        sources += 1;
    }
    assert!(sources > 20, "{sources}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
