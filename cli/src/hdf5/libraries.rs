//! Where HDF5 libraries are on this machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the source of a library ends that is a Python package's.
const IN_PYTHON: &str = " in python3";

pub struct Library {
    /// Without symbolic links.
    pub file: PathBuf,
    /// Who would use it.
    pub source: String,
}

impl Library {
    /// Whether a package of the `python3` on the path brings it.
    pub fn is_in_python(&self) -> bool {
        self.source.ends_with(IN_PYTHON)
    }
}

/// Every libhdf5 that is named, or found in the usual places; each file once.
pub fn find(named: &[PathBuf]) -> Vec<Library> {
    let mut found: Vec<(PathBuf, String)> = named.iter().map(|f| (f.clone(), "named by --library".into())).collect();
    found.extend(in_python());
    found.extend(in_linker_cache().into_iter().map(|f| (f, "linker cache".into())));
    for (dir, source) in usual_directories() {
        found.extend(libraries_in(&dir).into_iter().map(|f| (f, source.clone())));
    }
    let mut seen = BTreeSet::new();
    found.retain_mut(|(file, _)| {
        if let Ok(real) = std::fs::canonicalize(&*file) {
            *file = real;
        }
        seen.insert(file.clone())
    });
    found.into_iter().map(|(file, source)| Library { file, source }).collect()
}

/// The libraries to open a file with, best first: where a variable says, then the system's, then those inside Python
/// packages. One that is built for MPI drags MPI along, so it comes last.
pub fn by_preference() -> impl Iterator<Item = PathBuf> {
    let with_mpi = |file: &PathBuf| ["mpi", "parallel"].iter().any(|part| file.to_string_lossy().contains(part));
    let named = usual_directories().into_iter().flat_map(|(dir, _)| libraries_in(&dir));
    let system = named.chain(in_linker_cache());
    let (last, first): (Vec<_>, Vec<_>) = system.partition(with_mpi);
    let python = std::iter::once_with(|| in_python().into_iter().map(|(file, _)| file)).flatten();
    let mut seen = BTreeSet::new();
    first.into_iter().chain(python).chain(last).filter(move |f| seen.insert(std::fs::canonicalize(f).ok()))
}

/// What `ldconfig` knows.
fn in_linker_cache() -> Vec<PathBuf> {
    let output = ["ldconfig", "/sbin/ldconfig"].iter().find_map(|c| Command::new(c).arg("-p").output().ok());
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let paths = text.lines().filter_map(|line| line.split(" => ").nth(1)).map(PathBuf::from);
    paths.filter(|p| is_core_library(p)).collect()
}

/// The copies that the wheels of h5py and netCDF4 carry, and the environment of the `python3` on the path.
fn in_python() -> Vec<(PathBuf, String)> {
    const SCRIPT: &str = "import importlib.util as u, os, sys\n\
        print('python3', os.path.join(sys.prefix, 'lib'))\n\
        for m in 'h5py', 'netCDF4', 'tables':\n\
        \x20   s = u.find_spec(m)\n\
        \x20   if s and s.origin: print(m, os.path.dirname(s.origin))\n";
    let mut found = Vec::new();
    for (module, dir) in told_by_python(SCRIPT) {
        // A wheel's libraries lie in a directory beside the module, under its name or its name in lower case.
        let beside = Path::new(&dir).with_file_name(format!("{}.libs", module.to_lowercase()));
        for place in [PathBuf::from(&dir), format!("{dir}.libs").into(), beside, format!("{dir}/.dylibs").into()] {
            let files = libraries_in(&place);
            found.extend(files.into_iter().map(|f| (f, format!("of {module}{IN_PYTHON}"))));
        }
    }
    found
}

/// The folders of plugins that wheels of the `python3` on the path bring, behind the names of their modules.
pub fn plugins_in_python() -> Vec<(String, PathBuf)> {
    const SCRIPT: &str = "import importlib.util as u, os\n\
        for m, d in ('sleek', 'plugin'), ('netCDF4', 'plugins'), ('hdf5plugin', 'plugins'):\n\
        \x20   s = u.find_spec(m)\n\
        \x20   if s and s.origin: print(m, os.path.join(os.path.dirname(s.origin), d))\n";
    let told = told_by_python(SCRIPT).into_iter().map(|(module, dir)| (module, PathBuf::from(dir)));
    told.filter(|(_, dir)| dir.is_dir()).collect()
}

/// A word and what follows it, of each line that a script of Python prints.
fn told_by_python(script: &str) -> Vec<(String, String)> {
    let Ok(output) = Command::new("python3").args(["-I", "-c", script]).output() else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.into(), b.into())).collect()
}

/// Directories of the system, of an environment that is active, and of HDF5 itself if a variable says where it is.
fn usual_directories() -> Vec<(PathBuf, String)> {
    let mut dirs = Vec::new();
    for variable in ["HDF5_DIR", "HDF5_ROOT", "HDF5_HOME", "CONDA_PREFIX"] {
        let prefix = std::env::var_os(variable).map(PathBuf::from);
        dirs.extend(prefix.map(|p| (p.join("lib"), format!("by {variable}"))));
    }
    let path = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    dirs.extend(std::env::split_paths(&path).map(|p| (p, "by LD_LIBRARY_PATH".into())));
    let arch = std::env::consts::ARCH;
    let system =
        ["/usr/lib".into(), "/usr/lib64".into(), format!("/usr/lib/{arch}-linux-gnu"), "/usr/local/lib".into()];
    let more = ["/usr/local/hdf5/lib", "/opt/homebrew/lib", "/opt/local/lib"].map(String::from);
    dirs.extend(system.into_iter().chain(more).map(|p| (p.into(), "system directory".into())));
    dirs
}

fn libraries_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let mut files: Vec<PathBuf> = entries.filter(|p| is_core_library(p)).collect();
    files.sort();
    files
}

/// HDF5 itself, whatever its flavour (`libhdf5_openmpi.so.103`, `libhdf5-1a2b3c4d.so.310`), not its satellites.
fn is_core_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some((stem, _)) = name.split_once(".so").or_else(|| name.split_once(".dylib")) else { return false };
    let Some(flavour) = stem.strip_prefix("libhdf5") else { return false };
    !["hl", "cpp", "fortran", "f90", "java", "tools"].iter().any(|part| flavour.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_library_itself() {
        for name in ["libhdf5.so", "libhdf5_serial.so.103.3.1", "libhdf5-3ed3a5c1.so.310.5.1", "libhdf5.310.dylib"] {
            assert!(is_core_library(Path::new(name)), "{name}");
        }
        for name in
            ["libhdf5_hl.so", "libhdf5_serialhl_fortran.so.100", "libhdf5_cpp-12.so", "libhdf5.a", "libnetcdf.so"]
        {
            assert!(!is_core_library(Path::new(name)), "{name}");
        }
    }
}
