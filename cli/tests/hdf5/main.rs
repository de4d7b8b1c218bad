//! The command with files of HDF5: the scripts beside this file drive it as a user does, in a folder of their own.
//! `bash tests/hdf5/setup.sh` installs what is needed; `SLEEK_SKIP_HDF5=1` passes over these tests.

mod abi;
#[path = "../../../tests/common/mod.rs"]
mod common;
#[path = "../../../tests/hdf5/place.rs"]
mod place;

use place::{Place, venv_python};

fn passes(script: &str) {
    let python = venv_python("venv-python");
    let programs = ["h5repack", "h5diff", "h5dump", "ncdump", "nccopy", "bash", &python];
    let Some(place) = Place::with(&programs) else { return };
    let script = common::root().join("cli/tests/hdf5").join(script);
    let mut command = place.command(&python);
    let said =
        common::run(command.arg(&script).env("SLEEK", env!("CARGO_BIN_EXE_sleek")).env("PYTHONDONTWRITEBYTECODE", "1"));
    assert!(said.contains("all passed"), "{}: {said}", script.display());
}

macro_rules! scripts {
    ($($name:ident: $script:literal;)*) => { $(
        #[test]
        fn $name() { passes($script); }
    )* };
}

scripts! {
    arrays: "arrays.py";
    batch: "batch.py";
    killed_at_any_moment: "kills.py";
    limits: "limits.py";
    look: "look.py";
    looks: "looks.py";
    npy: "npy.py";
    repack: "repack.py";
    undone: "undone.py";
    verdicts: "verdicts.py";
}
