//! `sleek test`, and what `sleek decompress` says of files of other programs.

use std::fs;

use super::{Bench, bytes_of, stderr, wave};

#[test]
fn damage_is_found_where_it_is() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(50_000)));
    bench.ok("compress --frame-bytes 65536 --dtype f32 --abs 1e-3 in a.sleek");
    bench.ok("compress --dtype f32 --abs 1e-3 --profile small in b.sleek");
    let said = String::from_utf8(bench.ok("test a.sleek b.sleek")).unwrap();
    assert_eq!(said, "a.sleek: whole, 4 tested\nb.sleek: whole, 1 tested\n");
    assert!(bench.ok("test -q a.sleek").is_empty());
    let whole = bench.get("a.sleek");
    for at in [40, whole.len() / 2, whole.len() - 100] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        bench.put("a.sleek", &bytes);
        let out = bench.run("test -q a.sleek b.sleek");
        let said = String::from_utf8(out.stdout.clone()).unwrap();
        assert_eq!(out.status.code(), Some(1), "{at}: {}", stderr(&out));
        assert!(said.starts_with("a.sleek: DAMAGED: ") && said.lines().count() == 1, "{at}: {said}");
        assert!(at < 100 || said.contains(" at byte "), "{at}: {said}");
    }
    bench.put("a.sleek", &whole[..whole.len() - 1]);
    assert_eq!(bench.run("test a.sleek").status.code(), Some(1));
    bench.fails("test none", "none");
}

#[test]
fn folders_are_looked_through() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(5000)));
    fs::create_dir_all(bench.path("runs/deep")).unwrap();
    bench.ok("compress --dtype f32 --lossless in runs/deep/x.sleek");
    bench.put("runs/notes.txt", b"no stream");
    bench.fails("test runs", "-r takes what is in it");
    let said = String::from_utf8(bench.ok("test -r runs")).unwrap();
    assert_eq!(said, "runs/deep/x.sleek: whole, 1 tested\n");
    fs::remove_file(bench.path("runs/deep/x.sleek")).unwrap();
    bench.fails("test -r runs", "no compressed or HDF5 file");
}

#[test]
fn files_of_other_programs_are_known() {
    let bench = Bench::new();
    let files: [(&str, &[u8], &str); 4] = [
        ("x.npz", b"PK\x03\x04....", "a ZIP file"),
        ("x.gz", b"\x1f\x8b\x08.....", "a gzip file: gunzip it first"),
        ("x.npy", b"\x93NUMPY\x01\x00", "an NPY file"),
        ("x.nc", b"CDF\x09....", "a classic netCDF file"),
    ];
    for (name, bytes, part) in files {
        bench.put(name, bytes);
        bench.fails(&format!("decompress {name} out"), part);
    }
}

#[test]
fn sizes_have_units_and_wide_bounds_are_asked_about() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&wave(100_000)));
    bench.ok("compress --dtype f32 --size 100k in a");
    assert!(bench.get("a").len() <= 100_000);
    bench.fails("compress --dtype f32 --size 1.5X in b", "'1.5X' is not a number of bytes");
    bench.fails("compress --dtype f32 --noa 0.6 in b", "--force if that is meant");
    bench.ok("compress --dtype f32 --noa 0.6 --force in b");
}
