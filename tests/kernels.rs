//! The committed files that are made from others: `kernels/common/constants.h` from the format's constants, `kernels/*.ptx` from the kernels.

use std::fmt::Write;
use std::path::PathBuf;

use sleek::codec::sleek::constants::*;
use sleek::codec::sleek::format::{Special, SubMode};
use sleek::container::Kind as ChunkKind;
use sleek::container::constants::*;
use sleek::{Kind, Mode};

fn kernels() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("kernels")
}

/// `kernels/common/constants.h` as the constants of the crate make it.
fn format_h() -> String {
    let magic = MAGIC.iter().rev().fold(0u64, |m, b| m << 8 | u64::from(*b));
    let numbers: [(&str, u64); 41] = [
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
        ("ENTRY_SIZE_MASK", ENTRY_SIZE_MASK.into()),
        ("ENTRY_KIND_SHIFT", ENTRY_KIND_SHIFT.into()),
        ("ENTRY_ZERO_MASK", (!(ENTRY_SIZE_MASK | 3 << ENTRY_KIND_SHIFT)).into()),
        ("KIND_PACKED", ChunkKind::Packed as u64),
        ("KIND_RAW", ChunkKind::Raw as u64),
        ("KIND_CONSTANT", ChunkKind::Constant as u64),
        ("MODE_OFFSET", SubMode::Offset as u64),
        ("MODE_ZIGZAG", SubMode::ZigZag as u64),
        ("MODE_DELTA", SubMode::Delta as u64),
        ("MODE_SPECIAL", SubMode::Special as u64),
        ("SPECIAL_EXPONENT", Special::Exponent as u64),
        ("SPECIAL_DELTA2", Special::Delta2 as u64),
        ("BOUND_LOSSLESS", Mode::Lossless as u64),
        ("BOUND_ABS", Mode::Abs as u64),
        ("BOUND_NOA", Mode::Noa as u64),
        ("CODEC_SLEEK", CODEC_SLEEK.into()),
        ("FLAG_BIG_ENDIAN", FLAG_BIG_ENDIAN.into()),
        ("FLAG_FAST", FLAG_FAST.into()),
        ("FLAG_MORE", FLAG_MORE.into()),
        ("KEY32", KEY32.into()),
        ("MAX_EXCEPTIONS", MAX_EXCEPTIONS as u64),
        ("QUARTER", QUARTER as u64),
        ("MODE_SAMPLE", MODE_SAMPLE as u64),
        ("SAMPLE", SAMPLE as u64),
        ("STATUS_INVALID_ARGUMENT", Kind::InvalidArgument.code() as u64),
        ("STATUS_BUFFER_TOO_SMALL", Kind::BufferTooSmall.code() as u64),
        ("STATUS_NOT_SLEEK", Kind::NotSleek.code() as u64),
        ("STATUS_UNSUPPORTED_FORMAT", Kind::UnsupportedFormat.code() as u64),
        ("STATUS_TRUNCATED", Kind::Truncated.code() as u64),
        ("STATUS_CORRUPT", Kind::Corrupt.code() as u64),
        ("STATUS_OUT_OF_RANGE", Kind::OutOfRange.code() as u64),
    ];
    let mut h = String::from(
        "// Made from src/format/constants.rs by `SLEEK_UPDATE=1 cargo test --test kernels`; do not edit.\n#pragma once\n",
    );
    for (name, value) in numbers {
        writeln!(h, "#define {name} {value:#x}u").unwrap();
    }
    writeln!(h, "#define KEY64 {KEY64:#x}ull\n#define MAGIC48 {magic:#x}ull").unwrap();
    h
}

#[test]
fn format_h_is_fresh() {
    let path = kernels().join("common/constants.h");
    if std::env::var_os("SLEEK_UPDATE").is_some() {
        std::fs::write(&path, format_h()).unwrap();
    }
    let committed = std::fs::read_to_string(path).unwrap();
    assert!(committed == format_h(), "kernels/common/constants.h is stale: SLEEK_UPDATE=1 cargo test --test kernels");
}

#[test]
fn ptx_is_for_every_driver_from_525_on() {
    let files = |folder| std::fs::read_dir(kernels().join(folder)).unwrap().map(move |f| (folder, f.unwrap().path()));
    for (folder, path) in
        files("sleek").chain(files("hyperslab")).filter(|(_, p)| p.extension().is_some_and(|e| e == "ptx"))
    {
        let name = path.display();
        let ptx = std::fs::read_to_string(&path).unwrap();
        assert!(ptx.contains(".version 8.0\n.target sm_80\n"), "{name}");
        // kernels/uniform.py was at work: some branches are taken together, and not all.
        let branches: Vec<&str> = ptx.lines().filter(|l| l.starts_with("\t@%p") && l.contains(" bra")).collect();
        let together = branches.iter().filter(|l| l.contains(" bra.uni")).count();
        assert!(folder == "hyperslab" || (together > 0 && together < branches.len()), "{name}: {together}");
        // A contracted product and sum would change bytes, but for those that the sources ask for.
        assert!(!ptx.lines().any(|l| l.contains("fma.rn.f32") && !l.ends_with("// exact")), "{name}");
    }
}
