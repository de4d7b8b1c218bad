//! The command with files of HDF5. Each test runs it, or a real program, with nothing but the plugin's folder in
//! `HDF5_PLUGIN_PATH`. `bash tests/hdf5/setup.sh` installs what is needed; `SLEEK_SKIP_HDF5=1` passes over these tests.

mod abi;
mod analyze;
mod batch;
#[path = "../../../tests/common/mod.rs"]
mod common;
mod hostile;
mod interrupted;
mod look;
mod looks;
mod names;
#[path = "../../../tests/hdf5/place.rs"]
mod place;
mod quality;
mod repack;
mod sparse;
mod targets;
mod tools;
mod undone;
mod verdicts;

use place::{Place, found, h5repack_argument, source, venv_python};
