//! `include/sleek.h` is what cbindgen makes of the sources (SLEEK_UPDATE=1 rewrites it), and compiles as C99 and C++11.

use crate::common;
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
    assert!(committed == header, "include/sleek.h is stale: run SLEEK_UPDATE=1 cargo test --test capi");
    assert!(header.is_ascii());
}

#[test]
fn the_filter_id_is_the_librarys() {
    assert!(generate().contains(&format!("#define SLEEK_ID {}\n", sleek::hdf5::FILTER_ID)));
    assert!((32768 + 1..=65535).contains(&sleek::hdf5::FILTER_ID));
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

/// Programs include our headers beside others: what these define begins with our name, or is in our namespace. HDF5's
/// functions for properties and data are called as its own are.
#[test]
fn every_name_is_ours() {
    let is_ours = |name: &str| {
        let like_hdf5 = name.strip_prefix("H5Pset_sleek").or_else(|| name.strip_prefix("H5D"));
        name.starts_with("SLEEK_")
            || name.starts_with("sleek_")
            || name == "sleek"
            || like_hdf5.is_some_and(|rest| rest.is_empty() || rest.starts_with('_') || rest.ends_with("_sleek"))
    };
    let (mut count, mut headers) = (0, 0);
    for entry in std::fs::read_dir(common::root().join("include")).unwrap() {
        let path = entry.unwrap().path();
        if !path.extension().is_some_and(|end| ["h", "hpp", "cuh"].iter().any(|known| end == *known)) {
            continue;
        }
        headers += 1;
        for name in names(&std::fs::read_to_string(&path).unwrap()) {
            assert!(is_ours(&name), "{} defines {name}; SLEEK_... or sleek_... is right", path.display());
            count += 1;
        }
    }
    assert!(headers == 4 && count > 150, "{headers} headers, {count} names");
}

/// What a header defines: macros, and what it declares outside of braces but for those of `extern "C"`; of a namespace
/// its name alone.
fn names(header: &str) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), Vec::new());
    let code = without_comments(header).replace("\\\n", " ");
    for line in code.lines() {
        match line.trim_start().strip_prefix('#').map(str::trim_start) {
            Some(directive) => found.extend(directive.strip_prefix("define ").map(|d| words(d).remove(0))),
            None => rest.extend(words(&line.replace("extern \"C\" {", ""))),
        }
    }
    declared(&rest, &mut found);
    found
}

fn declared(words: &[String], found: &mut Vec<String>) {
    let (mut depth, mut in_enum, mut has_name) = (0, false, false);
    for (i, word) in words.iter().enumerate() {
        let before = |n: usize| i.checked_sub(n).map_or("", |i| words[i].as_str());
        let after = words.get(i + 1).map_or("", String::as_str);
        let is_name = word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        match (depth, word.as_str()) {
            (_, "{") => {
                in_enum = depth == 0 && (before(1) == "enum" || before(2) == "enum");
                depth += 1;
            }
            (1, "}") => (depth, has_name, in_enum) = (0, false, false),
            (_, "}") => depth = (depth - 1i32).max(0),
            (0, ";") => has_name = false,
            (0, _) if is_name && ["struct", "enum", "union", "namespace"].contains(&before(1)) => {
                found.push(word.clone())
            }
            (0, _) if is_name && before(1) == "}" && after == ";" => found.push(word.clone()),
            (0, _) if is_name && after == "(" && !has_name => {
                found.push(word.clone());
                has_name = true;
            }
            (1, _) if in_enum && is_name && ["{", ","].contains(&before(1)) => found.push(word.clone()),
            _ => {}
        }
    }
}

/// Identifiers and single marks.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_open = false;
    for c in text.chars() {
        let is_part = c.is_alphanumeric() || c == '_';
        match words.last_mut().filter(|_| is_open && is_part) {
            Some(word) => word.push(c),
            None if !c.is_whitespace() => words.push(c.into()),
            None => {}
        }
        is_open = is_part;
    }
    words
}

fn without_comments(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        kept += &rest[..at];
        let end = if rest[at..].starts_with("/*") { "*/" } else { "\n" };
        let behind = rest[at..].find(end).map_or(rest.len(), |n| at + n);
        rest = &rest[(behind + if end == "*/" { 2 } else { 0 }).min(rest.len())..];
    }
    kept + rest
}

#[test]
fn names_of_a_header_are_found() {
    let header = "#define A_1 2 // B\n/* #define C 1 */\nextern \"C\" {\n#  define D(x) E(x)\nenum { F, G = 3 };\n\
        typedef enum h { I = 1,\n J } K;\nstruct L { int m; };\nint *N(const O *p, void (*q)(int));\n\
        static inline int R(int s) { return t(s); }\n}\nnamespace U { int v(); class W {}; }\n";
    let mut found = names(header);
    found.sort();
    assert_eq!(found, ["A_1", "D", "F", "G", "I", "J", "K", "L", "N", "R", "U", "h"]);
}
