//! Which files use which, read from their `use` items and paths, and where they use each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

pub type Module = Vec<String>;

/// Words, `::` and the signs of a source; comments, texts and what follows `mod tests {` are left out.
fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source.split("\nmod tests {").next().unwrap_or_default();
    while let Some(c) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let len = match c {
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            'r' if rest.starts_with("r\"") => 3 + rest[2..].find('"').unwrap(),
            'r' if rest.starts_with("r#\"") => 5 + rest[3..].find("\"#").unwrap(),
            '"' => text(rest),
            '\'' if rest[1..].starts_with('\\') => 3 + rest[3..].find('\'').unwrap(),
            '\'' => rest[1..].char_indices().nth(1).filter(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 2),
            ':' if rest.starts_with("::") => 2,
            _ => word.max(c.len_utf8()),
        };
        if word > 0 && len == word || "{}(),;*<".contains(c) || len == 2 && c == ':' {
            tokens.push(rest[..len].to_owned());
        }
        rest = &rest[len..];
    }
    tokens
}

/// The bytes of a text that `rest` begins with.
fn text(rest: &str) -> usize {
    let mut escaped = false;
    let end = rest.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(rest.len(), |(at, _)| at + 1)
}

/// The paths of a file, each from the module that it stands in: the file's own, or one within the file.
fn paths(tokens: &[String]) -> Vec<(Module, Module)> {
    let (mut found, mut within, mut depth) = (Vec::new(), Vec::<(String, usize)>::new(), 0);
    let mut at = 0;
    while at < tokens.len() {
        let here = || within.iter().map(|(name, _)| name.clone()).collect::<Module>();
        match tokens[at].as_str() {
            "mod" if tokens.get(at + 2).is_some_and(|t| t == "{") => {
                within.push((tokens[at + 1].clone(), depth));
                at += 1;
            }
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                within.pop_if(|(_, outside)| *outside == depth);
            }
            "use" if tokens.get(at + 1).is_some_and(|t| t != "<") => {
                let (all, end) = tree(tokens, at + 1, &[]);
                found.extend(all.into_iter().map(|path| (here(), path)));
                at = end;
                continue;
            }
            _ if tokens.get(at + 1).is_some_and(|t| t == "::") && (at == 0 || tokens[at - 1] != "::") => {
                let path = tokens[at..].chunks(2).take_while(|pair| pair[0].starts_with(|c: char| c.is_alphabetic()));
                let path: Vec<&[String]> = path.collect();
                let ends = path.iter().position(|pair| pair.get(1).is_none_or(|t| t != "::"));
                let names = path[..ends.map_or(path.len(), |k| k + 1)].iter().map(|pair| pair[0].clone());
                found.push((here(), names.collect()));
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The paths of a tree of `use` behind `before`, and where it ends.
fn tree(tokens: &[String], mut at: usize, before: &[String]) -> (Vec<Module>, usize) {
    let (mut path, mut all) = (before.to_vec(), Vec::new());
    while at < tokens.len() {
        match tokens[at].as_str() {
            "::" | "*" => at += 1,
            "as" => at += 2,
            "{" => {
                at += 1;
                while tokens[at] != "}" {
                    let (branch, end) = tree(tokens, at, &path);
                    all.extend(branch);
                    at = if tokens[end] == "," { end + 1 } else { end };
                }
                return (all, at + 1);
            }
            "," | ";" | "}" => break,
            name => {
                path.push(name.to_owned());
                at += 1;
            }
        }
    }
    (vec![path], at)
}

/// The file that `path` leads to from module `from`: the longest part of it that is one.
fn file_of(from: &[String], path: &[String], files: &BTreeSet<Module>) -> Option<Module> {
    let mut place = from.to_vec();
    let mut path = path;
    match path.first()?.as_str() {
        "crate" => (place, path) = (Vec::new(), &path[1..]),
        "self" => path = &path[1..],
        "super" => {
            while path.first().is_some_and(|name| name == "super") {
                place.pop();
                path = &path[1..];
            }
        }
        // A module of this one, or another crate's.
        child if !files.contains(&[from, &[child.to_owned()]].concat()) => return None,
        _ => {}
    }
    place.extend_from_slice(path);
    (1..=place.len()).rev().map(|len| place[..len].to_vec()).find(|module| files.contains(module))
}

/// Which other files each uses.
pub fn uses(sources: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let files: BTreeSet<Module> = sources.keys().cloned().collect();
    let of = |module: &Module, source: &String| {
        let paths = paths(&tokens(source)).into_iter();
        let to = paths.filter_map(|(within, path)| file_of(&[&module[..], &within].concat(), &path, &files));
        to.filter(|to| to != module).collect()
    };
    sources.iter().map(|(module, source)| (module.clone(), of(module, source))).collect()
}

/// The files that lead to themselves, with those that they do it by, as `a/b -> c`.
pub fn circles(uses: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<Vec<String>> {
    let reached = |from: &Module| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(module) = next.pop() {
            next.extend(uses[&module].iter().filter(|to| seen.insert((*to).clone())).cloned());
        }
        seen
    };
    let reach: BTreeMap<&Module, BTreeSet<Module>> = uses.keys().map(|module| (module, reached(module))).collect();
    let mut circles: BTreeMap<BTreeSet<&Module>, Vec<String>> = BTreeMap::new();
    for (module, to) in uses.iter().filter(|(module, _)| reach[module].contains(*module)) {
        let circle = uses.keys().filter(|o| reach[module].contains(*o) && reach[o].contains(module)).collect();
        let by = to.iter().filter(|to| reach[to].contains(module)).map(|to| to.join("/"));
        let line = format!("{} -> {}", module.join("/"), by.collect::<Vec<_>>().join(", "));
        circles.entry(circle).or_default().push(line);
    }
    circles.into_values().collect()
}

/// The sources below `src` by their modules, but for those of tests.
pub fn sources(src: &Path) -> BTreeMap<Module, String> {
    let mut sources = BTreeMap::new();
    let mut folders = vec![src.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let place = path.strip_prefix(src).unwrap().with_extension("");
            let mut module: Module = place.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
            let is_own = matches!(module[0].as_str(), "lib" | "main") || module.contains(&"tests".to_owned());
            module.pop_if(|name| name == "mod");
            match path.is_dir() {
                _ if is_own => {}
                true => folders.push(path),
                false => drop(sources.insert(module, fs::read_to_string(&path).unwrap())),
            }
        }
    }
    sources
}

#[test]
fn circles_are_seen() {
    let source = "use crate::b::{self, c::D as E};\n// use crate::f;\n\
                  fn g() { 'x: loop { h(\"}\", '{', crate::i::j()) } }\nmod k { use super::super::l; }\n\
                  mod n;\nuse n::o;\n#[cfg(test)]\nmod tests {\n    use crate::p;\n}\n";
    let sources: BTreeMap<Module, String> = [
        ("a", source),
        ("a/n", "use super::q;"),
        ("b", ""),
        ("b/c", "crate::l::r();"),
        ("f", "use crate::a;"),
        ("i", "pub use crate::f::g;"),
        ("l", ""),
        ("p", ""),
    ]
    .into_iter()
    .map(|(module, source)| (module.split('/').map(str::to_owned).collect(), source.to_owned()))
    .collect();
    let uses = uses(&sources);
    let of_a: Vec<String> = uses[&vec!["a".to_owned()]].iter().map(|module| module.join("/")).collect();
    assert_eq!(of_a, ["a/n", "b", "b/c", "i", "l"]);
    assert_eq!(circles(&uses), [["a -> a/n, i", "a/n -> a", "f -> a", "i -> f"]]);
}
