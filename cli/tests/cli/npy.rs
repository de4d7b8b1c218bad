//! NPY files, as NumPy writes them, there and back.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use sleek::DType;

use super::{Bench, bytes_of, common, floats_of, max_error, stderr, wave};

/// A file of this version with a header as NumPy writes it.
fn npy(version: u8, dictionary: &str, data: &[u8]) -> Vec<u8> {
    let length = dictionary.len() + 1;
    let length =
        if version == 1 { (length as u16).to_le_bytes().to_vec() } else { (length as u32).to_le_bytes().to_vec() };
    [b"\x93NUMPY", &[version, 0][..], &length, dictionary.as_bytes(), b"\n", data].concat()
}

fn dictionary(descr: &str, fortran_order: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran_order}, 'shape': {shape}, }}")
}

fn array(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy(1, &dictionary(descr, "False", shape), data)
}

/// What stands behind the header, and the header's dictionary.
fn parts(file: &[u8]) -> (&[u8], String) {
    assert_eq!(&file[..8], b"\x93NUMPY\x01\0");
    let begin = 10 + usize::from(file[8]) + 256 * usize::from(file[9]);
    assert!(begin.is_multiple_of(64) && file[begin - 1] == b'\n', "{begin}");
    (&file[begin..], String::from_utf8(file[10..begin].to_vec()).unwrap().trim_end().to_owned())
}

const KINDS: [(&str, DType); 11] = [
    ("f2", DType::F16),
    ("f4", DType::F32),
    ("f8", DType::F64),
    ("i1", DType::I8),
    ("i2", DType::I16),
    ("i4", DType::I32),
    ("i8", DType::I64),
    ("u1", DType::U8),
    ("u2", DType::U16),
    ("u4", DType::U32),
    ("u8", DType::U64),
];

#[test]
fn every_type_order_version_and_shape() {
    let bench = Bench::new();
    let noise: Vec<u8> = (0..960u32).map(|i| (i.wrapping_mul(2654435761) >> 24) as u8).collect();
    let many = format!("({})", "1, ".repeat(30) + "3, 4");
    for (name, dtype) in KINDS {
        for order in if dtype.size() == 1 { vec!['|'] } else { vec!['<', '>'] } {
            let descr = format!("{order}{name}");
            for (version, shape, count) in [
                (1, "(3, 4)", 12),
                (2, "(12,)", 12),
                (3, "(1, 1)", 1),
                (1, "(0,)", 0),
                (2, "(3, 0)", 0),
                (1, &many, 12),
            ] {
                let data = &noise[..count * dtype.size()];
                bench.put("x.npy", &npy(version, &dictionary(&descr, "False", shape), data));
                bench.ok("compress -qf --lossless x.npy x.npy.sleek");
                let info = bench.json("inspect --json x.npy.sleek");
                assert_eq!(
                    (info["dtype"].as_str(), info["big_endian"].as_bool()),
                    (Some(dtype.name()), Some(order == '>'))
                );
                bench.ok("decompress -qf x.npy.sleek y.npy");
                let back = bench.get("y.npy");
                assert_eq!(parts(&back), (data, dictionary(&descr, "False", shape)), "version {version}");
                assert_eq!(bench.json("verify --json x.npy x.npy.sleek")["kept"], true, "{descr} {shape}");
                // Without the ending it is the plain bytes.
                bench.ok("decompress -qf x.npy.sleek plain");
                assert_eq!(bench.get("plain"), data);
            }
        }
    }
}

#[test]
fn bounds_boxes_pipes_and_several_streams() {
    let bench = Bench::new();
    let values = wave(6000);
    bench.put("x.npy", &array("<f4", "(60, 100)", &bytes_of(&values)));
    bench.put("plain.f32", &bytes_of(&values));
    for args in ["--abs 1e-2", "--noa 1e-3 --profile small", "--ratio 8", "--psnr 60", "--abs 1e-2 --frame-bytes 4000"]
    {
        bench.ok(&format!("compress -qf {args} x.npy packed"));
        bench.ok(&format!("compress -qf {args} --dims 60,100 plain.f32 same"));
        assert!(bench.get("packed") == bench.get("same"), "{args}: the header is no data");
        bench.ok("decompress -qf packed y.npy");
        let back = bench.get("y.npy");
        let (data, header) = parts(&back);
        assert_eq!(header, dictionary("<f4", "False", "(60, 100)"));
        assert_eq!(bench.json("verify --json x.npy packed")["kept"], true);
        assert_eq!(max_error(&values, &floats_of(data)), bench.json("verify --json plain.f32 packed")["max_error"]);
    }
    // The last one has several streams, of which a pipe cannot tell how long they are.
    let several = bench.get("packed");
    let refused = bench.piped("decompress --npy - -", &several);
    assert!(stderr(&refused).contains("has several streams") && refused.stdout.is_empty(), "{}", stderr(&refused));
    bench.ok("decompress -qf --box 2:3,10:5 --npy packed box");
    let box_ = bench.get("box");
    let (data, header) = parts(&box_);
    assert_eq!(header, dictionary("<f4", "False", "(3, 5)"));
    let expected: Vec<f32> = (2..5).flat_map(|i| values[100 * i + 10..100 * i + 15].to_vec()).collect();
    assert!(max_error(&expected, &floats_of(data)) <= 1e-2);
    bench.fails("decompress --npy --box 59:2,: packed no", "--box");

    // From a pipe, and through one.
    let packed = bench.piped("compress -q --abs 1e-2 - -", &bench.get("x.npy"));
    let back = bench.piped("decompress -q --npy - -", &packed.stdout);
    assert_eq!(parts(&back.stdout).1, dictionary("<f4", "False", "(60, 100)"));
    assert!(max_error(&values, &floats_of(parts(&back.stdout).0)) <= 1e-2);
    // What is compressed from plain bytes can be restored as an NPY file too.
    bench.ok("compress -qf --lossless plain.f32 packed");
    bench.ok("decompress -qf packed y.npy");
    assert_eq!(parts(&bench.get("y.npy")), (&bytes_of(&values)[..], dictionary("<f4", "False", "(6000,)")));
}

/// Fortran's order is turned into C's, on every way in.
#[test]
fn the_order_of_fortran() {
    let bench = Bench::new();
    let (rows, columns) = (50, 70);
    let values = wave(rows * columns);
    let turned: Vec<f32> =
        (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j))).map(|(i, j)| values[i * columns + j]).collect();
    let file = npy(1, &dictionary("<f4", "True", "(50, 70)"), &bytes_of(&turned));
    bench.put("x.npy", &file);
    for args in ["--lossless", "--noa 1e-9", "--lossless --frame-bytes 1000", "--ratio 1.5"] {
        bench.ok(&format!("compress -qf {args} x.npy packed"));
        bench.ok("decompress -qf packed y.npy");
        assert_eq!(parts(&bench.get("y.npy")).1, dictionary("<f4", "False", "(50, 70)"), "{args}");
        assert_eq!(bench.json("verify --json x.npy packed")["kept"], true, "{args}");
    }
    bench.ok("compress -qf --lossless x.npy packed");
    bench.ok("decompress -qf packed plain");
    assert!(bench.get("plain") == bytes_of(&values));
    let piped = bench.piped("compress -q --lossless - -", &file);
    assert!(piped.stdout == bench.get("packed"), "{}", stderr(&piped));
    {
        let found = &bench.json("verify --quality --json x.npy packed");
        assert_eq!((&found["kept"], &found["quality"]["mean_absolute_error"]), (&true.into(), &0.0.into()));
    }
    bench.fails("compress --abs 1 --dims 70,50 x.npy out", "--dims 70x50: x.npy has shape (50, 70), which is 50x70");
    bench.put("cut.npy", &file[..file.len() - 3]);
    bench.fails("compress --abs 1 cut.npy out", "is cut off: 13997 of the 14000 bytes of (50, 70) elements <f4");
    let cut = bench.piped("compress --abs 1 - out", &file[..file.len() - 3]);
    assert!(stderr(&cut).contains("is cut off: 13997 of"), "{}", stderr(&cut));
}

#[test]
fn what_is_no_array_of_ours_is_refused_by_name() {
    let bench = Bench::new();
    let data = bytes_of(&wave(12));
    let whole = array("<f4", "(12,)", &data);
    let fails = |file: &[u8], args: &str, part: &str| {
        bench.put("x.npy", file);
        bench.fails(&format!("compress --lossless {args} x.npy out"), part);
        if args.is_empty() {
            let piped = bench.piped("compress --lossless - out", file);
            let message = stderr(&piped);
            assert!(piped.status.code() == Some(2) && !bench.path("out").exists(), "{message}");
            assert!(message.contains(&part.replace("x.npy", "standard input")), "{message}");
        }
    };
    let with = |descr: &str, shape: &str| array(descr, shape, &data);
    for (args, part) in [
        ("--dtype f64", "--dtype f64: x.npy has elements <f4, which is f32"),
        ("--dtype u8", "--dtype u8: x.npy has elements <f4"),
        ("--dims 3,4", "--dims 3x4: x.npy has shape (12,), which is 12"),
        ("--big-endian", "--big-endian: x.npy has little-endian elements, <f4"),
    ] {
        fails(&whole, args, part);
    }
    for (descr, part) in [
        ("|O", "objects of Python, which cannot be compressed"),
        ("<U4", "<U4, texts"),
        ("<f16", "precision"),
        ("|b1", "|b1, truth values; --dtype i8 or u8 compresses them as such numbers"),
        ("<M8[ns]", "dates or times; --dtype f64 or i64 or u64"),
        ("|V3", "|V3, bytes without a type, which cannot be compressed"),
        ("<c8", "complex numbers, <c8; --dtype f32 takes their real and imaginary parts, as a last dimension of 2"),
        ("<i3", "of no type that we know"),
    ] {
        fails(&with(descr, "(12,)"), "", part);
    }
    fails(
        &npy(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (12,), }", &data),
        "",
        "structured array",
    );
    fails(&array("<f4", "()", &data[..4]), "", "x.npy: has one element and no dimension; --dims 1");
    let many = format!("({})", "1, ".repeat(33));
    fails(&array("<f4", &many, &data[..4]), "", "rank 33; 1 to 32 dimensions are possible; --dims");
    for (shape, part) in [
        ("(13,)", "is cut off: 48 of the 52 bytes of (13,) elements <f4"),
        ("(11,)", "4 bytes follow its array of (11,) elements <f4"),
        ("(0,)", "48 bytes follow its array of (0,)"),
        ("(4294967296, 4294967296)", "more than any file holds"),
        ("(0, 4294967296, 4294967296)", "more than any file holds"),
        ("(-1,)", "shape: [-1] is no list of lengths"),
    ] {
        fails(&with("<f4", shape), "", part);
    }
    fails(&npy(4, &dictionary("<f4", "False", "(12,)"), &data), "", "version 4.0; 1.0, 2.0 and 3.0 are known");
    fails(&whole[..9], "", "its NPY header: the file ends in it");
    fails(&whole[..40], "", "the file ends after 30 of them");
    fails(&[&b"\x93NUMPY\x02\0\xff\xff\xff\xff"[..], &data].concat(), "", "should have 4294967295 bytes");
    fails(b"plain", "", "");
    bench.fails("compress --lossless x.npy out", "is no NPY file: it begins with the bytes [70, 6c, 61, 69, 6e]");
    bench.put("x.npy", &whole);
    bench.fails("compress x.npy out", "a bound is needed");
    bench.put("i.npy", &array("<i4", "(12,)", &data));
    bench.fails("compress --abs 1 i.npy out", "i32");
}

/// What has no type, or no dimensions, of ours is taken as the user says.
#[test]
fn what_the_user_says_it_is() {
    let bench = Bench::new();
    let data = bytes_of(&wave(12));
    for (descr, shape, args, found) in [
        ("|b1", "(48,)", "--dtype u8", ("|u1", "(48,)")),
        ("<M8[s]", "(6,)", "--dtype i64", ("<i8", "(6,)")),
        ("<V2", "(24,)", "--dtype bf16", ("<V2", "(24,)")),
        ("<V2", "(24,)", "--dtype u16", ("<u2", "(24,)")),
        (">c8", "(2, 3)", "--dtype f32", (">f4", "(2, 3, 2)")),
        ("<c16", "(3,)", "--dtype f64 --dims 3,2", ("<f8", "(3, 2)")),
    ] {
        bench.put("x.npy", &array(descr, shape, &data));
        bench.ok(&format!("compress -qf --lossless {args} x.npy packed"));
        bench.ok("decompress -qf packed y.npy");
        assert_eq!(parts(&bench.get("y.npy")), (&data[..], dictionary(found.0, "False", found.1)), "{descr}");
        assert_eq!(bench.json("verify --json x.npy packed")["kept"], true, "{descr}");
    }
    bench.put("x.npy", &array("<f4", "()", &data[..4]));
    bench.ok("compress -qf --lossless --dims 1 x.npy packed");
    bench.put("x.npy", &array("<f4", &format!("({})", "1, ".repeat(32) + "12"), &data));
    bench.ok("compress -qf --lossless --dims 3,4 x.npy packed");
    assert_eq!(bench.json("inspect --json packed")["dims"], json!([3, 4]));
    bench.fails("compress --lossless --dims 3,5 x.npy out", "of 12 elements");
    // Complex numbers in Fortran's order keep their parts together.
    let numbers: Vec<f32> = (0..12).map(|i| i as f32).collect();
    bench.put("x.npy", &npy(1, &dictionary("<c8", "True", "(2, 3)"), &bytes_of(&numbers)));
    bench.ok("compress -qf --lossless --dtype f32 x.npy packed");
    bench.ok("decompress -qf packed plain");
    assert_eq!(floats_of(&bench.get("plain")), [0., 1., 4., 5., 8., 9., 2., 3., 6., 7., 10., 11.]);
}

#[test]
fn other_subcommands_take_it() {
    let bench = Bench::new();
    bench.put("x.npy", &array("<f4", "(60, 100)", &bytes_of(&wave(6000))));
    bench.put("y.npy", &array("<f8", "(2,)", &[0; 16]));
    bench.ok("compress -q --abs 1e-2 x.npy packed");
    bench.fails("verify y.npy packed", "y.npy: has elements <f8, and packed those of f32");
    // Another number of elements is no error of usage, but none of the array's.
    bench.put("short.npy", &array("<f4", "(10, 100)", &bytes_of(&wave(1000))));
    assert_eq!(bench.run("verify short.npy packed").status.code(), Some(1));
    {
        let seen = bench.json("analyze --json x.npy");
        assert_eq!((seen["dtype"].as_str(), seen["count"].as_u64()), (Some("f32"), Some(6000)));
        bench.fails("analyze --dtype f64 x.npy", "--dtype f64: x.npy has elements <f4");
        bench.put("i.npy", &array("<i4", "(2,)", &[0; 8]));
        bench.fails("analyze i.npy", "bounds are for floats");
        assert_eq!(bench.json("verify --json --quality x.npy packed")["missed"], json!([]));
    }
}

/// NumPy of the tests' environments, if they were made.
fn numpy() -> Option<PathBuf> {
    let pythons = ["venv-numpy", "venv-h5py-1.14", "venv-python"].map(|name| common::root().join("build").join(name));
    let found = pythons.into_iter().map(|venv| venv.join("bin/python")).find(|python| python.is_file());
    if found.is_none() {
        eprintln!("passed over: no Python with numpy in build; tests/python.sh makes one");
    }
    found
}

/// What NumPy itself saves and loads.
#[test]
fn numpy_loads_what_it_saved() {
    let Some(python) = numpy() else { return };
    let bench = Bench::new();
    let script = r#"
import subprocess, sys
import numpy as np

sleek = sys.argv[1]
rng = np.random.default_rng(1)
kinds = [o + k for o in "<>" for k in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split()]
shapes = [(1,), (37,), (5, 7), (2, 3, 4, 5), (0,), (4, 0, 2), (1,) * 30 + (3, 2)]
done = 0
for kind in kinds:
    for shape in shapes[done % 3 :: 3]:
        for order in "CF":
            a = np.array(rng.integers(-100, 100, shape)).astype(kind, order=order)
            if a.dtype.kind == "f" and a.size > 3:
                a.flat[1], a.flat[2], a.flat[3] = np.nan, -0.0, np.inf
            np.save("a.npy", a)
            subprocess.run([sleek, "compress", "-qf", "--lossless", "a.npy", "a.npy.sleek"], check=True)
            subprocess.run([sleek, "decompress", "-qf", "a.npy.sleek", "b.npy"], check=True)
            b = np.load("b.npy")
            assert b.shape == a.shape and b.dtype == a.dtype, (kind, shape, order, b.dtype, b.shape)
            assert b.tobytes() == a.tobytes(), (kind, shape, order)
            done += 1
c = (rng.normal(size=(40, 50)) + 1j * rng.normal(size=(40, 50))).astype("c16")
np.save("a.npy", c)
subprocess.run([sleek, "compress", "-qf", "--abs", "1e-3", "--dtype", "f64", "a.npy", "c"], check=True)
subprocess.run([sleek, "decompress", "-qf", "c", "b.npy"], check=True)
back = np.load("b.npy").view("c16")[..., 0]
assert back.dtype == c.dtype and back.shape == c.shape
assert max(abs((back - c).real).max(), abs((back - c).imag).max()) <= 1e-3
for other in rng.random((9, 11)) < 0.5, np.datetime64("2026-01-01") + np.arange(40):
    np.save("a.npy", other)
    size = other.dtype.itemsize
    subprocess.run([sleek, "compress", "-qf", "--lossless", "--dtype", f"u{8 * size}", "a.npy", "c"], check=True)
    subprocess.run([sleek, "decompress", "-qf", "c", "b.npy"], check=True)
    back = np.load("b.npy").view(other.dtype)
    assert back.dtype == other.dtype and np.array_equal(back, other), other.dtype
print(done)
"#;
    let mut command = Command::new(python);
    command.args(["-c", script, env!("CARGO_BIN_EXE_sleek")]).current_dir(bench.dir.path());
    assert_eq!(common::run(&mut command).trim(), "132");
}
