//! What `libsleek.so` needs and offers, as the dynamic linker sees it.
#![cfg(target_os = "linux")]

mod common;

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
