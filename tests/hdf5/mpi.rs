//! HDF5 with MPI, under `mpirun` with 2 and 4 ranks: the ways to write that docs/guide/mpi.md names, on real
//! fields, and the example programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::{compile, example, include, library_folder};
use crate::{Place, common, source, venv_python};

const SERIAL: &str = "venv-h5py-2";

/// `None` if these tests are to be passed over.
fn place() -> Option<Place> {
    Place::with(&["h5pcc", "mpirun", "h5dump", &venv_python(SERIAL)])
}

/// Compiles a program of this folder, with libsleek beside it.
fn build(place: &Place, name: &str) {
    let (rpath, library) = (library_folder(place), common::libsleek());
    let sources = [&source(&format!("{name}.c")), library.to_str().unwrap(), &rpath];
    compile(place, "h5pcc", &["-shlib"], &sources, name);
}

fn mpirun(place: &Place, ranks: usize, arguments: &[&str]) -> Command {
    let mut command = place.command("mpirun");
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1").env_remove("SLEEK_LOG");
    // Ranks that wait leave the core to those that work, and runs at the same time share no folder.
    command.env("OMPI_MCA_mpi_yield_when_idle", "1").env("OMPI_MCA_orte_tmpdir_base", place.path("."));
    command.args(["--oversubscribe", "-n", &ranks.to_string()]).args(arguments);
    command
}

/// Runs a program that says `word` once for each rank.
fn every_rank(place: &Place, ranks: usize, arguments: &[&str], word: &str) -> String {
    let said = common::run(&mut mpirun(place, ranks, arguments));
    assert_eq!(said.matches(word).count(), ranks, "{arguments:?}: {said}");
    said
}

/// Real fields: the small ones of the repository, or every third of SLEEK_DATA if it is set; where time matters, one of
/// floats and one of doubles.
fn fields() -> Vec<PathBuf> {
    let mut small = common::sample_fields();
    if common::short() {
        small.retain(|p| p.ends_with("navy_uwnd_12x73x144.f32") || p.ends_with("mitgcm_theta_15x40x90.f64"));
        assert_eq!(small.len(), 2);
    }
    let Some(folder) = common::data_dir().filter(|_| !common::short()) else { return small };
    let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut all: Vec<_> = entries.filter(|p| p.extension().is_some_and(|e| e == "f32" || e == "f64")).collect();
    all.sort();
    all.into_iter().step_by(3).collect()
}

/// The last dimension in the name of a field; 64 if it has but one, or too few rows for the ranks to share.
fn columns(field: &Path) -> String {
    let dims = field.file_stem().unwrap().to_str().unwrap().rsplit('_').next().unwrap();
    let last = dims.rsplit_once('x').map_or(64u64, |(_, last)| last.parse().unwrap());
    let bytes = std::fs::metadata(field).unwrap().len();
    if bytes / 8 / last < 64 { "64".to_string() } else { last.to_string() }
}

#[test]
fn collective_writes() {
    let Some(place) = place() else { return };
    build(&place, "mpi");
    for field in fields() {
        let (path, columns) = (field.to_str().unwrap(), columns(&field));
        for (writers, readers) in [(2, [2, 4]), (4, [4, 3])] {
            every_rank(&place, writers, &["./mpi", "write", "m.h5", path, &columns], "written");
            for ranks in readers {
                every_rank(&place, ranks, &["./mpi", "read", "m.h5", path, &columns], "kept");
            }
            // Without MPI: another HDF5, and the tool of the same one.
            place.run(&venv_python(SERIAL), &[&source("compare.py"), path, "m.h5"]);
            place.run("h5dump", &["-d", "/shared", "-b", "LE", "-o", "m.bin", "m.h5"]);
        }
    }
}

/// Other file access properties, through the filter and by `sleek_h5d_write` and `sleek_h5d_read`. HDF5 has subfiling
/// from 1.14 on, if it is built for it: `tests/hdf5/subfiling.sh` builds one, and asks for it with
/// `SLEEK_SUBFILING=required`.
#[test]
fn other_ways_to_share_a_file() {
    let Some(place) = place() else { return };
    build(&place, "mpi");
    let (rpath, library) = (format!("-Wl,-rpath,{}", place.path("lib").display()), common::libsleek());
    // H5Dread_chunk has a parameter more in HDF5 2.2.
    let sources = [&source("direct.c"), library.to_str().unwrap(), &rpath, "-ldl"];
    compile(&place, "h5pcc", &["-shlib", "-DH5_USE_110_API"], &sources, "direct");
    let field = common::root().join("tests/data/mitgcm_theta_15x40x90.f64");
    let path = field.to_str().unwrap();
    #[cfg(all(feature = "cuda", kernels_are_built))]
    common::stand_in(&place.path("lib"));
    for way in ["mpio", "metadata", "aligned", "subfiling"] {
        if way == "subfiling" && !place.run("./mpi", &["subfiling"]).contains("subfiling") {
            let required = std::env::var("SLEEK_SUBFILING").is_ok_and(|v| v == "required");
            assert!(!required, "the HDF5 of h5pcc is built without subfiling");
            eprintln!(
                "the HDF5 of h5pcc is built without subfiling, which is left out; tests/hdf5/subfiling.sh builds one"
            );
            continue;
        }
        every_rank(&place, 3, &["./mpi", "write", "m.h5", path, "90", way], "written");
        for ranks in [2, 3] {
            every_rank(&place, ranks, &["./mpi", "read", "m.h5", path, "90", way], "kept");
        }
        every_rank(&place, 3, &["./direct", ".", "mpi", way], "passed");
        #[cfg(all(feature = "cuda", kernels_are_built))]
        {
            // The stand-in for the CUDA driver runs the kernels on the CPU.
            for ranks in [1, 3] {
                let mut command = mpirun(&place, ranks, &["./direct", ".", "mpi-gpu", way]);
                let said = common::run(command.env("LD_LIBRARY_PATH", place.path("lib")));
                assert_eq!(said.matches("passed").count(), ranks, "{way}: {said}");
            }
        }
        // Another HDF5, without MPI. What subfiling has written lies in several files, which it does not know.
        if way != "subfiling" {
            place.run(&venv_python(SERIAL), &[&source("compare.py"), path, "m.h5"]);
        }
    }
    // The same program, alone with its file.
    assert!(place.run("./direct", &[".", "host", "8"]).contains("cases passed"));
}

#[test]
fn one_thread_for_each_rank() {
    let Some(place) = place() else { return };
    build(&place, "mpi");
    // Chunks large enough for several threads.
    let doubles: Vec<_> = common::sample_fields().into_iter().filter(|p| p.extension().unwrap() == "f64").collect();
    let bytes: Vec<u8> = doubles.iter().flat_map(|p| std::fs::read(p).unwrap()).collect();
    std::fs::write(place.path("large.f64"), bytes.repeat(12)).unwrap();
    let write = ["./mpi", "write", "m.h5", "large.f64", "300"];
    every_rank(&place, 2, &write, "written, 0 threads more");
    let said = common::run(mpirun(&place, 2, &write).env("SLEEK_NUM_THREADS", "3"));
    assert!(!said.contains(" 0 threads more"), "as many threads as asked for: {said}");
}

#[test]
fn example_of_a_simulation() {
    let Some(place) = place() else { return };
    for (way, ranks, again) in [(&[][..], 4, 2), (&["-shlib"], 1, 3)] {
        compile(&place, "h5pcc", way, &[&example("mpi/heat.c")], "heat");
        let said = common::run(&mut mpirun(&place, ranks, &["./heat"]));
        assert!(said.contains("checkpoint: ratio") && said.contains("kept"), "{way:?}: {said}");
        let said = common::run(&mut mpirun(&place, again, &["./heat", "restart"]));
        assert!(said.contains("end after the restart: ratio") && said.contains("kept"), "{way:?}: {said}");
    }
}

#[test]
fn example_of_a_file_for_each_rank() {
    let Some(place) = place() else { return };
    let (rpath, library) = (library_folder(&place), common::libsleek());
    let sources = [&example("mpi/file_per_rank.c"), library.to_str().unwrap(), &rpath];
    compile(&place, "h5pcc", &["-shlib"], &sources, "file_per_rank");
    for ranks in [2, 4] {
        every_rank(&place, ranks, &["./file_per_rank"], "kept");
    }
}

/// The mini-application whose ways to write docs/guide/mpi.md compares, the one from Fortran too. It says "kept"
/// where a checkpoint and the end after the restart from it are within the bound, and fails where they are not.
#[test]
fn mini_application_in_all_ways() {
    let Some(place) = place() else { return };
    let (rpath, library) = (library_folder(&place), common::libsleek());
    let scale = |name: &str| example(&format!("mpi/scale/{name}"));
    let strict = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-DWITH_FORTRAN"];
    let mut command = place.command("h5pcc");
    common::run(command.args(strict).arg(include()).arg("-c").args(["heat.c", "checkpoint.c", "cpu.c"].map(scale)));
    let module = common::root().join("include/sleek_h5d.f90");
    common::run(place.command("h5pfc").arg("-c").arg(module));
    common::run(place.command("h5pfc").args(["-c", &scale("checkpoint.f90"), "-o", "fortran.o"]));
    let objects = ["-shlib", "heat.o", "checkpoint.o", "cpu.o", "fortran.o", "sleek_h5d.o", "-o", "heat3d", "-lm"];
    common::run(place.command("h5pfc").args(objects).args([library.to_str().unwrap(), &rpath]));

    let all = "none,none-together,gzip,fast,adaptive,small,direct,direct-small,multi,multi-small,none-files,files,\
               files-small,fortran";
    // Of three ranks one holds nothing: there are but two chunks for them.
    for ranks in [2, 3] {
        let options = ["grid=48x40x64", "steps=6", "every=2", &format!("ways={all}"), "json=lines.jsonl"];
        let said = common::run(&mut mpirun(&place, ranks, &[&["./heat3d"], &options[..]].concat()));
        assert_eq!(said.matches(" kept").count(), all.split(',').count(), "{said}");
        assert!(!said.contains("BROKEN"), "{said}");
    }
    let lines = std::fs::read_to_string(place.path("lines.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 2 * all.split(',').count());
    // The file for each rank is written chunk by chunk, and nothing is left behind.
    assert!(lines.contains(r#""way": "files", "ranks": 2"#) && lines.contains("threads: chunks of data"), "{lines}");
    let left = std::fs::read_dir(place.path(".")).unwrap();
    let left: Vec<_> =
        left.map(|e| e.unwrap().file_name()).filter(|n| n.to_string_lossy().contains("checkpoint_")).collect();
    assert!(left.is_empty(), "{left:?}");
}
