//! Safetensors files: tensor by tensor there and back.

use serde_json::json;
use sleek::container::Header;

use super::{Bench, bytes_of, max_error, stderr, wave};

/// A tensor: name, type, shape, bytes.
type Tensor<'a> = (&'a str, &'a str, Vec<usize>, Vec<u8>);

/// A safetensors file, whose header is `padding` spaces longer than it need be.
fn safetensors(tensors: &[Tensor], padding: usize) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    header.insert("__metadata__".into(), json!({"format": "pt", "ü": "\n\"\u{1b}"}));
    for (name, kind, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        header.insert((*name).into(), json!({"dtype": kind, "shape": shape, "data_offsets": offsets}));
        data.extend_from_slice(bytes);
    }
    let header = format!("{}{}", serde_json::Value::Object(header), " ".repeat(padding));
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut x = 7u32;
    let mut next = || {
        x = x.wrapping_mul(1664525).wrapping_add(1013904223);
        (x >> 24) as u8 & 0x3f
    };
    (0..bytes).map(|_| next()).collect()
}

/// The upper halves of floats.
fn bf16(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| ((v.to_bits() >> 16) as u16).to_le_bytes()).collect()
}

/// Every type, those of a later day too, in an order that is not that of the names.
fn all_kinds() -> Vec<Tensor<'static>> {
    vec![
        ("z.weight", "BF16", vec![100, 60], bf16(&wave(6000))),
        ("a.bias", "F32", vec![60], bytes_of(&wave(60))),
        ("empty", "F16", vec![0, 7], Vec::new()),
        ("scalar", "F64", vec![], 2.5f64.to_le_bytes().to_vec()),
        ("f16", "F16", vec![3, 5, 2], noise(60)),
        ("i8", "I8", vec![33], noise(33)),
        ("i16", "I16", vec![33], noise(66)),
        ("u16", "U16", vec![1, 33], noise(66)),
        ("i32", "I32", vec![11, 1], noise(44)),
        ("u32", "U32", vec![11], noise(44)),
        ("i64", "I64", vec![500], (0..500u64).flat_map(u64::to_le_bytes).collect()),
        ("u64", "U64", vec![11], noise(88)),
        ("u8", "U8", vec![1000], noise(1000)),
        ("mask", "BOOL", vec![40, 25], noise(1000).iter().map(|b| b & 1).collect()),
        ("e4m3", "F8_E4M3", vec![64, 64], noise(4096)),
        ("e5m2", "F8_E5M2", vec![64, 64], noise(4096)),
        ("complex", "C64", vec![20, 20], bytes_of(&wave(800))),
        ("f4", "F4", vec![6], noise(3)),
        ("big", "F32", vec![50, 400], bytes_of(&wave(20_000))),
    ]
}

#[test]
fn every_kind_there_and_back() {
    let bench = Bench::new();
    let tensors = all_kinds();
    for (padding, args) in
        [(0, ""), (7, "--frame-bytes 4096"), (1, "--profile fast"), (0, "--profile adaptive --lossless")]
    {
        let file = safetensors(&tensors, padding);
        bench.put("in.safetensors", &file);
        bench.ok(&format!("compress -qf {args} in.safetensors packed"));
        bench.ok("decompress -qf packed out");
        assert!(bench.get("out") == file, "{args}");
        assert_eq!(bench.json("verify --json in.safetensors packed")["kept"], true, "{args}");
        for (name, .., bytes) in &tensors {
            bench.ok(&format!("decompress -qf --tensor {name} packed one"));
            assert!(bench.get("one") == *bytes, "{name} {args}");
        }
        bench.ok(&format!("compress -qf --threads 1 {args} in.safetensors one"));
        bench.ok(&format!("compress -qf --threads 3 {args} in.safetensors three"));
        assert!(bench.get("one") == bench.get("packed") && bench.get("three") == bench.get("packed"), "{args}");
    }
    let file = safetensors(&[], 0);
    bench.put("in", &file);
    bench.ok("compress -qf in packed");
    bench.ok("decompress -qf packed out");
    assert_eq!(bench.get("out"), file);
}

/// Reads the file as docs/guide/archives.md says it is.
#[test]
fn the_file_is_as_the_page_says() {
    let bench = Bench::new();
    let tensors = all_kinds();
    let file = safetensors(&tensors, 3);
    bench.put("in", &file);
    bench.ok("compress -q --frame-bytes 8192 in packed");
    let packed = bench.get("packed");
    assert_eq!(packed[..16], *b"\x89SLTNS\x01\0\0\0\0\0\0\0\0\0");
    let mut at = 16;
    let mut array = || {
        let (mut bytes, mut streams) = (Vec::new(), 0);
        loop {
            let header = Header::read(&packed[at..]).unwrap();
            let stream = &packed[at..at + header.stream_bytes as usize];
            bytes.extend(sleek::decompress(stream).unwrap());
            (at, streams) = (at + stream.len(), streams + 1);
            if !header.more {
                return (bytes, streams, header);
            }
        }
    };
    let (mut whole, streams, _) = array();
    assert_eq!(streams, 1);
    for (name, _, shape, bytes) in tensors.iter().filter(|t| !t.3.is_empty()) {
        let (data, streams, last) = array();
        assert!(data == *bytes, "{name}");
        if *name == "big" {
            // 5 rows of 400 floats are below 8192 bytes.
            assert_eq!((streams, last.layout.shape.dims.lens()), (10, &[5, 400][..]));
        } else if *name == "f16" {
            assert_eq!(last.layout.shape.dims.lens().iter().map(|n| *n as usize).collect::<Vec<_>>(), *shape);
        }
        whole.extend(data);
    }
    assert!(whole == file && at == packed.len());
}

/// The command writes these bytes, and reads them. `SLEEK_UPDATE=1` rewrites them; never for a form that was released.
#[test]
fn golden_file_of_tensors() {
    let bench = Bench::new();
    let halves: Vec<u8> = noise(3000).iter().flat_map(|b| [*b, 0x30 | b >> 4]).collect();
    let tensors = [
        ("weight", "BF16", vec![60, 50], halves.clone()),
        ("bias", "F16", vec![3000], halves),
        ("empty", "F32", vec![0], Vec::new()),
        ("steps", "I64", vec![], 77u64.to_le_bytes().to_vec()),
        ("codes", "F8_E4M3", vec![40, 25], noise(1000)),
    ];
    let file = safetensors(&tensors, 2);
    bench.put("in", &file);
    bench.ok("compress -q --frame-bytes 4096 in packed");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/tensors/model.slk");
    if std::env::var_os("SLEEK_UPDATE").is_some() {
        std::fs::write(path, bench.get("packed")).unwrap();
    }
    let golden = std::fs::read(path).unwrap_or_else(|e| panic!("{path}: {e}"));
    assert!(bench.get("packed") == golden, "{} bytes, {} in the repository", bench.get("packed").len(), golden.len());
    bench.put("golden", &golden);
    bench.ok("decompress -q golden out");
    assert!(bench.get("out") == file);
}

#[test]
fn bounds_are_for_tensors_of_floats() {
    let bench = Bench::new();
    let mut tensors = all_kinds();
    tensors.push(("wide", "F32", vec![1000], bytes_of(&wave(1000).iter().map(|v| v * 1e3).collect::<Vec<_>>())));
    let file = safetensors(&tensors, 0);
    bench.put("in.safetensors", &file);
    for (args, limits) in [
        ("--abs 0.5", [0.5, 0.5]),
        ("--noa 1e-3", [0.021, 21.0]),
        ("--noa 1e-3 --range 500", [0.5, 0.5]),
        ("--rel 1e-4", [0.027, 27.0]),
    ] {
        bench.ok(&format!("compress -qf {args} in.safetensors packed"));
        let report = bench.json("verify --json in.safetensors packed");
        assert_eq!(report["kept"], true, "{args}: {report}");
        for (tensor, verdict) in tensors.iter().zip(report["tensors"].as_array().unwrap()) {
            let is_float = ["F16", "BF16", "F32", "F64"].contains(&tensor.1);
            assert!(is_float || verdict["verdict"] == "identical", "{args}: {verdict}");
        }
        for (name, limit) in [("big", limits[0]), ("wide", limits[1])] {
            bench.ok(&format!("decompress -qf --tensor {name} packed one"));
            let (_, _, _, bytes) = tensors.iter().find(|t| t.0 == name).unwrap();
            let error = max_error(&super::floats_of(bytes), &super::floats_of(&bench.get("one")));
            assert!(error > 0.0 && error <= limit, "{args} {name}: {error}");
        }
        let info = bench.json("inspect --json packed");
        let listed = info["tensors"].as_array().unwrap();
        assert_eq!(listed.len(), tensors.len());
        let mode = |name: &str| listed.iter().find(|t| t["name"] == name).unwrap()["mode"].clone();
        assert_eq!(
            (mode("big"), mode("complex"), mode("i32")),
            (args[2..5].into(), "lossless".into(), "lossless".into())
        );
        assert_eq!(
            (&info["raw_bytes"], &info["compressed_bytes"]),
            (&file.len().into(), &bench.get("packed").len().into())
        );
    }
}

/// Of noise in halves a fine bound is worth less than the table of exponents that lossless streams have.
#[test]
fn a_bound_makes_no_tensor_larger() {
    let bench = Bench::new();
    let halves: Vec<u8> =
        noise(20_000).iter().zip(noise(20_001)[1..].iter()).flat_map(|(a, b)| [*a, 0x30 | b >> 4]).collect();
    bench.put(
        "in",
        &safetensors(
            &[("few", "BF16", vec![100, 200], halves.clone()), ("wave", "F32", vec![20_000], bytes_of(&wave(20_000)))],
            0,
        ),
    );
    let sizes = |args: &str| -> Vec<u64> {
        bench.ok(&format!("compress -qf {args} in packed"));
        assert_eq!(bench.json("verify --json in packed")["kept"], true, "{args}");
        let info = bench.json("inspect --json packed");
        info["tensors"].as_array().unwrap().iter().map(|t| t["compressed_bytes"].as_u64().unwrap()).collect()
    };
    for frame in ["", "--frame-bytes 8192"] {
        let exact = sizes(frame);
        let bounded = sizes(&format!("{frame} --rel 1e-3"));
        assert!(bounded[0] <= exact[0] && 3 * bounded[1] < 2 * exact[1], "{exact:?} {bounded:?}");
    }
}

#[test]
fn pipes_carry_tensors() {
    let bench = Bench::new();
    let file = safetensors(&all_kinds(), 0);
    bench.put("in", &file);
    let packed = bench.piped("compress -q - -", &file);
    assert!(packed.status.success(), "{}", stderr(&packed));
    assert_eq!(bench.piped("decompress -q - -", &packed.stdout).stdout, file);
    assert_eq!(bench.piped("decompress -q --tensor i8 - -", &packed.stdout).stdout, noise(33));
    assert!(bench.piped("verify in -", &packed.stdout).status.success());
    let shown = bench.piped("inspect -", &packed.stdout);
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains("z.weight") && text.contains("100x60") && text.contains("19 tensors"), "{text}");
    let noa = bench.piped("compress --noa 1e-3 - out", &file);
    assert!(stderr(&noa).contains("--range"), "{}", stderr(&noa));
    assert!(stderr(&bench.piped("compress - out", b"not tensors")).contains("--dtype TYPE is needed"));
}

#[test]
fn what_differs_is_broken() {
    let bench = Bench::new();
    let tensors = all_kinds();
    let file = safetensors(&tensors, 0);
    bench.put("in", &file);
    bench.ok("compress -q in packed");
    let mut other = file.clone();
    *other.last_mut().unwrap() ^= 1;
    for (original, part) in [
        (&other[..], "big"),
        (&file[..file.len() - 1], "big"),
        (&[&file[..], b"x"].concat(), "goes on"),
        (&safetensors(&tensors, 1), "its header is another"),
        (b"", "its header is another"),
    ] {
        bench.put("other", original);
        let out = bench.run("verify other packed");
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        assert_eq!(out.status.code(), Some(1), "{text}");
        assert!(text.contains("BROKEN") && text.contains(part), "{part}: {text}");
        assert_eq!(bench.run("verify --json other packed").status.code(), Some(1));
    }
}

#[test]
fn hostile_safetensors_files() {
    let bench = Bench::new();
    let file = safetensors(&all_kinds(), 0);
    let header = u64::from_le_bytes(*file.first_chunk().unwrap()) as usize;
    let put = |bytes: &[u8]| bench.put("in.safetensors", bytes);
    for len in (0..8 + header).step_by(97).chain([7, 8, 9, 8 + header - 1]) {
        put(&file[..len]);
        bench.fails("compress in.safetensors out", if len < 8 { "8 bytes" } else { "are there" });
    }
    for (bytes, part) in [
        (file[..file.len() - 1].to_vec(), "are there"),
        ([&file[..], b"xyz"].concat(), "are there"),
        ([&(1u64 << 60).to_le_bytes()[..], b"{}"].concat(), "1152921504606846976"),
        ([&u64::MAX.to_le_bytes()[..], b"{}"].concat(), "18446744073709551615"),
        ([&2u64.to_le_bytes()[..], b"[]"].concat(), "its header is none of safetensors"),
        (safetensors(&[("t", "F32", vec![3], vec![0; 8])], 0), "its header is none of safetensors"),
        (safetensors(&[("t", "Q3_K", vec![3], vec![0; 8])], 0), "unknown variant `Q3_K`"),
    ] {
        put(&bytes);
        bench.fails("compress in.safetensors out", part);
    }
    // From a pipe it shows only as the data comes.
    for (bytes, part) in [(&file[..file.len() - 1], "ends within"), (&[&file[..], b"xyz"].concat(), "goes on")] {
        let out = bench.piped("compress -q - out", bytes);
        assert!(out.status.code() == Some(2) && stderr(&out).contains(part), "{}", stderr(&out));
        assert!(!bench.path("out").exists());
    }
    put(&file);
    for (args, part) in [
        ("--dims 5x5", "--dims"),
        ("--fill -1 --abs 1", "--fill"),
        ("--big-endian", "--big-endian"),
        ("--ratio 3", "--ratio 3"),
        ("--rate 3 --codec zfp", "--rate"),
        ("--abs -1", "-1"),
        ("--range 3", "--range 3"),
    ] {
        bench.fails(&format!("compress {args} in.safetensors out"), part);
    }
    bench.ok("compress -q in.safetensors out");
    bench.fails("compress in.safetensors out", "--force");
    bench.fails("decompress --tensor no out back", "--tensor no: out has no such tensor; it has z.weight");
    bench.fails("decompress --box 0:1 out back", "--tensor NAME");
    // With a type it is an array of bytes.
    bench.ok("compress -qf --dtype u8 --lossless in.safetensors out");
    assert_eq!(bench.json("inspect --json out")["count"], file.len());
}

#[test]
fn damaged_files_of_tensors() {
    let bench = Bench::new();
    bench.put("in", &safetensors(&all_kinds(), 0));
    bench.ok("compress -q --frame-bytes 8192 in good");
    let good = bench.get("good");
    let fails = |bytes: &[u8]| {
        bench.put("bad", bytes);
        for command in ["decompress bad out", "verify in bad"] {
            bench.fails(command, "bad");
        }
    };
    for len in (17..good.len()).step_by(good.len() / 40) {
        fails(&good[..len]);
    }
    for at in (6..16).chain((16..good.len()).step_by(good.len() / 40)) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        fails(&bytes);
    }
    fails(&[&good[..], &good[16..]].concat());
    fails(&[&good[..], b"x"].concat());
    // Whole streams, each of which is right, in the place of others.
    let length = |at: usize| u64::from_le_bytes(good[at + 24..at + 32].try_into().unwrap()) as usize;
    let (first, second) = (16 + length(16), 16 + length(16) + length(16 + length(16)));
    let third = second + length(second);
    fails(&[&good[..first], &good[second..]].concat());
    fails(&[&good[..first], &good[second..third], &good[first..second], &good[third..]].concat());
    fails(&[&good[..first], &good[first..second], &good[first..]].concat());
}

/// What an input is, where nothing says its type.
#[test]
fn inputs_without_a_type() {
    let bench = Bench::new();
    bench.put("field.f32", &bytes_of(&wave(1000)));
    bench.ok("compress -q --abs 1e-3 field.f32 packed");
    assert_eq!(bench.json("inspect --json packed")["dtype"], "f32");
    bench.fails("compress field.f32 out", "a bound is needed");
    for (first, part) in [
        (&b"\x89HDF\r\n\x1a\n____"[..], "sleek repack"),
        (b"CDF\x05____________", "nccopy"),
        (b"PK\x03\x04____________", "unzip"),
        (b"SIMPLE  =        T", "FITS"),
        (b"GRIB____________", "GRIB"),
        (&bench.get("packed"), "sleek decompress"),
        (b"plain", "--dtype f32"),
        (b"", "--dtype f32"),
    ] {
        bench.put("in", first);
        bench.fails("compress --lossless in out", part);
    }
}
