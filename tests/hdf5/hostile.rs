//! What others can do to a dataset, or with the programs that use the filter.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use crate::{Place, common, h5repack_argument, source, venv_python};
use sleek::{Bound, DType, Params};

/// What stands behind SLEEK must give its bytes back, and a chunk's stream must be what its dataset says.
#[test]
fn filters_behind_and_streams_that_are_wrong_are_refused() {
    for venv in ["venv-h5py-1.14", "venv-h5py-2"].map(venv_python) {
        let Some(place) = Place::with(&[&venv]) else { return };
        let library = common::libsleek();
        for arguments in [&["behind"][..], &["unknown"], &["streams", library.to_str().unwrap()]] {
            place.run(&venv, &[&[source("hostile.py").as_str()], arguments].concat());
        }
    }
}

/// Who starts a program that has the rights of its owner must not have files written with those, nor choose bounds.
#[test]
#[cfg(target_os = "linux")]
fn programs_with_rights_of_their_owner_hear_no_variables() {
    // SAFETY: a plain call.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("not root, who alone can make such a program: not tried");
        return;
    }
    let python = venv_python("venv-h5py-1.14");
    let Some(place) = Place::with(&["h5repack", "h5dump", &python]) else { return };
    place.run(&python, &["-c", "import h5py; h5py.File('a.h5', 'w')['f4'] = [i / 7 for i in range(20000)]"]);
    let which = place.run("sh", &["-c", "command -v h5repack"]);
    fs::copy(which.trim(), place.path("h5repack")).unwrap();
    fs::copy(common::libsleek(), place.path("libsleek.so")).unwrap();
    let mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let own = place.path("own");
    fs::create_dir(&own).unwrap();
    mode(place.work.path(), 0o755);
    mode(&own, 0o777);
    let filter = h5repack_argument(&Params::new(DType::F32).with_bound(Bound::Abs(0.5)));
    // The first words of the filter, and whether h5repack has used it.
    let run = |rights: u32, variables: &[(&str, &str)]| {
        mode(&place.path("h5repack"), rights);
        let mut command = place.command("./h5repack");
        command.args(["-f", &format!("f4:{filter}"), "a.h5", "own/b.h5"]).env_remove("SLEEK_LOG");
        let out = command.env("HDF5_PLUGIN_PATH", place.work.path()).envs(variables.iter().copied());
        let out = common::output(out.uid(54321).gid(54321));
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let dump = place.run("h5dump", &["-pH", "-d", "f4", "own/b.h5"]);
        fs::remove_file(own.join("b.h5")).unwrap();
        let words =
            dump.split("PARAMS {").nth(1).map(|rest| rest.split_whitespace().take(4).collect::<Vec<_>>().join(" "));
        words.unwrap_or_default()
    };
    let of_abs = run(0o755, &[]);
    assert!(of_abs.ends_with(" 0 1071644672"), "abs=0.5: {of_abs}");
    assert_ne!(run(0o755, &[("SLEEK_PARAMS", "rel=1e-2"), ("SLEEK_LOG", "own/mine")]), of_abs);
    assert!(own.join("mine").is_file());
    let (evil, log) = (place.path("evil"), own.join("log"));
    let wrong = "abs=1\n* * * * * root sh\x1b[2J\n";
    for rights in [0o4755, 0o2755] {
        let variables = [("SLEEK_LOG", evil.to_str().unwrap()), ("SLEEK_PARAMS", wrong), ("SLEEK_NUM_THREADS", "x")];
        assert_eq!(run(rights, &variables), of_abs);
        assert!(!evil.exists());
    }
    // Nor do line breaks get into anybody's log.
    assert_eq!(run(0o755, &[("SLEEK_LOG", log.to_str().unwrap()), ("SLEEK_PARAMS", wrong)]), "", "it was refused");
    let text = fs::read_to_string(&log).unwrap();
    assert!(
        text.lines().all(|l| l.starts_with("sleek[")) && text.contains("\\n* *") && !text.contains('\x1b'),
        "{text:?}"
    );
}
