//! The arrow of docs/internals/design.md §1: a room uses what stands behind it in this list, and nothing before it. It
//! is read from the sources.

mod command;
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use imports::{circles, sources, uses};

/// From the doors to what everything stands on. A folder may have another place than the room that it lies in.
const ROOMS: [&[&str]; 19] = [
    &["api"],
    &["advise"],
    &["route", "text"],
    &["codec"],
    &["codec/shared"],
    &["missing/sentinel"],
    &["runtime"],
    &["params"],
    &["container"],
    &["missing"],
    &["primitives"],
    &["bound"],
    &["mode"],
    &["simd"],
    &["exec"],
    &["host"],
    &["dtype"],
    &["error"],
    &["printable"],
];

fn rank(room: &str) -> Option<usize> {
    ROOMS.iter().position(|rooms| rooms.contains(&room))
}

/// The room of a file or item with this path.
fn room_of(names: &[&str]) -> String {
    let within = names.iter().take(2).copied().collect::<Vec<_>>().join("/");
    if rank(&within).is_some() { within } else { names.first().copied().unwrap_or_default().to_owned() }
}

/// What of `source`, a file of `room`, leads where it must not. `siblings` are the folders of the other codecs, of
/// which a codec knows none. Doors know codecs by what `route` shows of them.
fn wrong_ways(room: &str, siblings: &[String], source: &str) -> Vec<String> {
    let code: String = source
        .split("#[cfg(test)]\nmod tests")
        .take(1)
        .flat_map(str::lines)
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let paths = code.split("crate::").skip(1).map(|path| {
        let mut names = path.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
        names.next().unwrap_or_default()
    });
    let is_wrong = |path: &&str| {
        let names: Vec<&str> = path.split("::").collect();
        let to = room_of(&names);
        names[0] == "codec" && (room == "api" || siblings.iter().any(|codec| names.get(1) == Some(&codec.as_str())))
            || to != room && rank(&to).is_none_or(|to| Some(to) <= rank(room))
    };
    paths.filter(is_wrong).map(|path| format!("crate::{path}")).collect()
}

fn files(folder: &Path, with: &[&str]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.append(&mut files(&path, with));
        } else if path.extension().is_some_and(|e| with.iter().any(|w| e == *w)) {
            all.push(path);
        }
    }
    all
}

#[test]
fn arrows_between_rooms_lead_one_way() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let codecs: Vec<String> = fs::read_dir(src.join("codec"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().join("mod.rs").exists())
        .map(|entry| entry.file_name().into_string().unwrap())
        .filter(|codec| rank(&format!("codec/{codec}")).is_none())
        .collect();
    let (mut seen, mut wrong) = (0, Vec::new());
    for file in files(&src, &["rs"]) {
        let path = file.strip_prefix(&src).unwrap().with_extension("");
        let names: Vec<&str> = path.iter().map(|name| name.to_str().unwrap()).collect();
        if names[0] == "lib" || names.contains(&"tests") {
            continue;
        }
        let room = room_of(&names);
        assert!(rank(&room).is_some(), "{} is in no room of this list", file.display());
        let own = names.get(1).filter(|name| names[0] == "codec" && codecs.iter().any(|codec| codec == *name));
        let knows = |codec: &str| own.is_none_or(|own| *own == codec);
        let siblings: Vec<_> = codecs.iter().filter(|codec| !knows(codec)).cloned().collect();
        let ways = wrong_ways(&room, &siblings, &fs::read_to_string(&file).unwrap());
        wrong.extend(ways.into_iter().map(|way| format!("{}: {way}", file.display())));
        seen += 1;
    }
    assert!(wrong.is_empty() && seen > 100, "of {seen} files:\n{}", wrong.join("\n"));
}

/// What is understood last stands on what is understood first: no two files use each other, be it through others.
#[test]
fn no_files_use_each_other() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let uses = uses(&sources(&src));
    let links: usize = uses.values().map(BTreeSet::len).sum();
    assert!(uses.len() > 100 && links > 500, "{} files, {links} links", uses.len());
    let circles = circles(&uses);
    assert!(circles.is_empty(), "files that use each other: {circles:#?}");
}

/// What makes words of codes, and how numbers are interpolated, stands alone: neither knows another stage of the codec.
#[test]
fn stages_know_nothing_of_each_other() {
    const STAGES: [&[&str]; 2] = [&["entropy"], &["predict", "interpolation"]];
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let uses = uses(&sources(&src));
    let place = |module: &[String]| match module {
        [codec, name, stage @ ..] if codec == "codec" && name == "interp" => Some(stage.to_vec()),
        _ => None,
    };
    for stage in STAGES {
        let is_own = |module: &[String]| {
            place(module).is_some_and(|place| stage.iter().zip(&place).filter(|(a, b)| a == b).count() == stage.len())
        };
        let of_stage: Vec<_> = uses.iter().filter(|(module, _)| is_own(module)).collect();
        assert!(of_stage.len() > 3, "no stage {stage:?}");
        for (module, to) in of_stage {
            let others = ["quantize", "predict", "entropy", "body"];
            let is_wrong = |to: &&Vec<String>| {
                !is_own(to) && place(to).is_some_and(|place| place.first().is_some_and(|p| others.contains(&&p[..])))
            };
            let wrong: Vec<_> = to.iter().filter(is_wrong).collect();
            assert!(wrong.is_empty(), "{}: {wrong:?}", module.join("/"));
        }
    }
}

/// The names of the types that a file has at its outermost level.
fn types(source: &str) -> impl Iterator<Item = &str> {
    let lines = source.split("\nmod tests {").take(1).flat_map(str::lines);
    lines.filter_map(|line| {
        let visible = ["pub(crate) ", "pub(super) ", "pub "].iter().find_map(|pub_| line.strip_prefix(pub_));
        let item = visible.unwrap_or(line);
        let item = item.strip_prefix("unsafe ").unwrap_or(item);
        let named =
            ["struct ", "enum ", "trait ", "type ", "union "].iter().find_map(|kind| item.strip_prefix(kind))?;
        named.split(|c: char| !c.is_alphanumeric() && c != '_').next()
    })
}

/// Who reads a type's name need not ask which of many it is: it stands in two rooms at most, the command being one.
#[test]
fn types_of_one_name_are_in_two_rooms_at_most() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut rooms: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (folder, is_command) in [("src", false), ("cli/src", true)] {
        for (module, source) in sources(&package.join(folder)) {
            let room = if is_command { "the command" } else { &module[0] };
            for name in types(&source) {
                rooms.entry(name.to_owned()).or_default().insert(room.to_owned());
            }
        }
    }
    assert!(rooms.len() > 400 && rooms.values().any(|rooms| rooms.len() == 2), "{} names", rooms.len());
    let many: Vec<_> = rooms.iter().filter(|(_, rooms)| rooms.len() > 2).collect();
    assert!(many.is_empty(), "names of types in more than two rooms: {many:#?}");
}

/// The codec's folder, or `common`, in which a file that `file` of `kernels/` includes by `name` lies.
fn room_of_include(kernels: &Path, file: &Path, name: &str) -> String {
    let mut at: Vec<_> = file.strip_prefix(kernels).unwrap().parent().unwrap().components().collect();
    for part in Path::new(name).components() {
        match part {
            Component::ParentDir => drop(at.pop()),
            part => at.push(part),
        }
    }
    at[0].as_os_str().to_str().unwrap().into()
}

#[test]
fn rooms_of_includes_are_seen() {
    let room = |file: &str, name| room_of_include(Path::new("k"), Path::new(file), name);
    assert_eq!(room("k/interp/lossless/forms.cuh", "../body.cuh"), "interp");
    assert_eq!(room("k/interp/lossless/forms.cuh", "../../zfp/body.cuh"), "zfp");
    assert_eq!(room("k/interp/body.cuh", "../common/body.cuh"), "common");
}

/// What all kernels have in common knows no codec, and codecs' kernels know no other one's.
#[test]
fn kernels_include_their_own_folder_and_what_is_common() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let mut seen = 0;
    for file in files(&kernels, &["cu", "cuh", "h"]) {
        let own = room_of_include(&kernels, &file, "own.cuh");
        for line in fs::read_to_string(&file).unwrap().lines() {
            let Some((name, _)) = line.trim_start().strip_prefix("#include \"").and_then(|rest| rest.split_once('"'))
            else {
                continue;
            };
            let allowed = name.contains("/tests/gpu/cpu_shim.h")
                || [own.as_str(), "common"].contains(&room_of_include(&kernels, &file, name).as_str());
            assert!(allowed, "{}: {line}", file.display());
            seen += 1;
        }
    }
    assert!(seen > 20);
}

#[test]
fn types_are_seen() {
    let source = "pub struct A<T>(T);\nunsafe trait B {\n    type C;\n}\npub(crate) enum D {}\ntype E = u8;\n\
                  struction!();\n#[cfg(test)]\nmod tests {\nstruct F;\n";
    assert_eq!(types(source).collect::<Vec<_>>(), ["A", "B", "D", "E"]);
}

#[test]
fn wrong_ways_are_seen() {
    let source = "use crate::error::{Result, fail};\nuse crate::codec::zfp::Tile;\n// crate::api\nfn f() { \
    crate::api::g() }\n\
                  #[cfg(test)]\nmod tests {\n    use crate::compress;\n}\n";
    assert_eq!(wrong_ways("codec", &["zfp".into()], source), ["crate::codec::zfp::Tile", "crate::api::g"]);
    assert_eq!(wrong_ways("codec", &[], source), ["crate::api::g"]);
    assert_eq!(wrong_ways("runtime", &[], source), ["crate::codec::zfp::Tile", "crate::api::g"]);
    assert_eq!(wrong_ways("container", &[], "crate::compress_into(x)"), ["crate::compress_into"]);
    assert!(wrong_ways("api", &[], "use crate::container::Dims;").is_empty());
    assert_eq!(wrong_ways("api", &[], "use crate::codec::chosen;"), ["crate::codec::chosen"]);
    assert_eq!(wrong_ways("missing", &[], "use crate::missing::sentinel::rule;"), ["crate::missing::sentinel::rule"]);
    assert!(wrong_ways("missing/sentinel", &[], "use crate::missing::Missing;").is_empty());
}

/// Who reads a path meets no name twice in a row.
#[test]
fn no_file_is_named_like_its_folder() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["src", "cli/src"] {
        for file in files(&package.join(folder), &["rs"]) {
            let (stem, parent) = (file.file_stem(), file.parent().and_then(Path::file_name));
            assert_ne!(stem, parent, "{}", file.display());
        }
    }
}
