//! The command's place in the house: it uses of the library what is published.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The library's modules that its documentation does not show.
fn hidden(library: &str) -> Vec<String> {
    let items =
        library.split("#[doc(hidden)]\n").skip(1).filter_map(|rest| rest.lines().find(|l| !l.starts_with("#[")));
    items.filter_map(|item| item.strip_prefix("pub mod ")?.split_once(';')).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn the_command_uses_what_is_published() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let hidden = hidden(&fs::read_to_string(package.join("../src/lib.rs")).unwrap());
    assert!(["api", "host", "primitives", "runtime"].iter().all(|name| hidden.iter().any(|h| h == name)), "{hidden:?}");
    let sources = sources(&package.join("src"));
    assert!(sources.len() > 80);
    for source in sources.iter().filter(|source| !source.ends_with("rooms.rs")) {
        let text = fs::read_to_string(source).unwrap();
        for name in &hidden {
            assert!(!text.contains(&format!("sleek::{name}")), "{} uses sleek::{name}", source.display());
            assert!(!text.contains(&format!("sleek::{{{name}")), "{} uses sleek::{name}", source.display());
        }
    }
}
