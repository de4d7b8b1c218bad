//! `sleek doctor`

mod probe;
mod sandbox;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sandbox::Findings;

use crate::Outcome;
use crate::hdf5::libraries::{self, Library};
use crate::io::say;

/// Exit code when something is to be fixed.
const AILING: u8 = 1;

/// Find out whether HDF5 finds the filter on this machine, and what to fix
#[derive(clap::Args)]
pub struct Args {
    /// Also try this libhdf5, as a file
    #[arg(long, value_name = "FILE")]
    library: Vec<PathBuf>,
    /// In the child process: try this libhdf5
    #[arg(long, hide = true)]
    probe_library: Option<PathBuf>,
    /// In the child process: load this plugin and tell its version
    #[arg(long, hide = true)]
    probe_plugin: Option<PathBuf>,
}

pub fn run(args: &Args) -> Outcome {
    if let Some(library) = &args.probe_library {
        return probe::library(library);
    }
    if let Some(plugin) = &args.probe_plugin {
        return probe::plugin(plugin);
    }
    let mut doctor = Doctor::new();
    doctor.look_at_environment();
    doctor.look_at_libraries(libraries::find(&args.library));
    Ok(doctor.advise())
}

/// What is known so far.
#[derive(Default)]
struct Doctor {
    /// The directories that replace those of every library.
    variable: Option<Vec<PathBuf>>,
    /// A `libsleek.so` that belongs to this command.
    own: Option<PathBuf>,
    /// Versions of the plugin files that were seen.
    versions: BTreeMap<PathBuf, Result<String, String>>,
    advice: BTreeSet<String>,
    /// Directories that the libraries search by themselves.
    searched: BTreeSet<PathBuf>,
    /// Folders of plugins that packages of Python bring, by the names of their modules.
    in_python: Vec<(String, PathBuf)>,
    /// Whether a library finds the filter where `import sleek` comes first.
    needs_import: bool,
}

impl Doctor {
    fn new() -> Doctor {
        let variable = std::env::var_os(sandbox::PATH_VARIABLE).filter(|v| !v.is_empty());
        let variable = variable.map(|v| std::env::split_paths(&v).filter(|p| !p.as_os_str().is_empty()).collect());
        let in_python = libraries::plugins_in_python();
        let of_package = in_python.iter().find(|(module, _)| module == "sleek").map(|(_, dir)| dir.join("libsleek.so"));
        Doctor { variable, own: own_plugin().or(of_package), in_python, ..Doctor::default() }
    }

    fn look_at_environment(&mut self) {
        say!("sleek {}, HDF5 filter {}\n", sleek::VERSION, sleek::hdf5::FILTER_ID);
        say!("Instructions: {}", sleek::exec::Isa::reason());
        sleek::route::gpus().iter().for_each(|line| say!("GPU: {line}"));
        match self.own.clone() {
            Some(own) => say!("Plugin of this command: {} ({})", own.display(), self.plugin_state(&own)),
            None => say!(
                "Plugin of this command: none (libsleek.so is neither beside it, nor in or under ../lib, nor in the \
                package sleek of python3)"
            ),
        }
        match self.variable.clone() {
            None => say!("HDF5_PLUGIN_PATH: not set, so each HDF5 library searches its own directory"),
            Some(dirs) => {
                say!("HDF5_PLUGIN_PATH: is set, and replaces the directories of every HDF5 library");
                self.directories(&dirs);
            }
        }
        for variable in [sleek::environment::THREADS, sleek::environment::SIMD, sleek::environment::PARAMS, "SLEEK_LOG"]
        {
            if let Some(value) = std::env::var_os(variable) {
                say!("{variable}: {}", value.display());
            }
        }
        if let Err(e) = sleek::exec::check_environment() {
            self.advice.insert(format!("{}: until then the filter refuses all work", e.message));
        }
        if let Err(e) = sleek::text::of_environment() {
            self.advice.insert(e.message);
        }
        if std::env::var_os("HDF5_PLUGIN_PRELOAD").is_some_and(|v| v == "::") {
            self.advice.insert("HDF5_PLUGIN_PRELOAD is \"::\", which forbids all plugins: unset it".into());
        }
    }

    fn directories(&mut self, dirs: &[PathBuf]) {
        for dir in dirs {
            let state = self.directory_state(dir);
            say!("    {}: {state}", dir.display());
        }
    }

    fn directory_state(&mut self, dir: &Path) -> String {
        if !dir.is_dir() {
            if self.variable.is_some() {
                let dir = dir.display();
                self.advice.insert(format!(
                    "remove {dir} from HDF5_PLUGIN_PATH, or create it: HDF5 stops with an error where a directory is \
                    missing"
                ));
            }
            return "does not exist".into();
        }
        let plugins = plugins_in(dir);
        if plugins.is_empty() {
            return "no libsleek.so".into();
        }
        let states: Vec<String> = plugins.iter().map(|p| format!("{} ({})", name(p), self.plugin_state(p))).collect();
        states.join(", ")
    }

    /// The version of a plugin file; what is wrong with it becomes advice.
    fn plugin_state(&mut self, file: &Path) -> String {
        let version = self.versions.entry(file.to_path_buf()).or_insert_with(|| sandbox::plugin_version(file));
        let shown = file.display();
        match version {
            Ok(v) if v == sleek::VERSION => format!("version {v}"),
            Ok(v) => {
                let fix = format!("replace {shown}, which is of version {v}, by the one of version {}", sleek::VERSION);
                self.advice.insert(fix);
                format!("version {v}, this command is {}", sleek::VERSION)
            }
            Err(e) => {
                self.advice.insert(format!("replace {shown}: it cannot be loaded ({e})"));
                format!("cannot be loaded: {e}")
            }
        }
    }

    fn look_at_libraries(&mut self, found: Vec<Library>) {
        say!("\nHDF5 libraries: {} found", found.len());
        if found.is_empty() {
            self.advice.insert("no libhdf5 was found: install HDF5, or name the file with --library".into());
        }
        for library in found {
            self.look_at(&library);
        }
    }

    fn look_at(&mut self, library: &Library) {
        say!("\n  {} ({})", library.file.display(), library.source);
        let findings = sandbox::try_library(&library.file, None);
        say!("    version: {}", findings.version.as_deref().unwrap_or("unknown"));
        if self.variable.is_none() {
            self.searched.extend(findings.directories.iter().cloned());
            for dir in &findings.directories {
                let state = self.directory_state(dir);
                say!("    searches {}: {state}", dir.display());
            }
        }
        say!("    filter: {}", verdict(&findings));
        if !findings.works() {
            findings.complaints.iter().for_each(|line| say!("      {line}"));
            self.treat(library, &findings);
        }
    }

    /// Finds out what would help, by trying it.
    fn treat(&mut self, library: &Library, findings: &Findings) {
        let file = library.file.display();
        let mut say = |advice: String| {
            self.advice.insert(advice);
        };
        if findings.version.is_none() {
            say(format!("{file}: cannot be loaded, see above; repair or remove it if you need it"));
            return;
        }
        if findings.too_old() {
            say(format!("{file}: this HDF5 is older than 1.10, which the filter needs; use a newer one"));
            return;
        }
        if findings.available {
            say(format!("{file}: the filter loads and then fails, see above; please report this"));
            return;
        }
        let package = self.in_python.iter().find(|(module, _)| module == "sleek" && library.is_in_python());
        if package.is_some_and(|(_, dir)| sandbox::try_library(&library.file, Some(dir)).works()) {
            say!("    behind \"import sleek\" it works");
            self.needs_import = true;
            return;
        }
        let Some(dir) = self.own.as_deref().and_then(Path::parent) else {
            say(format!("{file}: install libsleek.so and set HDF5_PLUGIN_PATH to its directory"));
            return;
        };
        if !sandbox::try_library(&library.file, Some(dir)).works() {
            say(format!("{file}: does not work with this command's libsleek.so either, see above; please report this"));
            return;
        }
        say!("    with HDF5_PLUGIN_PATH={} it works", dir.display());
        say("export HDF5_PLUGIN_PATH as the line above has it, before programs start that are to find the filter"
            .into());
    }

    /// The folders that one variable has to name so that every filter of this machine is found: what it names, or what
    /// the libraries search without it, then ours, and those of the wheels of Python.
    fn joined(&self) -> Vec<PathBuf> {
        let by_now = self.variable.clone().unwrap_or_else(|| self.searched.iter().cloned().collect());
        let mut dirs: Vec<PathBuf> = by_now.into_iter().filter(|dir| dir.is_dir()).collect();
        if !dirs.iter().any(|dir| !plugins_in(dir).is_empty()) {
            dirs.extend(self.own.as_deref().and_then(Path::parent).map(Path::to_path_buf));
        }
        let others = self.in_python.iter().filter(|(module, _)| module != "sleek");
        dirs.extend(others.map(|(_, dir)| dir.clone()));
        let mut seen = BTreeSet::new();
        dirs.retain(|dir| seen.insert(dir.clone()));
        dirs
    }

    /// The lines by which all programs find the filter, and go on finding those of others.
    fn say_lines_to_paste(&self) {
        let joined = std::env::join_paths(self.joined()).map(|dirs| dirs.display().to_string());
        let export = joined.ok().filter(|dirs| !dirs.is_empty()).map(|dirs| format!("export HDF5_PLUGIN_PATH={dirs}"));
        if export.is_some() || self.needs_import {
            say!("\nTo paste");
        }
        export.iter().for_each(|line| say!("  {line}"));
        if self.needs_import {
            say!("  import sleek    # in Python; the line above does as well");
        }
    }

    fn advise(&self) -> ExitCode {
        if self.advice.is_empty() {
            self.say_lines_to_paste();
            say!("\nAll is well.");
            return ExitCode::SUCCESS;
        }
        say!("\nWhat to fix");
        self.advice.iter().for_each(|line| say!("  - {line}"));
        self.say_lines_to_paste();
        ExitCode::from(AILING)
    }
}

fn verdict(findings: &Findings) -> String {
    if findings.version.is_none() && findings.ended.is_none() {
        return "FAILS: the library cannot be loaded".into();
    }
    match (&findings.ended, findings.available) {
        (Some(how), _) => format!("FAILS: {how}"),
        (None, true) if findings.works() => {
            let stored = findings.stored.join(", ");
            format!("works; {} bytes written as {stored} and read back within the bound", probe::BYTES)
        }
        (None, true) => "FAILS: it loads, but a dataset cannot be written and read".into(),
        (None, false) => "NOT FOUND by this library".into(),
    }
}

/// The `libsleek.so` built or installed with this command, by make, a package or a wheel. Folders for plugins come
/// first: HDF5 opens every library of a folder that it is sent to.
fn own_plugin() -> Option<PathBuf> {
    let exe = std::env::current_exe().ok()?;
    let dir = exe.parent()?;
    let of_debian = format!("../lib/{}-linux-gnu", std::env::consts::ARCH);
    let folders = ["hdf5/plugin", "hdf5/plugins", "hdf5/serial/plugins", ""];
    let installed = folders.iter().flat_map(|f| ["../lib", "../lib64", &of_debian].map(|lib| dir.join(lib).join(f)));
    let mut places = std::iter::once(dir.to_path_buf()).chain(of_wheels(&dir.join("../lib"))).chain(installed);
    let file = places.find_map(|p| Some(p.join("libsleek.so")).filter(|f| f.is_file()))?;
    std::fs::canonicalize(file).ok()
}

/// The folders of plugins of our wheel, in each Python whose modules lie under `lib`.
fn of_wheels(lib: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let pythons = std::fs::read_dir(lib).into_iter().flatten().flatten().map(|e| e.path());
    let pythons = pythons.filter(|p| name(p).starts_with("python3"));
    pythons.flat_map(|p| ["site-packages", "dist-packages"].map(|modules| p.join(modules).join("sleek/plugin")))
}

/// Files that HDF5 would take for our plugin.
fn plugins_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let mut files: Vec<PathBuf> = entries.filter(|p| name(p).starts_with("libsleek.so")).collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
