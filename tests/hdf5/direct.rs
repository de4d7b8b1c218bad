//! `sleek_h5d_write` and `sleek_h5d_read`: the programs `direct.c` and `direct.f90`, and `direct.py` for newer versions
//! of HDF5.

use crate::place::{WAYS, compile, library_folder};
use crate::{Place, common, source, venv_python};

/// Compiles `direct.c`, linked to libsleek.
fn build(place: &Place, wrapper: &str, way: &[&str], rpath: &str) {
    let library = common::libsleek();
    compile(place, wrapper, way, &[&source("direct.c"), library.to_str().unwrap(), rpath, "-ldl"], "direct");
}

#[test]
fn arrays_in_host_memory() {
    let Some(place) = Place::with(&["h5cc", "cc"]) else { return };
    let rpath = library_folder(&place);
    for (way, cases) in WAYS.into_iter().zip(["160", "16", "16"]) {
        build(&place, "h5cc", way, &rpath);
        for threads in ["1", "4"] {
            let mut command = place.command("./direct");
            let said = common::run(command.args([".", "host", cases]).env("SLEEK_NUM_THREADS", threads));
            assert!(said.contains("cases passed"), "{way:?}: {said}");
        }
    }
}

/// The stand-in for the CUDA driver runs the kernels on the CPU.
#[test]
#[cfg(feature = "cuda")]
#[cfg_attr(not(kernels_are_built), ignore = "built without kernels: make kernels")]
fn arrays_in_gpu_memory() {
    let Some(place) = Place::with(&["h5cc", "cc", "c++"]) else { return };
    let rpath = library_folder(&place);
    common::stand_in(&place.path("lib"));
    build(&place, "h5cc", &["-shlib"], &rpath);
    let mut command = place.command("./direct");
    let said = common::run(command.args([".", "gpu", "64"]).env("LD_LIBRARY_PATH", place.path("lib")));
    assert!(said.contains("cases passed"), "{said}");
}

#[test]
fn from_fortran() {
    let Some(place) = Place::with(&["h5fc", "gfortran"]) else { return };
    let (rpath, library) = (library_folder(&place), common::libsleek());
    let include = |name: &str| common::root().join("include").join(name).to_str().unwrap().to_string();
    let (filter, direct) = (include("sleek_hdf5.f90"), include("sleek_h5d.f90"));
    let sources = [&filter, &direct, &source("direct.f90"), library.to_str().unwrap(), &rpath];
    compile(&place, "h5fc", &["-shlib"], &sources, "direct_f");
    assert!(place.run("./direct_f", &[]).contains("passed"));
}

/// A stripped program that holds HDF5 hides its functions: an error, which says what to do.
#[test]
fn no_hdf5_in_sight() {
    let Some(place) = Place::with(&["h5cc", "cc"]) else { return };
    let rpath = library_folder(&place);
    build(&place, "h5cc", &["-s"], &rpath);
    if !place.run("ldd", &["./direct"]).contains("libhdf5") {
        let out = place.attempt("./direct", &[".", "host", "0"]);
        let log = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && log.contains("link the code that calls to HDF5"), "{log}");
    }
}

#[test]
fn newer_versions_of_hdf5() {
    for venv in ["venv-h5py-1.14", "venv-h5py-2"] {
        let python = venv_python(venv);
        let Some(place) = Place::with(&[&python]) else { return };
        let said = place.run(&python, &[&source("direct.py"), common::libsleek().to_str().unwrap()]);
        assert!(said.contains("passed"), "{venv}: {said}");
    }
}
