//! The filter with the tools and libraries that people use. Each test runs a real program with nothing but the plugin's
//! folder in `HDF5_PLUGIN_PATH`. `bash tests/hdf5/setup.sh` installs what is needed;
//! `SLEEK_SKIP_HDF5=1` passes over these tests. Those that need the command are in cli/tests/hdf5.

mod abi;
mod codecs;
#[path = "../common/mod.rs"]
mod common;
mod direct;
mod hostile;
mod mpi;
mod place;
mod programs;
mod python;

use place::{Place, h5repack_argument, source, venv_python};
