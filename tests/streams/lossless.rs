//! Forms of lossless tiles of codec interp: each is chosen where it should be, comes back bit for bit, and is read
//! alike by the page's decoder. Golden streams. And what lossless streams promise in bytes.

use crate::{forms, reference, vectors};
use forms::{COMPARED, KINDS, compared, form_name, forms, params, words};
use sleek::{DType, Params, Profile};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// All types, kinds of data and lengths come back, and the page's decoder says the same. All forms are made use of.
#[test]
fn forms_come_back() {
    let mut seen = BTreeSet::new();
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        for (k, kind) in KINDS.into_iter().enumerate() {
            if kind == "decimals" && !dtype.is_float() {
                continue;
            }
            let lens: [&[u64]; 5] =
                [&[[1, 31, 33, 64, 130, 800][(d + k) % 6]], &[1900], &[5000], &[3, 2100], &[9, 30, 17]];
            for (l, lens) in lens.into_iter().enumerate() {
                let params = Params { big_endian: (d + k + l) % 3 == 0, ..params(dtype, lens) };
                let n = params.dims.count() as usize;
                let data = vectors::to_bytes(dtype, &words(kind, dtype, n), params.big_endian);
                let stream = sleek::compress(&params, &data).unwrap();
                assert!(sleek::decompress(&stream).unwrap() == data, "{dtype:?} {kind} {lens:?}");
                let page = reference::decode(&stream);
                assert!(page.unwrap_or_else(|e| panic!("{dtype:?} {kind} {lens:?}: {e}")) == data, "{dtype:?} {kind}");
                seen.extend(forms(&stream).into_iter().map(form_name));
            }
        }
    }
    for form in [
        "numbers axes",
        "numbers axes table",
        "numbers axes table low",
        "numbers axes sparse",
        "numbers smooth",
        "numbers symbols table",
        "decimals axes",
        "ranks axes",
        "ranks symbols table",
    ] {
        assert!(seen.contains(form), "no {form:?} among {seen:?}");
    }
}

/// Our encoder writes these bytes, and reads them. `SLEEK_UPDATE=1` rewrites them; never for a format that was
/// released.
#[test]
fn golden_forms() {
    let cases = [
        (DType::F32, "decimals", "decimals"),
        (DType::BF16, "weights", "symbols table"),
        (DType::F16, "pruned", "table"),
        (DType::U16, "few", "table"),
        (DType::F32, "smooth", "low"),
        (DType::F32, "levels", "ranks"),
        (DType::I64, "even", "sparse"),
        (DType::F64, "decimals", "decimals"),
    ];
    for (dtype, kind, form) in cases {
        let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "vectors", "lossless"].iter().collect();
        let path = path.join(format!("{}-{kind}.slk", dtype.name()));
        let data = vectors::to_bytes(dtype, &words(kind, dtype, 2500), false);
        let stream = sleek::compress(&params(dtype, &[2500]), &data).unwrap();
        let names: Vec<String> = forms(&stream).into_iter().map(form_name).collect();
        assert!(names.iter().any(|name| name.contains(form)), "{kind}: {names:?}");
        if std::env::var_os("SLEEK_UPDATE").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &stream).unwrap();
        }
        let golden = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(stream == golden, "{dtype:?} {kind}: {} bytes, {} in the repository", stream.len(), golden.len());
        assert!(sleek::decompress(&golden).unwrap() == data && reference::decode(&golden).unwrap() == data);
    }
}

/// Ratio of the bytes of a stream.
fn bytes(params: &Params, profile: Profile, data: &[u8]) -> usize {
    sleek::compress(&Params { profile, ..params.clone() }, data).unwrap().len()
}

/// Lossless, no profile takes more than the elements, 1 in 256 of them and a header. Floats take at most 1 in 7 more by
/// `adaptive` than by `fast`: words that all end in zeros have no countdown. Integers, whose bases may be further
/// apart, take 1 in 256 of the elements and a word for each subchunk of the last chunk; by `small` both no more than 1
/// in 40.
#[test]
fn lossless_is_never_much_worse() {
    for dtype in DType::ALL {
        for kind in KINDS.into_iter().chain(COMPARED).filter(|kind| dtype.is_float() || *kind != "decimals") {
            // Negative numbers are no unsigned ones: their halves are far from those of others.
            let wraps = kind == "even" && !dtype.is_float();
            for n in [1, 100, 5000, 40_000] {
                let params = params(dtype, &[n]);
                let data = vectors::to_bytes(dtype, &compared(kind, dtype, n as usize), false);
                let fast = bytes(&params, Profile::Fast, &data);
                let adaptive_may = if dtype.is_float() { fast / 7 } else { data.len() / 256 + 32 * dtype.size() };
                for (profile, more) in [
                    (Profile::Adaptive, adaptive_may),
                    (Profile::Small, if wraps { data.len() + 160 } else { fast / 40 + 160 }),
                ] {
                    let own = bytes(&params, profile, &data);
                    let case = format!("{dtype:?} {kind} {n} {profile:?}: {own} bytes");
                    assert!(own <= data.len() + data.len() / 256 + 160, "{case}, {} raw", data.len());
                    assert!(own <= fast + more, "{case}, fast {fast}");
                }
            }
        }
    }
}

/// Weights take less by a countdown than by the exponent map: those in bf16 by more than 1 in 6, in f32 by 1 in 13.
#[test]
fn adaptive_is_smaller_than_fast_on_weights() {
    for (dtype, part) in [(DType::BF16, 6), (DType::F16, 12), (DType::F32, 13), (DType::F64, 27)] {
        let params = params(dtype, &[40_000]);
        let data = vectors::to_bytes(dtype, &compared("small gaussian", dtype, 40_000), false);
        let stream = sleek::compress(&Params { profile: Profile::Adaptive, ..params.clone() }, &data).unwrap();
        let fast = bytes(&params, Profile::Fast, &data);
        println!("{dtype:?}: {} raw, {fast} by fast, {} by adaptive", data.len(), stream.len());
        assert!(stream.len() <= fast - fast / part, "{dtype:?}: {} bytes, fast {fast}", stream.len());
        assert!(sleek::decompress(&stream).unwrap() == data && reference::decode(&stream).unwrap() == data);
    }
}
