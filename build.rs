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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    println!("cargo::rerun-if-changed=kernels/modules.toml");
    println!("cargo::rerun-if-changed=kernels/modules.rs");
    let text = std::fs::read_to_string(folder.join("modules.toml")).expect("kernels/modules.toml");
    let out = std::env::var_os("OUT_DIR").expect("OUT_DIR");
    std::fs::write(Path::new(&out).join("modules.rs"), table(&modules::read(&text), &folder))
        .expect("OUT_DIR/modules.rs");
}

/// The modules as the Rust tables that `src/runtime/cuda/module.rs` includes.
fn table(rows: &[modules::Row], kernels: &Path) -> String {
    let folders: BTreeSet<&String> = rows.iter().map(|row| &row.folder).collect();
    let mut rust = String::new();
    for folder in &folders {
        let archive = kernels.join(folder).join("kernels.bin");
        let _ = writeln!(rust, "static {}: &[u8] = include_bytes!({archive:?});", folder.to_uppercase());
    }
    rust += "static MODULES: &[Row] = &[\n";
    for modules::Row { folder, codec, name, dtypes, part, entries, .. } in rows {
        let _ = writeln!(
            rust,
            "Row {{ folder: {folder:?}, codec: {codec}, name: {name:?}, dtypes: &{dtypes:?}, part: {part:?}, entries: &{entries:?}, archive: {} }},",
            folder.to_uppercase()
        );
    }
    rust + "];\n"
}
