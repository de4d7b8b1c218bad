//! Files that claim far more than they hold: the command lists the chunks that there are, and asks for no more memory
//! than there is.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;

use crate::repack::PYTHON;
use crate::{Place, common, source, venv_python};

/// What `sleek` says with a gigabyte of address space.
fn sleek(place: &Place, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = place.command(env!("CARGO_BIN_EXE_sleek"));
    // SAFETY: `setrlimit` may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit { rlim_cur: 1 << 30, rlim_max: 1 << 30 };
            libc::setrlimit(libc::RLIMIT_AS, &limit);
            Ok(())
        })
    };
    let out = common::output(command.env_remove("SLEEK_LOG").args(arguments));
    let said = String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned();
    (out.status.code(), said)
}

/// The libraries of HDF5 in the environments of Python: some walk over chunks, older ones are asked for each.
pub fn libraries() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for venv in [PYTHON, "venv-h5py-2"] {
        let python = PathBuf::from(venv_python(venv));
        let lib = python.parent().unwrap().with_file_name("lib");
        for version in std::fs::read_dir(lib).unwrap() {
            let folder = version.unwrap().path().join("site-packages/h5py.libs");
            let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
            found.extend(files.filter(|file| file.file_name().unwrap().to_string_lossy().starts_with("libhdf5-")));
        }
    }
    assert_eq!(found.len(), 2, "{found:?}");
    found
}

#[test]
fn chunks_that_were_never_written_cost_nothing() {
    let Some(place) = Place::with(&[&venv_python(PYTHON), &venv_python("venv-h5py-2")]) else { return };
    let script = source("sparse.py");
    let libraries = libraries();
    let named = libraries.iter().map(|file| vec!["--library", file.to_str().unwrap()]);
    let libraries: Vec<Vec<&str>> = std::iter::once(vec![]).chain(named).collect();
    for libver in ["default", "latest"] {
        place.run(&venv_python(PYTHON), &[&script, "make", "old.h5", libver]);
        for library in &libraries {
            let run = |arguments: &[&str]| {
                let (code, said) = sleek(&place, &[arguments, library].concat());
                assert_eq!(code, Some(0), "{libver}, {library:?}: {arguments:?}: {said}");
                said
            };
            let said = run(&["inspect", "--json", "old.h5"]);
            assert!(said.contains(r#""chunks_stored": 0"#) && said.contains("\"/zipped\""), "{said}");
            run(&["analyze", "old.h5:/zipped"]);
            run(&["repack", "--dry-run", "--lossless", "old.h5", "none.h5"]);
            run(&["repack", "-q", "--force", "--even-if-larger", "--lossless", "--verify", "old.h5", "new.h5"]);
            place.run(&venv_python(PYTHON), &[&script, "same", "old.h5", "new.h5"]);
            run(&["repack", "-q", "--force", "--abs", "1e-3", "old.h5", "new.h5"]);
        }
    }
}

#[test]
fn memory_that_is_not_there_is_an_error() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    place.run(&venv_python(PYTHON), &[&source("sparse.py"), "huge", "huge.h5"]);
    std::fs::copy(place.path("huge.h5"), place.path("again.h5")).unwrap();
    for arguments in [
        &["repack", "--even-if-larger", "--lossless", "huge.h5", "new.h5"][..],
        &["repack", "--abs", "1", "huge.h5", "new.h5"],
        &["analyze", "huge.h5"],
        &["verify", "huge.h5", "again.h5"],
    ] {
        let (code, said) = sleek(&place, arguments);
        assert!(matches!(code, Some(1 | 2)) && said.contains("out of memory"), "{arguments:?}: {code:?} {said}");
    }
    let (code, said) = sleek(&place, &["inspect", "huge.h5"]);
    assert!(code == Some(0) && said.contains("1.07 GB"), "{said}");
}
