//! The filter with the tools and libraries that people use. Each test runs a real program with nothing but the plugin's
//! folder in
//! `HDF5_PLUGIN_PATH`. `bash tests/hdf5/setup.sh` installs what is needed; `SLEEK_SKIP_HDF5=1` passes over these tests.

mod abi;
mod analyze;
mod batch;
mod codecs;
#[path = "../common/mod.rs"]
mod common;
mod direct;
mod hostile;
mod look;
mod mpi;
mod names;
mod programs;
mod python;
mod repack;
mod sparse;
mod tools;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// What a test runs in: a folder of its own, and one that holds the plugin and nothing else.
struct Place {
    work: TempDir,
    plugins: TempDir,
}

impl Place {
    /// `None` if these tests are to be passed over. `programs` must be there otherwise.
    fn with(programs: &[&str]) -> Option<Place> {
        if std::env::var("SLEEK_SKIP_HDF5").is_ok_and(|v| v == "1") {
            return None;
        }
        for program in programs {
            assert!(found(program), "{program} is missing: run bash tests/hdf5/setup.sh, or set SLEEK_SKIP_HDF5=1");
        }
        let plugins = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(common::libsleek(), plugins.path().join("libsleek.so")).unwrap();
        Some(Place { work: tempfile::tempdir().unwrap(), plugins })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    /// A command in this folder that finds the plugin.
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.work.path());
        for variable in ["SLEEK_PARAMS", "SLEEK_NUM_THREADS", "LD_LIBRARY_PATH"] {
            command.env_remove(variable);
        }
        command.env("HDF5_PLUGIN_PATH", self.plugins.path()).env("SLEEK_LOG", "stderr");
        command
    }

    /// Standard output of a command that must succeed.
    fn run(&self, program: &str, arguments: &[&str]) -> String {
        common::run(self.command(program).args(arguments))
    }

    /// What a command that may fail did.
    fn attempt(&self, program: &str, arguments: &[&str]) -> Output {
        common::output(self.command(program).args(arguments))
    }
}

fn found(program: &str) -> bool {
    Path::new(program).is_file()
        || std::env::var_os("PATH").is_some_and(|p| std::env::split_paths(&p).any(|d| d.join(program).is_file()))
}

/// A file of this folder.
fn source(name: &str) -> String {
    common::root().join("tests/hdf5").join(name).to_str().unwrap().to_string()
}

/// The Python of a virtual environment that setup.sh made.
fn venv_python(name: &str) -> String {
    let folder = std::env::var_os("SLEEK_VENVS").map_or(common::root().join("build"), PathBuf::from);
    folder.join(name).join("bin/python").to_str().unwrap().to_string()
}

/// `UD=` of h5repack for a mandatory filter with these words.
fn h5repack_argument(params: &sleek::Params) -> String {
    let words = sleek::api::hdf5_filter::cd_values_of(params);
    let list: String = words.iter().map(|w| format!(",{w}")).collect();
    format!("UD={},0,{}{list}", sleek::api::hdf5_filter::FILTER_ID, words.len())
}
