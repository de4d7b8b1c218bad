//! Programs in C and Fortran, compiled by HDF5's wrappers. Where those link statically (Debian's do), that is tested
//! too.

use std::path::Path;
use std::process::Command;

use crate::place::{WAYS, compile, example, include, library_folder};
use crate::{Place, common, source, venv_python};

#[test]
fn example_in_c() {
    let Some(place) = Place::with(&["h5cc", "cc"]) else { return };
    for way in WAYS {
        compile(&place, "h5cc", way, &[&example("c/hdf5_write.c")], "example");
        let said = place.run("./example", &["c.h5"]);
        assert!(said.contains("kept"), "{way:?}: {said}");
    }
}

#[test]
fn example_in_fortran() {
    let Some(place) = Place::with(&["h5fc", "gfortran"]) else { return };
    let module = common::root().join("include/sleek_hdf5.f90");
    for way in WAYS {
        compile(&place, "h5fc", way, &[module.to_str().unwrap(), &example("fortran/hdf5_write.f90")], "example");
        let said = place.run("./example", &[]);
        assert!(said.contains("ratio"), "{way:?}: {said}");
    }
    // What Fortran wrote is what C asks for: the same words.
    compile(&place, "h5cc", &[], &[&example("c/hdf5_write.c")], "example");
    place.run("./example", &["hdf5_write_c.h5"]);
    let words = |file| {
        let dump = place.run("h5dump", &["-pH", file]);
        dump.lines().find(|l| l.contains("PARAMS")).unwrap_or_else(|| panic!("{dump}")).to_string()
    };
    assert_eq!(words("hdf5_write_c.h5"), words("hdf5_write_f.h5"));
}

/// C and Fortran ask in words, and the dataset stores the numbers of that request.
#[test]
fn requests_in_words() {
    let Some(place) = Place::with(&["h5cc", "cc", "h5fc", "gfortran"]) else { return };
    let module = common::root().join("include/sleek_hdf5.f90");
    compile(&place, "h5cc", &[], &[&source("request.c")], "request_c");
    compile(&place, "h5cc", &["-shlib", "-no-pie"], &[&source("request.c")], "request_shared");
    compile(&place, "h5fc", &[], &[module.to_str().unwrap(), &source("request.f90")], "request_f");
    for program in ["./request_c", "./request_shared", "./request_f"] {
        for text in
            ["abs=1e-3", "noa=0.25,range=50,fill=-9999", "rel=1e-2,profile=fast", "lossless", "noa=1e-3,profile=small"]
        {
            place.run(program, &["a.h5", text]);
            let dump = place.run("h5dump", &["-pH", "a.h5"]);
            let list =
                dump.split("PARAMS {").nth(1).and_then(|rest| rest.split('}').next()).expect("words of the filter");
            // h5dump of 1.10 prints them as signed numbers.
            let words: Vec<u32> = list.split_whitespace().map(|w| w.parse::<i64>().unwrap() as u32).collect();
            let stored = sleek::hdf5::CdValues::decode(&words).unwrap();
            let asked = sleek::text::parse(text).unwrap();
            assert_eq!((stored.request, stored.element.is_some()), (asked, true), "{program} {text}: {dump}");
        }
        let long = "abs=1,".repeat(50);
        for bad in ["abs", "", "abs=1,ranges=5", &long] {
            assert!(!place.attempt(program, &["b.h5", bad]).status.success(), "{program}: '{bad}' was taken");
        }
        // HDF5 prints its error stack, which ends with the filter's reason.
        let out = place.attempt(program, &["b.h5", "abs=1,ranges=5"]);
        let stack = String::from_utf8_lossy(&out.stderr);
        let times = if program == "./request_f" { 1 } else { 2 }; // before H5close and after it
        assert_eq!(stack.matches("in filter(): invalid argument: 'ranges=5'").count(), times, "{program}: {stack}");
        assert_eq!(stack.matches("major: Compression").count(), times, "{program}: {stack}");
    }
}

#[test]
fn example_of_a_simulation_in_fortran() {
    let Some(place) = Place::with(&["h5fc", "gfortran"]) else { return };
    let module = common::root().join("include/sleek_hdf5.f90");
    compile(&place, "h5fc", &[], &[module.to_str().unwrap(), &example("fortran/wave.f90")], "wave");
    let said = place.run("./wave", &[]);
    assert!(said.contains("checkpoint, ratio") && said.matches("kept").count() == 2, "{said}");
    let said = place.run("./wave", &["restart"]);
    assert!(said.contains("restart after 200 steps") && said.contains("kept"), "{said}");
}

#[test]
fn example_in_fortran_without_hdf5() {
    let Some(place) = Place::with(&["gfortran"]) else { return };
    let (module, library) = (common::root().join("include/sleek.f90"), common::libsleek());
    let rpath = library_folder(&place);
    let sources = [module.to_str().unwrap(), &example("fortran/compress.f90"), library.to_str().unwrap(), &rpath];
    compile(&place, "gfortran", &[], &sources, "example");
    let said = place.run("./example", &[]);
    assert!(said.contains("largest error") && said.contains("mode abs on i32"), "{said}");
}

/// A stripped program that holds HDF5 cannot be asked for the element type: a bound that must be is an error.
#[test]
fn stripped_program() {
    let Some(place) = Place::with(&["h5cc", "cc"]) else { return };
    compile(&place, "h5cc", &["-shlib"], &[&example("c/hdf5_write.c")], "shared");
    place.run("./shared", &["shared.h5"]);
    compile(&place, "h5cc", &["-s"], &[&source("lifecycle.c")], "stripped");
    let out = place.attempt("./stripped", &["c.h5"]);
    let holds_hdf5 = !place.run("ldd", &["./stripped"]).contains("libhdf5");
    if holds_hdf5 {
        let log = String::from_utf8_lossy(&out.stderr);
        assert!(log.contains("hides its functions") && log.contains("is mandatory"), "{log}");
    }
    assert!(out.status.success() != holds_hdf5, "{out:?}");
}

#[test]
fn header_in_cpp() {
    let Some(place) = Place::with(&["h5cc", "c++"]) else { return };
    let text = "#include <sleek.h>\n#include <sleek_hdf5.h>\n#include <sleek.h>\nherr_t f(hid_t d) { return \
    H5Pset_sleek_noa(d, 1e-3, 5) < 0 ? -1 : sleek_h5_register(); }\n";
    std::fs::write(place.path("a.cpp"), text).unwrap();
    let flags = place.run("h5cc", &["-show"]);
    let include_hdf5: Vec<_> = flags.split_whitespace().filter(|f| f.starts_with("-I")).collect();
    common::run(
        Command::new("c++")
            .args(["-Wall", "-Wextra", "-Werror", "-fsyntax-only"])
            .args(include_hdf5)
            .arg(include())
            .arg(place.path("a.cpp")),
    );
}

#[test]
fn hdf5_closed_and_opened_again() {
    let Some(place) = Place::with(&["h5cc", "cc"]) else { return };
    for way in WAYS {
        compile(&place, "h5cc", way, &[&source("lifecycle.c")], "lifecycle");
        let said = common::run(place.command("./lifecycle").arg("a.h5").env("SLEEK_NUM_THREADS", "4"));
        assert!(said.contains("kept"), "{way:?}: {said}");
    }
}

#[test]
fn threads_of_hdf5_and_past_it() {
    for venv in ["venv-h5py-1.14", "venv-h5py-2"] {
        let Some(place) = Place::with(&[&venv_python(venv)]) else { return };
        let mut command = place.command(venv_python(venv));
        command.arg(source("stress.py")).arg(common::libsleek()).env("SLEEK_NUM_THREADS", "3").env_remove("SLEEK_LOG");
        // A child shares the open files and with them HDF5's locks on them, which a writer would find taken after it
        // closed its file.
        assert!(common::run(command.env("HDF5_USE_FILE_LOCKING", "FALSE")).contains("kept"));
    }
}

/// A child must wait for nothing that its parent had begun, nor two threads for each other.
#[test]
#[cfg(target_os = "linux")]
fn forks_and_constructors_while_hdf5_is_looked_for() {
    let Some(place) = Place::with(&["h5cc", "cc"]) else { return };
    let (library, rpath) = (common::libsleek(), library_folder(&place));
    let (library, include, constructor) = (library.to_str().unwrap(), include(), source("constructor.c"));
    let late = [&*include, &constructor, library, &rpath, "-o", "late.so"];
    common::run(place.command("cc").args(["-shared", "-fPIC"]).args(late));
    for way in WAYS {
        compile(&place, "h5cc", way, &[&source("fork.c"), library, &rpath, "-ldl", "-lpthread"], "fork");
        for arguments in [&["first"][..], &["same_id"], &["constructor", "./late.so"]] {
            let said = common::run(place.command("./fork").args(arguments).env("SLEEK_NUM_THREADS", "4"));
            assert!(said.contains("no one waits"), "{way:?} {arguments:?}: {said}");
        }
    }
}

/// The shared HDF5 that `h5cc -shlib` links, and those inside the wheels of h5py.
fn shared_hdf5(place: &Place) -> Vec<String> {
    compile(place, "h5cc", &["-shlib"], &[&source("lifecycle.c")], "shared");
    let linked = place.run("ldd", &["./shared"]);
    let path = linked.lines().find(|l| l.contains("libhdf5")).and_then(|l| l.split_whitespace().nth(2));
    let mut found = vec![path.expect("a program made by h5cc -shlib needs libhdf5").to_string()];
    for venv in ["venv-h5py-1.14", "venv-h5py-2"] {
        let script = "import glob, h5py; print(glob.glob(h5py.__path__[0] + '.libs/libhdf5-*')[0])";
        found.push(place.run(&venv_python(venv), &["-c", script]).trim().to_string());
    }
    found
}

/// The libraries in a wheel find each other by the folder they are in.
fn beside(command: &mut Command, libraries: &[String]) {
    let folders = libraries.iter().map(|path| Path::new(path).parent().unwrap());
    command.env("LD_LIBRARY_PATH", std::env::join_paths(folders).unwrap());
}

#[test]
fn two_versions_of_hdf5() {
    let python = venv_python("venv-h5py-1.14");
    let Some(place) = Place::with(&["h5cc", "cc", &python]) else { return };
    let hdf5 = shared_hdf5(&place);
    for (first, second) in [(0, 1), (1, 0), (0, 2), (1, 2)] {
        for scope in ["hidden", "shown"] {
            let mut command = place.command(&python);
            command.args([&source("two.py"), scope, &hdf5[first], &hdf5[second], "two.h5"]).env_remove("SLEEK_LOG");
            beside(&mut command, &hdf5);
            assert!(common::run(&mut command).contains("kept"), "{scope}");
        }
    }
    // A program that is linked to one, with the symbols of another put in front of it.
    for other in &hdf5[1..] {
        let mut command = place.command("./shared");
        beside(command.arg("a.h5").env("LD_PRELOAD", other).env("HDF5_DISABLE_VERSION_CHECK", "2"), &hdf5);
        assert!(common::run(&mut command).contains("kept"), "{other}");
    }
}

/// `kill -9` while chunks are written, and a file that may not grow: see the section on this in docs/guide/hdf5.md.
#[test]
fn killed_writers_and_full_disks() {
    let python = venv_python("venv-h5py-1.14");
    let Some(place) = Place::with(&[&python]) else { return };
    assert!(
        common::run(place.command(&python).arg(source("crash.py")).env_remove("SLEEK_LOG"))
            .contains("nothing read wrong")
    );
}
