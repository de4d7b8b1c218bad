//! What others can do to a dataset, or with the programs that use the filter.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use sleek::DType;

use crate::place::{WAYS, compile, library_folder};
use crate::{Place, common, source, venv_python};

fn build(place: &Place, way: &[&str]) {
    let rpath = library_folder(place);
    let library = common::libsleek();
    compile(place, "h5cc", way, &[&source("hostile.c"), library.to_str().unwrap(), &rpath], "hostile");
}

/// What stands behind SLEEK must give its bytes back.
#[test]
fn filters_behind_that_lose_bytes_are_refused() {
    let Some(place) = Place::with(&["h5cc", "cc"]) else { return };
    build(&place, &[]);
    let behind = |filter: &str| {
        let arguments: Vec<&str> = ["a.h5", "behind"].into_iter().chain(filter.split(' ')).collect();
        place.run("./hostile", &arguments)
    };
    // The number, whether it is optional, its words. Scale-offset: float by decimal digits, or integers; n-bit; an
    // unknown one.
    for filter in
        ["6 0 0 3", "6 1 0 3", "6 0 2 0", "6 1 2 0", "5 0", "5 1", "32013 1", "32017 1", "47000 1", "4 1 32 16"]
    {
        let said = behind(filter);
        assert_eq!(said, "refused\n", "{filter}");
    }
    for filter in ["1 0 6", "2 0", "3 0", "1 1 1", "32000 1", "32015 1", "32001 1", "32004 1", "307 1", "32008 1"] {
        assert_eq!(behind(filter), "kept\n", "{filter}");
    }
}

/// The same with the filters that h5py and hdf5plugin bring.
#[test]
fn filters_of_hdf5plugin_behind() {
    for venv in ["venv-h5py-1.14", "venv-h5py-2"] {
        let Some(place) = Place::with(&[&venv_python(venv)]) else { return };
        let said = place.run(&venv_python(venv), &[&source("behind.py")]);
        assert!(said.contains("kept"), "{said}");
    }
}

#[test]
fn a_stream_of_another_length_than_the_chunk_is_refused() {
    let Some(place) = Place::with(&["h5cc", "cc"]) else { return };
    for (n, way) in WAYS.iter().enumerate() {
        let _ = fs::remove_dir_all(place.path("lib"));
        build(&place, way);
        for kind in ["u8", "i32", "f64", "array", "string", "opaque", "compound"] {
            for change in ["-4080", "-48", "48", "4096"] {
                let said = place.run("./hostile", &["a.h5", "length", kind, change]);
                assert_eq!(said, "H5Dread refuses, sleek_h5d_read refuses, 0 foreign bytes\n", "{kind} {change}");
            }
            let said = place.run("./hostile", &["a.h5", "length", kind, "0"]);
            assert_eq!(said, "H5Dread takes, sleek_h5d_read takes, 0 foreign bytes\n", "{kind}");
        }
        let kinds = ["u8", "i32", "f64", "array", "string", "opaque", "compound", "reference", "region"];
        for kind in kinds.iter().filter(|_| n == 0) {
            assert_eq!(place.run("./hostile", &["a.h5", "there", kind]), "kept\n", "{kind}");
        }
    }
}

/// A stream of the right length with elements that are not the dataset's would be read as others.
#[test]
fn a_stream_of_other_elements_than_the_datasets_is_refused() {
    let Some(place) = Place::with(&["h5cc", "cc"]) else { return };
    build(&place, &[]);
    let found = |kind: &str, dtype: DType, big_endian: bool| {
        let (code, order) = ((dtype as i32).to_string(), u8::from(big_endian).to_string());
        let said = place.run("./hostile", &["a.h5", "elements", kind, &code, &order]);
        let takes = said.starts_with("H5Dread takes, sleek_h5d_read takes");
        assert!(takes || said.starts_with("H5Dread refuses, sleek_h5d_read refuses"), "{kind}: {said}");
        takes
    };
    for (kind, own, big) in [("f32", DType::F32, false), ("f64", DType::F64, false), ("i32", DType::I32, true)] {
        assert!(found(kind, own, big) && found(kind, DType::U8, false), "{kind}");
        for other in [DType::F32, DType::F64, DType::F16, DType::I32, DType::U32, DType::I8] {
            assert!(other == own || !found(kind, other, big), "{kind}: {}", other.name());
        }
        assert!(!found(kind, own, !big), "{kind}");
    }
    assert!(found("u8", DType::U8, false) && !found("u8", DType::F32, false) && !found("u8", DType::I8, false));
    assert!(found("array", DType::F32, false) && !found("array", DType::I32, false));
    assert!(found("opaque", DType::F16, false));
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
    let Some(place) = Place::with(&["h5cc", "cc"]) else { return };
    let folder = place.path("lib");
    fs::create_dir(&folder).unwrap();
    let soname = format!("libsleek.so.{}", env!("CARGO_PKG_VERSION_MAJOR"));
    fs::copy(common::libsleek(), folder.join(soname)).unwrap();
    let (library, rpath) = (common::libsleek(), format!("-Wl,-rpath,{}", folder.display()));
    compile(&place, "h5cc", &[], &[&source("hostile.c"), library.to_str().unwrap(), &rpath], "hostile");
    let mode = |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(place.work.path(), 0o755);
    let own = place.path("own");
    fs::create_dir(&own).unwrap();
    mode(&own, 0o777);
    let run = |rights: u32, variables: &[(&str, &str)]| {
        mode(&place.path("hostile"), rights);
        let mut command = place.command("./hostile");
        command.args(["own/a.h5", "log"]).env_remove("SLEEK_LOG").envs(variables.iter().copied()).uid(54321).gid(54321);
        let out = common::output(&mut command);
        let _ = fs::remove_file(own.join("a.h5"));
        (String::from_utf8_lossy(&out.stdout).into_owned(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    let (said, _) = run(0o755, &[("SLEEK_PARAMS", "rel=1e-2"), ("SLEEK_LOG", "own/mine")]);
    assert_eq!(said, "mode 3, bound another\n");
    assert!(own.join("mine").is_file());
    for rights in [0o4755, 0o2755] {
        let log = place.path("evil");
        let variables = [
            ("SLEEK_LOG", log.to_str().unwrap()),
            ("SLEEK_PARAMS", "abs=1\n* * * * * root sh\n"),
            ("SLEEK_NUM_THREADS", "x"),
        ];
        let (said, told) = run(rights, &variables);
        assert_eq!(said, "mode 1, bound 0.5\n", "{told}");
        assert!(!log.exists());
    }
    // Nor do line breaks get into anybody's log.
    let log = own.join("log");
    let variables = [("SLEEK_LOG", log.to_str().unwrap()), ("SLEEK_PARAMS", "abs=1\n* * * * * root sh\x1b[2J\n")];
    assert_eq!(run(0o755, &variables).0, "refused\n");
    let text = fs::read_to_string(&log).unwrap();
    assert!(
        text.lines().all(|l| l.starts_with("sleek[")) && text.contains("\\n* *") && !text.contains('\x1b'),
        "{text:?}"
    );
}
