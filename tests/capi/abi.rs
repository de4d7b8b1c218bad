//! What `libsleek.so` needs and offers, as the dynamic linker sees it.

use crate::common;
use std::collections::BTreeSet;
use std::process::Command;

fn tool(name: &str, arguments: &[&str]) -> String {
    common::run(Command::new(name).args(arguments).arg(common::libsleek()))
}

#[test]
fn it_exports_the_committed_symbols_and_no_others() {
    let exported = tool("nm", &["-D", "--defined-only"]);
    let mut exported: Vec<&str> = exported.lines().filter_map(|l| l.split_whitespace().nth(2)).collect();
    exported.sort_unstable();
    let committed = std::fs::read_to_string(common::root().join("tests/abi/symbols.txt")).unwrap();
    assert_eq!(exported, committed.lines().collect::<Vec<_>>(), "left: the library, right: tests/abi/symbols.txt");
}

#[test]
fn it_needs_neither_hdf5_nor_cuda() {
    let dynamic = tool("readelf", &["-dW"]);
    let needed: Vec<&str> = dynamic.lines().filter(|l| l.contains("(NEEDED)")).collect();
    assert!(!needed.is_empty(), "{dynamic}");
    for line in &needed {
        let system = ["[libc.so", "[libm.so", "[libgcc_s.so", "[libpthread.so", "[libdl.so", "[ld-linux"];
        assert!(system.iter().any(|s| line.contains(s)), "{line}");
    }
    let undefined = tool("nm", &["-D", "--undefined-only"]);
    for name in undefined.lines().filter_map(|l| l.split_whitespace().last()) {
        assert!(!name.starts_with("H5") && !name.starts_with("cu") && !name.starts_with("MPI"), "{name}");
    }
}

#[test]
fn it_has_its_abis_name_and_is_never_unloaded() {
    let dynamic = tool("readelf", &["-dW"]);
    let soname = format!("[libsleek.so.{}]", env!("CARGO_PKG_VERSION_MAJOR"));
    assert!(dynamic.lines().any(|l| l.contains("(SONAME)") && l.contains(&soname)), "{dynamic}");
    assert!(dynamic.lines().any(|l| l.contains("(FLAGS_1)") && l.contains("NODELETE")), "{dynamic}");
    assert!(!dynamic.contains("TEXTREL") && !dynamic.contains("RUNPATH") && !dynamic.contains("RPATH"), "{dynamic}");
}

/// A C program that prints the value of every enumerator of the header, and place and size of every field of its
/// structs.
fn layout_program(header: &str) -> String {
    let mut body = String::new();
    let mut inside: Option<&str> = None;
    for line in header.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("typedef struct ").and_then(|l| l.strip_suffix(" {")) {
            body += &format!("    printf(\"struct {name} %zu\\n\", sizeof({name}));\n");
            inside = Some(name);
        } else if line.starts_with('}') {
            inside = None;
        } else if let Some((name, _)) = line.split_once(" = ").filter(|(name, _)| name.starts_with("SLEEK_")) {
            body += &format!("    printf(\"{name} %d\\n\", (int){name});\n");
        } else if let (Some(of), Some(field)) = (inside, line.strip_suffix(';').filter(|l| !l.starts_with("//"))) {
            let name = field.rsplit([' ', '*']).next().unwrap().split('[').next().unwrap();
            body += &format!(
                "    printf(\"{of}.{name} %zu %zu\\n\", offsetof({of}, {name}), sizeof((({of} *)0)->{name}));\n"
            );
        }
    }
    format!("#include <sleek.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{\n{body}    return 0;\n}}\n")
}

#[test]
fn structs_and_enumerators_are_those_of_the_committed_list() {
    let include = common::root().join("include");
    let dir = tempfile::tempdir().unwrap();
    let (source, program) = (dir.path().join("layout.c"), dir.path().join("layout"));
    std::fs::write(&source, layout_program(&std::fs::read_to_string(include.join("sleek.h")).unwrap())).unwrap();
    common::run(
        Command::new("cc").args(["-std=c99", "-Werror", "-I"]).arg(include).arg(source).arg("-o").arg(&program),
    );
    let found = common::run(&mut Command::new(program));
    let path = common::root().join("tests/abi/layout.txt");
    if std::env::var_os("SLEEK_UPDATE").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    // New enumerators and fields in reserved places are added to the list; what is in it never changes (64-bit
    // machines).
    assert_eq!(found, committed, "left: include/sleek.h, right: tests/abi/layout.txt");
}

/// The prototypes of a header, one a line, without comments and line breaks.
fn prototypes(header: &str) -> String {
    let code: Vec<&str> = header.lines().map(str::trim).filter(|l| !l.starts_with(['/', '*', '#'])).collect();
    let words = code.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    let statements = words.split_inclusive(&[';', '{', '}'][..]).map(str::trim);
    let mut found: Vec<&str> = statements.filter(|s| s.contains(" *sleek_") || s.contains(" sleek_")).collect();
    found.retain(|s| s.ends_with(");") && !s.contains("typedef"));
    found.sort_unstable_by_key(|s| s.split(" *sleek_").flat_map(|s| s.split(" sleek_")).nth(1).map(str::to_owned));
    found.join("\n") + "\n"
}

#[test]
fn prototypes_are_those_of_the_committed_list() {
    let read = |path| std::fs::read_to_string(common::root().join(path)).unwrap();
    let (header, hdf5) = (read("include/sleek.h"), read("include/sleek_hdf5.h"));
    let (found, path) = (prototypes(&header), common::root().join("tests/abi/prototypes.txt"));
    if std::env::var_os("SLEEK_UPDATE").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    // None is missing: what a header calls by a macro has no prototype.
    for name in read("tests/abi/symbols.txt").lines().filter(|name| name.starts_with("sleek_")) {
        assert!(found.contains(&format!("{name}(")) || hdf5.contains(&format!("{name}()")), "no header has {name}");
    }
    let committed = read("tests/abi/prototypes.txt");
    assert_eq!(found, committed, "left: include/sleek.h, right: tests/abi/prototypes.txt");
}

/// The names in the first column of the tables of a part of a page.
fn listed(part: &str) -> BTreeSet<String> {
    let rows = part.lines().filter_map(|line| line.strip_prefix("|`")?.split('|').next());
    rows.flat_map(|row| row.split(['`', ',', ' '])).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// What the root of the crate publishes, but for what it hides from its pages.
fn published(root: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut before = "";
    for line in root.lines() {
        let hidden = before == "#[doc(hidden)]";
        before = line;
        for kind in ["pub mod ", "pub fn ", "pub const ", "pub use "] {
            let Some(rest) = line.strip_prefix(kind).filter(|_| !hidden) else { continue };
            let rest = rest.rsplit("::").next().unwrap();
            let end = rest.find(['(', ':', '<', ';']).unwrap_or(rest.len());
            names.extend(rest[..end].split(['{', '}', ',', ' ']).filter(|n| !n.is_empty()).map(str::to_owned));
        }
    }
    names
}

#[test]
fn the_page_of_what_is_public_lists_all_of_it() {
    let read = |path| std::fs::read_to_string(common::root().join(path)).unwrap();
    let page = read("docs/reference/api.md");
    let part = |of: &str| page.split("\n## ").find(|part| part.starts_with(of)).unwrap();
    let (c, rust) = (part("C:"), part("Rust:"));
    let exported = read("tests/abi/symbols.txt");
    let exported = exported.lines().filter(|name| name.starts_with("sleek_")).map(str::to_owned);
    assert_eq!(listed(c), exported.collect(), "left: the page, right: tests/abi/symbols.txt");
    assert_eq!(listed(rust), published(&read("src/lib.rs")), "left: the page, right: src/lib.rs");
}
