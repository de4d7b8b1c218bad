//! `inspect`, `h5args` and `doctor`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::{Bench, bytes_of, common, wave};

#[test]
fn inspect_shows_what_is_inside() {
    let bench = Bench::new();
    bench.put("in", &bytes_of(&[wave(8192), vec![0.5; 8192]].concat()));
    bench.ok("compress --dtype f32 --abs 1e-3 in packed");
    let info = bench.json("inspect --json packed");
    assert_eq!((&info["dtype"], &info["mode"], &info["bound"]), (&"f32".into(), &"abs".into(), &1e-3.into()));
    assert_eq!((&info["chunks"]["constant"], &info["chunks"]["packed"]), (&2.into(), &2.into()));
    let table = String::from_utf8(bench.ok("inspect packed")).unwrap();
    for part in ["16384 f32", "abs 1e-3", "constant", "50.0 %"] {
        assert!(table.contains(part), "no '{part}' in\n{table}");
    }
    bench.ok("compress -f --dtype f32 --abs 1e-60 in packed");
    let table = String::from_utf8(bench.ok("inspect packed")).unwrap();
    assert!(table.contains("losslessly"), "{table}");
    // Digits of a number that is very small or large are not counted by zeros.
    for (scale, exponent) in [(1e-30f32, Some("e-29")), (1e30, Some("e31")), (1.0, None)] {
        bench.put("in", &bytes_of(&wave(8192).iter().map(|v| v * scale).collect::<Vec<_>>()));
        bench.ok("compress -f --dtype f32 --noa 1e-3 in packed");
        let table = String::from_utf8(bench.ok("inspect packed")).unwrap();
        let range = table.split("of the value range ").nth(1).unwrap().split([':', '\n']).next().unwrap();
        assert!(range.len() < 25 && range.find('e').map(|at| &range[at..]) == exponent, "{range}");
    }
}

#[test]
fn h5args_agree_with_each_other() {
    let bench = Bench::new();
    let json = bench.json("h5args --abs 1e-3 --json");
    let words: Vec<u32> = json["cd_values"].as_array().unwrap().iter().map(|w| w.as_u64().unwrap() as u32).collect();
    assert_eq!(f64::from_bits(u64::from(words[2]) | u64::from(words[3]) << 32), 1e-3);
    let id = &json["filter_id"];
    let text = String::from_utf8(bench.ok("h5args --abs 1e-3")).unwrap();
    let joined = |separator: &str| words.iter().map(u32::to_string).collect::<Vec<_>>().join(separator);
    let n = words.len();
    assert!(text.contains(&format!("UD={id},0,{n},{}", joined(","))), "{text}");
    assert_eq!(text.matches("UD=").count(), 1, "grep takes the argument of h5repack out of {text}");
    assert!(text.contains(&format!("'VAR,{id},{}'", joined(","))), "{text}");
    assert!(text.contains(&format!("compression={id}, compression_opts=({})", joined(", "))), "{text}");
    assert!(text.contains(&format!("cd_values({n}) = ")) && !text.contains(&format!("[{}]", joined(", "))), "{text}");
    for (arguments, words) in [
        ("--abs 1e-3", "abs=1e-3"),
        ("--noa 1e-4", "noa=1e-4"),
        ("--noa 1e-4 --range 50", "noa=1e-4,range=5e1"),
        ("--lossless", "lossless"),
        ("--lossless --profile fast", "lossless,profile=fast"),
        ("--abs 1e-3 --fill 0x7fc00000 --fill 1e20", "abs=1e-3,fill=0x7fc00000,fill=1e20"),
        ("--noa 1e-4 --range 50 --fill -9999", "noa=1e-4,range=5e1,fill=-9.999e3"),
    ] {
        let text = String::from_utf8(bench.ok(&format!("h5args {arguments}"))).unwrap();
        for line in [
            format!("H5Pset_sleek(dcpl, \"{words}\");"),
            format!("call h5pset_sleek_f(dcpl, \"{words}\", error)"),
            format!("**sleek.h5(\"{words}\"))"),
        ] {
            assert!(text.contains(&line), "{line} is missing: {text}");
        }
    }
    // What h5repack takes, alone.
    let alone = String::from_utf8(bench.ok("h5args --ud --abs 1e-3")).unwrap();
    assert_eq!(alone, "UD=47474,0,5,1,1,3539053052,1062232653,0\n");
    bench.fails("h5args --ud --json --abs 1e-3", "--json");
    let help = String::from_utf8(bench.ok("--help")).unwrap();
    assert!(help.contains("\n  completions "), "{help}");
    let help = String::from_utf8(bench.ok("h5args --help")).unwrap();
    assert!(help.contains("each HDF5 chunk") && !help.contains("whole array"), "{help}");
    bench.fails("h5args", "--abs");
    bench.fails("h5args --abs inf", "inf");
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_finds_fault_and_cure() {
    let bench = Bench::new();
    // The command as it is installed, and a plugin directory of our own: HDF5 opens every library that it finds in one.
    for dir in ["bin", "lib", "plugins", "bare"] {
        fs::create_dir(bench.path(dir)).unwrap();
    }
    fs::copy(env!("CARGO_BIN_EXE_sleek"), bench.path("bin/sleek")).unwrap();
    for place in ["lib", "plugins"] {
        fs::copy(common::libsleek(), bench.path(place).join("libsleek.so")).unwrap();
    }
    let doctor = |path: PathBuf, variables: &[(&str, &str)]| {
        let mut command = Command::new(bench.path("bin/sleek"));
        command.arg("doctor").env("HDF5_PLUGIN_PATH", path).envs(variables.iter().copied());
        let out = common::output(&mut command);
        (out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned())
    };
    let (code, text) = doctor(bench.path("plugins"), &[]);
    assert!(code == Some(0) && text.contains("All is well") && text.contains("read back within the bound"), "{text}");
    assert!(["adaptive", "fast", "small"].iter().all(|profile| text.contains(&format!("({profile})"))), "{text}");
    let (code, text) = doctor(bench.path("bare"), &[]);
    assert!(code == Some(1) && text.contains("no libsleek.so") && text.contains("NOT FOUND"), "{text}");
    // The joined line keeps what is named and adds the command's own folder.
    let (bare, own) = (bench.path("bare"), fs::canonicalize(bench.path("lib")).unwrap());
    let joined = format!("export HDF5_PLUGIN_PATH={}:{}", bare.display(), own.display());
    assert!(text.ends_with(&format!("\nTo paste\n  {joined}\n")), "{text}");
    let (_, text) = doctor(bench.path("plugins"), &[]);
    assert!(text.lines().any(|line| line.starts_with("GPU: ")), "{text}");
    assert!(text.contains(&format!("export HDF5_PLUGIN_PATH={}", bench.path("plugins").display())), "{text}");
    assert!(!text.contains(&own.join(":").display().to_string()), "{text}");
    // Wheels that bring plugins of their own, as a Python tells of them.
    fs::create_dir(bench.path("wheel")).unwrap();
    let tells = format!("#!/bin/sh\necho netCDF4 {}\n", bench.path("wheel").display());
    fs::write(bench.path("bin/python3"), tells).unwrap();
    fs::set_permissions(bench.path("bin/python3"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let with_python = format!("{}:/usr/bin:/bin", bench.path("bin").display());
    let (_, text) = doctor(bench.path("bare"), &[("PATH", &with_python)]);
    assert!(text.contains(&format!("{joined}:{}", bench.path("wheel").display())), "{text}");
    // Of a library that a package of Python brings, `import sleek` is enough.
    let linked = text.lines().find(|line| line.ends_with("(linker cache)")).expect("a libhdf5 of the system");
    let linked = linked.trim().trim_end_matches(" (linker cache)");
    fs::create_dir(bench.path("h5py.libs")).unwrap();
    std::os::unix::fs::symlink(linked, bench.path("h5py.libs/libhdf5.so")).unwrap();
    let (package, h5py) = (bench.path("plugins"), bench.path("h5py"));
    let (package, h5py) = (package.display(), h5py.display());
    let tells = format!("#!/bin/sh\ncase \"$*\" in *hdf5plugin*) echo sleek {package};; *) echo h5py {h5py};; esac\n");
    fs::write(bench.path("bin/python3"), tells).unwrap();
    let (_, text) = doctor(bench.path("bare"), &[("PATH", &with_python)]);
    let of_h5py = text.split_once(&format!("{linked} (of h5py in python3)")).expect(&text).1;
    let of_h5py = of_h5py.split("\n\n").next().unwrap();
    assert!(of_h5py.contains("NOT FOUND") && of_h5py.contains("behind \"import sleek\" it works"), "{text}");
    assert!(text.contains("\n  import sleek "), "{text}");
    let (code, text) = doctor(bench.path("missing"), &[]);
    assert!(code == Some(1) && text.contains("does not exist") && text.contains("remove "), "{text}");
    let (code, text) = doctor(bench.path("plugins"), &[("SLEEK_NUM_THREADS", "four"), ("SLEEK_PARAMS", "abs=x")]);
    assert!(code == Some(1) && text.contains("SLEEK_NUM_THREADS is 'four'"), "{text}");
    assert!(text.contains("SLEEK_PARAMS: 'abs=x' needs a number") && !text.contains("please report"), "{text}");
    // Which level of instructions runs, and why.
    let best = sleek::exec::Isa::best().level().name();
    assert!(text.contains(&format!("\nInstructions: {best}")), "{text}");
    for level in sleek::exec::Level::ALL.into_iter().filter(|level| level.is_available()) {
        let (_, text) = doctor(bench.path("plugins"), &[("SLEEK_SIMD", level.name())]);
        let why = if level.name() == best { "" } else { ", as SLEEK_SIMD says; this processor has " };
        assert!(text.contains(&format!("\nInstructions: {}{why}", level.name())), "{text}");
    }
    // A request that is coarser than the one that is tried.
    for request in ["abs=5", "noa=1e-2", "rel=1e-1"] {
        let (code, text) = doctor(bench.path("plugins"), &[("SLEEK_PARAMS", request)]);
        assert!(code == Some(0) && text.contains(&format!("SLEEK_PARAMS: {request}")), "{text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn doctor_survives_what_is_no_library() {
    let bench = Bench::new();
    bench.put("libhdf5.so", b"not a library");
    let out = bench.run("doctor --library libhdf5.so");
    assert_eq!(out.status.code(), Some(1));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(text.contains("libhdf5.so (named by --library)") && text.contains("FAILS"), "{text}");
}
