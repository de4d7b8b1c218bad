//! Where a test of HDF5 runs: a folder with the plugin, and what is found on the machine.
#![allow(dead_code)] // each test uses its part

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::common;

/// What a test runs in: a folder of its own, and one that holds the plugin and nothing else.
pub struct Place {
    pub work: TempDir,
    pub plugins: TempDir,
}

impl Place {
    /// `None` if these tests are to be passed over. `programs` must be there otherwise.
    pub fn with(programs: &[&str]) -> Option<Place> {
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

    pub fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    /// A command in this folder that finds the plugin.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.current_dir(self.work.path());
        for variable in ["SLEEK_PARAMS", "SLEEK_NUM_THREADS", "LD_LIBRARY_PATH"] {
            command.env_remove(variable);
        }
        command.env("HDF5_PLUGIN_PATH", self.plugins.path()).env("SLEEK_LOG", "stderr");
        command
    }

    /// Standard output of a command that must succeed.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        common::run(self.command(program).args(arguments))
    }

    /// What a command that may fail did.
    pub fn attempt(&self, program: &str, arguments: &[&str]) -> Output {
        common::output(self.command(program).args(arguments))
    }
}

pub fn found(program: &str) -> bool {
    Path::new(program).is_file()
        || std::env::var_os("PATH").is_some_and(|p| std::env::split_paths(&p).any(|d| d.join(program).is_file()))
}

/// A file of this folder.
pub fn source(name: &str) -> String {
    common::root().join("tests/hdf5").join(name).to_str().unwrap().to_string()
}

/// The Python of a virtual environment that setup.sh made.
pub fn venv_python(name: &str) -> String {
    let folder = std::env::var_os("SLEEK_VENVS").map_or(common::root().join("build"), PathBuf::from);
    folder.join(name).join("bin/python").to_str().unwrap().to_string()
}

/// `UD=` of h5repack for a mandatory filter with these words.
pub fn h5repack_argument(params: &sleek::Params) -> String {
    let words = sleek::hdf5::cd_values_of(params);
    let list: String = words.iter().map(|w| format!(",{w}")).collect();
    format!("UD={},0,{}{list}", sleek::hdf5::FILTER_ID, words.len())
}

/// Ways to make a program: linked statically or not as the wrapper likes, shared, and at a fixed address.
pub const WAYS: [&[&str]; 3] = [&[], &["-shlib"], &["-no-pie"]];

pub fn example(name: &str) -> String {
    common::root().join("examples").join(name).to_str().unwrap().to_string()
}

pub fn include() -> String {
    format!("-I{}", common::root().join("include").to_str().unwrap())
}

/// Compiles to `program` in the test's folder.
pub fn compile(place: &Place, wrapper: &str, options: &[&str], sources: &[&str], program: &str) {
    let strict = if wrapper != "h5cc" && wrapper != "h5pcc" {
        &["-Wall"][..]
    } else {
        &["-std=gnu11", "-Wall", "-Wextra", "-Werror"][..]
    };
    let mut command = place.command(wrapper);
    common::run(command.args(options).args(strict).arg(include()).args(sources).args(["-o", program, "-lm"]));
}

/// Puts libsleek where a program of the test's folder finds it, under its ABI's name; returns the option for the
/// linker.
pub fn library_folder(place: &Place) -> String {
    let folder = place.path("lib");
    std::fs::create_dir(&folder).unwrap();
    let soname = format!("libsleek.so.{}", env!("CARGO_PKG_VERSION_MAJOR"));
    std::os::unix::fs::symlink(common::libsleek(), folder.join(soname)).unwrap();
    format!("-Wl,-rpath,{}", folder.display())
}
