//! Link options of `libsleek.so`, and the table of kernels that the loader reads.

#[path = "kernels/modules.rs"]
mod modules;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // Programs that link the library ask for its ABI, not for a file name that a newer ABI may take over.
        let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsleek.so.{major}");
        // HDF5 closes its plugins at exit, while threads of our pool may still run code of the library.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
    // Asked for when it runs: folders that share a target folder share the compiled script too.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").expect("CARGO_MANIFEST_DIR");
    // The package as it is published has the feature, but not the codecs of tests.
    println!("cargo::rustc-check-cfg=cfg(test_codecs)");
    if std::env::var_os("CARGO_FEATURE_TEST_CODECS").is_some() {
        println!("cargo::rerun-if-changed=tests/codecs");
        if Path::new(&manifest).join("tests/codecs").is_dir() {
            println!("cargo::rustc-cfg=test_codecs");
        }
    }
    println!("cargo::rerun-if-changed=kernels/modules.toml");
    println!("cargo::rerun-if-changed=kernels/modules.rs");
    let text =
        std::fs::read_to_string(Path::new(&manifest).join("kernels/modules.toml")).expect("kernels/modules.toml");
    let out = std::env::var_os("OUT_DIR").expect("OUT_DIR");
    std::fs::write(Path::new(&out).join("modules.rs"), table(&modules::read(&text))).expect("OUT_DIR/modules.rs");
}

/// The modules as the Rust tables that `src/runtime/cuda/module.rs` includes.
fn table(rows: &[modules::Row]) -> String {
    let archives: BTreeSet<(&String, &String)> = rows.iter().map(|row| (&row.folder, &row.feature)).collect();
    let mut rust = String::new();
    for (k, (folder, feature)) in archives.iter().enumerate() {
        // The compiler finds the folder: the script does not run again for another one that shares its target folder.
        let _ = writeln!(
            rust,
            "{}static ARCHIVE_{k}: &[u8] = \
             include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/kernels/{folder}/kernels.bin\"));",
            only_with(feature)
        );
    }
    rust += "static MODULES: &[KernelRow] = &[\n";
    for row in rows {
        let modules::Row { folder, codec, name, dtypes, part, entries, feature, .. } = row;
        let k = archives.iter().position(|archive| *archive == (folder, feature)).unwrap_or_default();
        let _ = writeln!(
            rust,
            "{}KernelRow {{ folder: {folder:?}, codec: {codec}, name: {name:?}, dtypes: &{dtypes:?}, part: {part:?}, \
             entries: &{entries:?}, \
             archive: ARCHIVE_{k} }},",
            only_with(feature)
        );
    }
    rust + "];\n"
}

/// What stands before an item of the table that the library has with a feature alone.
fn only_with(feature: &str) -> String {
    match feature {
        "" => String::new(),
        "test-codecs" => "#[cfg(test_codecs)] ".into(),
        _ => format!("#[cfg(feature = {feature:?})] "),
    }
}
