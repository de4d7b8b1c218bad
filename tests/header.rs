//! `include/sleek.h` is what cbindgen makes of the sources (SLEEK_UPDATE=1 rewrites it), and compiles as C99 and C++11.

mod common;

use std::process::Command;

/// Modules that these declare are read too.
const SOURCES: [&str; 3] = ["src/api/hdf5_filter/mod.rs", "src/api/c/types.rs", "src/api/c/mod.rs"];

fn generate() -> String {
    let root = common::root();
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    config.after_includes = Some(format!(
        "\n// The version of this header; sleek_version() tells that of the library.\n#define SLEEK_VERSION \
        \"{version}\""
    ));
    let builder = SOURCES.iter().fold(cbindgen::Builder::new(), |b, file| b.with_src(root.join(file)));
    let mut text = Vec::new();
    builder.with_config(config).generate().expect("cbindgen reads our sources").write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn the_committed_header_is_fresh() {
    let path = common::root().join("include/sleek.h");
    let header = generate();
    if std::env::var_os("SLEEK_UPDATE").is_some() {
        std::fs::write(&path, &header).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(committed == header, "include/sleek.h is stale: run SLEEK_UPDATE=1 cargo test --test header");
    assert!(header.is_ascii());
}

#[test]
fn every_function_is_declared_once() {
    let header = generate();
    let symbols = std::fs::read_to_string(common::root().join("tests/abi/symbols.txt")).unwrap();
    // HDF5 and netCDF look the plugin's functions up by name, and so do interpreters the registration, which is a macro
    // of sleek_hdf5.h for C.
    let looked_up = |name: &str| name.starts_with("H5PL") || name.starts_with("NCZ_") || name == "sleek_h5_register";
    for name in symbols.lines().filter(|name| !looked_up(name)) {
        let call = format!("{name}(");
        let declares = |line: &&str| {
            let before = line.split(&call).next().filter(|before| before.len() < line.len());
            line.starts_with(char::is_alphabetic) && before.is_some_and(|b| b.ends_with([' ', '*']))
        };
        let declared = header.lines().filter(declares);
        assert_eq!(declared.count(), 1, "{name}");
    }
}

#[test]
fn the_filter_id_is_the_librarys() {
    assert!(generate().contains(&format!("#define SLEEK_ID {}\n", sleek::api::hdf5_filter::FILTER_ID)));
    assert!((32768 + 1..=65535).contains(&sleek::api::hdf5_filter::FILTER_ID));
}

#[test]
fn the_header_compiles_alone_and_twice() {
    let dir = tempfile::tempdir().unwrap();
    for (compiler, standard, file) in [
        ("cc", "-std=c99", "twice.c"),
        ("cc", "-std=c11", "twice.c"),
        ("c++", "-std=c++11", "twice.cpp"),
        ("c++", "-std=c++20", "twice.cpp"),
    ] {
        let source = dir.path().join(file);
        std::fs::write(&source, "#include <sleek.h>\n#include <sleek.h>\nint sleek_header_is_fine;\n").unwrap();
        common::run(
            Command::new(compiler)
                .args([standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"])
                .arg("-I")
                .arg(common::root().join("include"))
                .arg(&source),
        );
    }
}
