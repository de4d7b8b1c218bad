//! Link options of `libsleek.so`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // Programs that link the library ask for its ABI, not for a file name that a newer ABI may take over.
        let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libsleek.so.{major}");
        // HDF5 closes its plugins at exit, while threads of our pool may still run code of the library.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
