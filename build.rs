//! Link options of `libsleek.so`, and the table of kernels that the loader reads, with what `make kernels` built.

use std::env::var_os;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What stands behind the last point of a stream's name, and the architecture: 0 is PTX.
const KINDS: [(&str, u8); 3] = [("sm_80", 80), ("sm_90", 90), ("ptx", 0)];

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
    let manifest = PathBuf::from(var_os("CARGO_MANIFEST_DIR").expect("CARGO_MANIFEST_DIR"));
    // The package as it is published has the feature, but not the codecs of tests.
    println!("cargo::rustc-check-cfg=cfg(test_codecs)");
    let has_test_codecs = var_os("CARGO_FEATURE_TEST_CODECS").is_some() && manifest.join("tests/codecs").is_dir();
    if var_os("CARGO_FEATURE_TEST_CODECS").is_some() {
        println!("cargo::rerun-if-changed=tests/codecs");
    }
    if has_test_codecs {
        println!("cargo::rustc-cfg=test_codecs");
    }
    println!("cargo::rustc-check-cfg=cfg(kernels_are_built)");
    if var_os("CARGO_FEATURE_CUDA").is_none() {
        return;
    }
    println!("cargo::rerun-if-changed=kernels/modules.toml");
    let text = std::fs::read_to_string(manifest.join("kernels/modules.toml")).expect("kernels/modules.toml");
    let rows = text.split("[[module]]").skip(1).map(Row).filter(|row| has_test_codecs || !row.has("feature"));
    let out = PathBuf::from(var_os("OUT_DIR").expect("OUT_DIR"));
    let built = built(&manifest, &out);
    if built.is_some() {
        println!("cargo::rustc-cfg=kernels_are_built");
    }
    std::fs::write(out.join("modules.rs"), table(rows, built.as_deref())).expect("OUT_DIR/modules.rs");
}

/// The folder that `make kernels` filled: `SLEEK_KERNELS`, or of the published package, or in the target folder. None
/// where there is none, or `SLEEK_KERNELS` is `none`.
fn built(manifest: &Path, out: &Path) -> Option<PathBuf> {
    println!("cargo::rerun-if-env-changed=SLEEK_KERNELS");
    let stamp = |folder: &Path| folder.join("built");
    let asked = var_os("SLEEK_KERNELS").filter(|asked| !asked.is_empty());
    if asked.as_ref().is_some_and(|asked| asked == "none") {
        return None;
    }
    if let Some(folder) = asked.map(|asked| manifest.join(asked)) {
        assert!(stamp(&folder).is_file(), "SLEEK_KERNELS={}: no kernels are there", folder.display());
        println!("cargo::rerun-if-changed={}", stamp(&folder).display());
        return Some(folder);
    }
    let packed = manifest.join("kernels/built");
    if stamp(&packed).is_file() {
        return Some(packed);
    }
    // The target folder is above this; what is built for another target, or in a folder of its own, may lie deeper.
    let found = out.ancestors().map(|above| above.join("kernels")).find(|folder| stamp(folder).is_file());
    let Some(folder) = found else {
        // Cargo marks target folders. A folder that is not there would count as changed in every build.
        if let Some(target) = out.ancestors().find(|above| above.join("CACHEDIR.TAG").is_file()) {
            let _ = std::fs::create_dir_all(target.join("kernels"));
            println!("cargo::rerun-if-changed={}", target.join("kernels").display());
        }
        return None;
    };
    println!("cargo::rerun-if-changed={}", stamp(&folder).display());
    println!("cargo::rerun-if-changed=kernels");
    if let Some(source) = newer(&manifest.join("kernels"), modified(&stamp(&folder))) {
        println!("cargo::warning={} is newer than the compiled kernels: make kernels", source.display());
    }
    Some(folder)
}

fn modified(path: &Path) -> SystemTime {
    path.metadata().and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A source of kernels in `folder` that changed after `built`.
fn newer(folder: &Path, built: SystemTime) -> Option<PathBuf> {
    std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).find_map(|path| {
        let is_source =
            path.extension().is_some_and(|e| ["cu", "cuh", "h", "toml", "py"].iter().any(|known| e == *known));
        if path.is_dir() { newer(&path, built) } else { (is_source && modified(&path) > built).then_some(path) }
    })
}

/// The modules of all rows as the Rust table that `src/runtime/cuda/module.rs` includes.
fn table<'a>(rows: impl Iterator<Item = Row<'a>>, built: Option<&Path>) -> String {
    let mut rust = String::from("static MODULES: &[KernelRow] = &[\n");
    for row in rows {
        let (folder, part) =
            (row.string("source").rsplit_once('/').expect("source = \"folder/file\"").0, row.string("part"));
        let codec = folder.rsplit('/').next().unwrap_or(folder);
        let mut packed = String::new();
        for (kind, arch) in KINDS {
            let Some(place) = built else { break };
            let file = place.join(format!("{codec}-{part}.{kind}.lzma"));
            assert!(file.is_file(), "{} is missing: make kernels", file.display());
            let _ = write!(packed, "({arch}, include_bytes!({file:?})), ");
        }
        let types: Vec<_> = row.strings("types").map(|of| of.split_once(" = ").expect("\"type = types\"")).collect();
        for (of, dtypes) in if types.is_empty() { vec![("", "")] } else { types } {
            let name = [if of.is_empty() { codec } else { of }, part].join("-");
            let entries: Vec<_> = row.strings("kernels").map(|one| one.replace('*', of)).collect();
            let entries: Vec<_> = entries.iter().map(|one| one.split_once(" = ").expect("\"role = kernel\"")).collect();
            let _ = writeln!(
                rust,
                "KernelRow {{ folder: {folder:?}, codec: {}, name: {:?}, dtypes: &{:?}, part: {part:?}, \
                 entries: &{entries:?}, packed: &[{packed}] }},",
                row.value("codec"),
                name.strip_suffix("-base").unwrap_or(&name),
                dtypes.split_whitespace().collect::<Vec<_>>(),
            );
        }
    }
    rust + "];\n"
}

/// A row of `modules.toml`: values are strings, numbers and lists of strings.
struct Row<'a>(&'a str);

impl<'a> Row<'a> {
    fn has(&self, key: &str) -> bool {
        self.0.contains(&format!("\n{key} = "))
    }

    fn value(&self, key: &str) -> &'a str {
        let at = self.0.find(&format!("\n{key} = ")).unwrap_or_else(|| panic!("modules.toml: no {key} in\n{}", self.0));
        let rest = &self.0[at + key.len() + 4..];
        let end = rest.find(if rest.starts_with('[') { ']' } else { '\n' });
        &rest[..end.unwrap_or_else(|| panic!("modules.toml: {key} does not end in\n{}", self.0))]
    }

    /// Every second piece between quotation marks is a string.
    fn strings(&self, key: &str) -> impl Iterator<Item = &'a str> {
        self.value(key).split('"').skip(1).step_by(2)
    }

    fn string(&self, key: &str) -> &'a str {
        self.strings(key).next().unwrap_or_else(|| panic!("modules.toml: {key} is no string in\n{}", self.0))
    }
}
