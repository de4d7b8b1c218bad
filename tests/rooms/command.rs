//! The command's place in the house: it uses of the library what is published, and its folders do not use each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::imports::{self, Module};

/// The library's modules that its documentation does not show.
fn hidden(library: &str) -> Vec<String> {
    let items =
        library.split("#[doc(hidden)]\n").skip(1).filter_map(|rest| rest.lines().find(|l| !l.starts_with("#[")));
    items.filter_map(|item| item.strip_prefix("pub mod ")?.split_once(';')).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn the_command_uses_what_is_published() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let hidden = hidden(&fs::read_to_string(package.join("src/lib.rs")).unwrap());
    assert!(["api", "host", "primitives", "runtime"].iter().all(|name| hidden.iter().any(|h| h == name)), "{hidden:?}");
    let sources = imports::sources(&package.join("cli/src"));
    assert!(sources.len() > 80);
    for (module, text) in &sources {
        for name in &hidden {
            let ways = [format!("sleek::{name}"), format!("sleek::{{{name}")];
            assert!(!ways.iter().any(|way| text.contains(way)), "{} uses sleek::{name}", module.join("/"));
        }
    }
}

#[test]
fn no_folders_use_each_other() {
    let sources = imports::sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cli/src"));
    let mut folders: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, uses) in imports::uses(&sources) {
        let others = uses.iter().map(|other| other[..1].to_vec()).filter(|other| *other != module[..1]);
        folders.entry(module[..1].to_vec()).or_default().extend(others);
    }
    let links: usize = folders.values().map(BTreeSet::len).sum();
    assert!(folders.len() > 20 && links > 60, "{} folders, {links} links", folders.len());
    let circles = imports::circles(&folders);
    assert!(circles.is_empty(), "folders that use each other: {circles:#?}");
}

/// Folders in which files still use each other.
const OPEN: [&str; 2] = ["hdf5", "verify"];

/// A folder's first file uses the others; what they have in common stands in none of those that use it.
#[test]
fn no_files_of_a_folder_use_each_other() {
    let sources = imports::sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cli/src"));
    let mut uses = imports::uses(&sources);
    for (module, others) in &mut uses {
        let is_open = module.first().is_some_and(|folder| OPEN.contains(&folder.as_str()));
        others.retain(|other| !is_open && !module.starts_with(other) && !other.starts_with(module));
    }
    let circles = imports::circles(&uses);
    assert!(circles.is_empty(), "files that use each other: {circles:#?}");
}
