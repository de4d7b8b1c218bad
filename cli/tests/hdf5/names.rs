//! Names with line breaks and what steers a terminal: no table, CSV, JSON or picture is broken by them.

use std::fs;

use serde_json::Value;

use crate::repack::{PYTHON, sleek, sleek_ok};
use crate::{Place, common, venv_python};

/// A name of datasets and files, and one without anything in it.
const ODD: &str = "a\nb\tc\u{1b}[2J\u{9b}\u{7f}\r\u{2028},\"d\"'e";
const PLAIN: &str = "plain";

const SCRIPT: &str = "import h5py, numpy as np, os, sys\n\
    name = sys.argv[1]\n\
    os.makedirs('in', exist_ok=True)\n\
    x = np.linspace(0, 9, 60000).reshape(200, 300).astype('f4')\n\
    with h5py.File(f'in/{name}.h5', 'w') as f:\n\
    \x20   f[f'{name}/{name}'] = np.sin(x)\n\
    \x20   f[f'{name}1'] = np.cos(x)\n\
    \x20   f['link'] = h5py.SoftLink(f'/{name}/{name}')\n\
    \x20   f['same'] = f[f'{name}1']\n\
    \x20   f['text'] = 'text'\n\
    \x20   f[f'{name}1'].attrs['coordinates'] = name\n";

/// What the command prints, which must have nothing that steers.
fn said(place: &Place, arguments: &[&str]) -> String {
    let out = sleek(place, arguments);
    assert!(matches!(out.status.code(), Some(0)), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    harmless(String::from_utf8(out.stdout).unwrap(), &format!("{arguments:?}"))
}

fn harmless(text: String, what: &str) -> String {
    let steers = |c: char| c.is_control() && c != '\n' || c == '\u{2028}';
    assert!(!text.contains(steers), "{what}: {text:?}");
    text
}

#[test]
fn odd_names_break_nothing() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let mut lines = Vec::new();
    for name in [PLAIN, ODD] {
        let _ = fs::remove_dir_all(place.path("in"));
        let _ = fs::remove_dir_all(place.path("out"));
        place.run(&venv_python(PYTHON), &["-c", SCRIPT, name]);
        let (old, new) = (format!("in/{name}.h5"), format!("out/{name}.h5"));
        let field = format!("{old}:/{name}/{name}");
        let batch = ["repack", "-r", "--abs", "1e-3", "--to", "out"];
        let mut tables = vec![said(&place, &[&batch[..], &["--report", "r.json", "in"]].concat())];
        let report: Value = serde_json::from_slice(&fs::read(place.path("r.json")).unwrap()).unwrap();
        assert_eq!(report["files"][0]["input"], old.as_str());
        for arguments in [
            &["repack", "--dry-run", "--abs", "1e-3", &old][..],
            &["repack", "--dry-run", "--lossless", &old],
            &["inspect", &old],
            &["verify", &old, &new],
            &["analyze", &field],
        ] {
            tables.push(said(&place, arguments));
            let text = said(&place, &[&arguments[..1], &["--json"], &arguments[1..]].concat());
            let json: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{arguments:?}: {e}: {text}"));
            assert!(json.to_string().contains(&serde_json::to_string(name).unwrap().trim_matches('"').to_owned()));
        }
        sleek_ok(&place, &["show", "-q", "--force", "-o", "d.svg", &field]);
        harmless(fs::read_to_string(place.path("d.svg")).unwrap(), "d.svg");
        lines.push(tables.iter().map(|table| table.lines().count()).collect::<Vec<_>>());
    }
    assert_eq!(lines[0], lines[1]);
}

/// The commands that `analyze` names are a shell's words, whatever the names.
#[test]
fn commands_for_odd_names_can_be_typed() {
    let Some(place) = Place::with(&["bash", &venv_python(PYTHON)]) else { return };
    for name in ["a b", "x=1", "it's $HOME", "a\nb\\\u{9b}"] {
        let _ = fs::remove_dir_all(place.path("in"));
        place.run(&venv_python(PYTHON), &["-c", SCRIPT, name]);
        let text = said(&place, &["analyze", &format!("in/{name}.h5:/{name}/{name}")]);
        let line = text.lines().find_map(|line| line.trim().strip_prefix("sleek repack")).unwrap();
        let command = format!("'{}' repack -q --force{line}", env!("CARGO_BIN_EXE_sleek"));
        common::run(place.command("bash").args(["-c", &command]).env("LC_ALL", "C.UTF-8"));
        let report: Value = serde_json::from_str(&said(&place, &["inspect", "--json", "new.h5"])).unwrap();
        let of_it = report["datasets"].as_array().unwrap().iter().find(|d| d["name"] == format!("/{name}/{name}"));
        assert_eq!(of_it.unwrap()["filters"][0]["name"], "SLEEK", "{name}");
    }
}

/// Where the table cannot be printed the file is there, and the error says so.
#[test]
#[cfg(target_os = "linux")]
fn a_full_output_tells_that_the_file_is_there() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    place.run(&venv_python(PYTHON), &["-c", SCRIPT, PLAIN]);
    for (arguments, part) in [
        (&["repack", "--json", "--abs", "1e-3", "in/plain.h5", "new.h5"][..], "new.h5 is whole and in its place"),
        (&["repack", "--abs", "1e-3", "--to", "out", "-r", "in"], "out is whole and in its place"),
        (&["inspect", "--json", "new.h5"], "standard output: No space left on device"),
    ] {
        // Its standard output is full from the start.
        let words: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
        let line = format!("'{}' {} > /dev/full", env!("CARGO_BIN_EXE_sleek"), words.join(" "));
        let out = common::output(place.command("bash").args(["-c", &line]).env_remove("SLEEK_LOG"));
        let message = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.contains("standard output: ") && message.contains(part), "{arguments:?}: {message}");
    }
    for file in ["new.h5", "out/plain.h5"] {
        assert!(place.path(file).is_file(), "{file}");
    }
    sleek_ok(&place, &["verify", "in/plain.h5", "new.h5"]);
}
