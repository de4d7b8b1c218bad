//! C programs against `include/sleek.h` and `libsleek.so`: the tests in `tests/c` and the examples in `examples/c`.

use crate::common;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Compiles a program of the repository as a user would, with every warning an error.
fn compile(dir: &TempDir, source: &str) -> PathBuf {
    compile_with(dir, source, &linked(dir))
}

/// Options of the compiler for a program with libsleek beside it.
fn linked(dir: &TempDir) -> Vec<String> {
    // The linker wants libsleek.so, the loader the name that the library gives itself.
    for name in ["libsleek.so", "libsleek.so.0"] {
        let link = dir.path().join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(common::libsleek(), link).unwrap();
        }
    }
    let at = dir.path().display();
    vec![format!("-L{at}"), format!("-Wl,-rpath,{at}"), "-Wl,--as-needed".into(), "-lsleek".into()]
}

fn compile_with(dir: &TempDir, source: &str, library: &[String]) -> PathBuf {
    let program = dir.path().join(Path::new(source).file_stem().unwrap());
    let (compiler, standard) = if source.ends_with(".cpp") { ("c++", "-std=c++17") } else { ("cc", "-std=c99") };
    common::run(
        Command::new(compiler)
            .args([standard, "-D_POSIX_C_SOURCE=200809L", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow"])
            .args(["-Werror", "-g", "-O1"])
            .args(common::more_cflags())
            .arg("-I")
            .arg(common::root().join("include"))
            .arg(common::root().join(source))
            .args(library)
            .args(["-lm", "-lpthread", "-ldl", "-o"])
            .arg(&program),
    );
    program
}

/// What `source` prints to standard output; it prints nothing to standard error.
fn compile_and_run(source: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    run_quietly(source, &compile(&dir, source))
}

fn run_quietly(source: &str, program: &Path) -> String {
    let out = common::output(&mut Command::new(program));
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && stderr.is_empty(), "{source}: {}\n{stderr}", out.status);
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn round_trips() {
    assert_eq!(compile_and_run("tests/c/roundtrip.c"), "round trips are fine\n");
}

/// The same with each codec of the registry, by its number.
#[test]
fn round_trips_with_every_codec() {
    let dir = tempfile::tempdir().unwrap();
    let program = compile(&dir, "tests/c/roundtrip.c");
    for codec in sleek::codec::REGISTRY {
        let said = common::run(Command::new(&program).arg(codec.id().to_string()));
        assert_eq!(said, "round trips are fine\n", "codec {}", codec.name());
    }
}

#[test]
fn advice() {
    assert_eq!(compile_and_run("tests/c/advice.c"), "advice is fine\n");
}

#[test]
fn hostile_arguments() {
    assert_eq!(compile_and_run("tests/c/hostile.c"), "every fault is refused\n");
}

/// The same with each codec that takes what all take, by its number.
#[test]
fn hostile_arguments_with_every_codec() {
    let dir = tempfile::tempdir().unwrap();
    let program = compile(&dir, "tests/c/hostile.c");
    let takes_all = |codec: &&&dyn sleek::codec::Codec| {
        let can = codec.capabilities();
        can.modes.len() == 4 && can.dtypes.len() == sleek::DType::ALL.len()
    };
    for codec in sleek::codec::REGISTRY.iter().filter(takes_all) {
        let said = common::run(Command::new(&program).arg(codec.id().to_string()));
        assert_eq!(said, "every fault is refused\n", "codec {}", codec.name());
    }
}

/// With each codec that is shipped, by its number. With one thread: the pool and its queues are rayon's.
#[test]
fn any_allocation_may_fail() {
    let dir = tempfile::tempdir().unwrap();
    // Of codec interp without a bound too, where tiles may have tables of their own.
    for request in [&["0"][..], &["5"], &["5", "lossless"], &["3"]] {
        // Of codec sleek more than a group of chunks, of the others a few tiles.
        let elements = if request == ["0"] { "-DCOUNT=300000" } else { "-DCOUNT=60000" };
        let program = compile_with(&dir, "tests/c/starve.c", &[&linked(&dir)[..], &[elements.into()]].concat());
        let said = common::run(Command::new(&program).args(request));
        assert_eq!(said, "each allocation may fail\n", "codec {request:?}");
    }
}

#[test]
fn threads_and_fork() {
    assert_eq!(compile_and_run("tests/c/threads.c"), "threads and fork are fine\n");
}

#[test]
fn forks_in_the_midst_of_first_uses() {
    assert_eq!(compile_and_run("tests/c/first_use.c"), "first uses and forks are fine\n");
}

/// The static library must keep what it does at its loading, also where the linker leaves out what nobody calls.
#[test]
#[cfg(target_os = "linux")]
fn forks_in_the_midst_of_first_uses_linked_statically() {
    let dir = tempfile::tempdir().unwrap();
    let exe = std::env::current_exe().unwrap();
    let library = exe.with_file_name("libsleek.a").display().to_string();
    let link = [library, "-Wl,--gc-sections".into(), "-Wl,--as-needed".into(), "-lgcc_s".into()];
    let program = compile_with(&dir, "tests/c/first_use.c", &link);
    assert_eq!(run_quietly("linked statically", &program), "first uses and forks are fine\n");
}

/// The same with an allocator that forks lock; it forwards to glibc's own.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn forks_with_an_allocator_that_they_lock() {
    assert_eq!(compile_and_run("tests/c/allocator.c"), "first uses and forks are fine\n");
}

#[test]
fn settings_of_the_host() {
    assert_eq!(compile_and_run("tests/c/host.c"), "any host is fine\n");
}

#[test]
#[cfg(target_os = "linux")]
fn want_of_memory() {
    let text = compile_and_run("tests/c/memory.c");
    assert!(text.starts_with("want of memory is an error ("), "{text}");
}

#[test]
fn compressed_arrays() {
    assert_eq!(compile_and_run("tests/c/array.c"), "compressed arrays are fine\n");
}

#[test]
fn compressed_arrays_in_forked_children() {
    assert_eq!(compile_and_run("tests/c/array_fork.c"), "no child waits for ever\n");
}

/// A mock of HDF5 2.2 and of 2.3, which the filter finds in the program, as in one that holds HDF5.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn the_filter_in_hdf5_to_come() {
    for version in [&[][..], &["-DTO_COME"]] {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(common::libsleek(), dir.path().join("libsleek.so.0")).unwrap();
        let at = dir.path().display();
        let library = common::libsleek().display().to_string();
        let mut link = vec![library, format!("-Wl,-rpath,{at}"), "-rdynamic".to_string()];
        link.extend(version.iter().map(|option| option.to_string()));
        let program = compile_with(&dir, "tests/c/pool.c", &link);
        assert_eq!(run_quietly("tests/c/pool.c", &program), "exact sizes and a pool of threads are fine\n");
    }
}

#[test]
fn compressed_arrays_in_cpp() {
    assert_eq!(compile_and_run("tests/cpp/array.cpp"), "compressed arrays in C++ are fine\n");
}

/// The functions for kernels, on the CPU: the same blocks, bit for bit.
#[test]
fn arrays_of_kernels() {
    assert_eq!(compile_and_run("tests/cpp/device_array.cpp"), "blocks of kernels are those of the host\n");
}

/// Its largest error at 32 bits is below that of floats.
#[test]
fn diffusion_in_compressed_arrays() {
    let text = compile_and_run("examples/cpp/diffusion.cpp");
    let error = |row: &str| -> f64 {
        let line = text.lines().find(|line| line.contains(row)).unwrap_or_else(|| panic!("{text}"));
        line.split('|').nth(3).unwrap().trim().parse().unwrap()
    };
    assert!(error("32 bits") < error("float") && error("16 bits") < 1e-3, "{text}");
}

#[test]
fn examples() {
    let text = compile_and_run("examples/c/compress.c");
    assert!(text.starts_with("1048576 -> "), "{text}");
    let text = compile_and_run("examples/c/range.c");
    assert!(text.starts_with("series[777777] = 388888.5\n"), "{text}");
    assert!(text.contains("code 12: element range outside the array: 4 elements from 999999 on"), "{text}");
}

/// The same programs, with every access watched: destinations begin uninitialised and end where they are promised to.
#[test]
#[ignore = "needs valgrind; make nightly PROOFS=memcheck runs it"]
fn memory_is_used_as_promised() {
    // In a forked child the parent's threads are gone and what they held counts as lost: no leak check there.
    for (source, arguments, leaks) in [
        ("tests/c/hostile.c", &["0", "5"][..], "--leak-check=full"),
        ("tests/c/roundtrip.c", &["0", "3", "5"], "--leak-check=full"),
        ("tests/c/array.c", &[""], "--leak-check=full"),
        ("tests/c/threads.c", &[""], "--leak-check=no"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let program = compile(&dir, source);
        for codec in arguments {
            common::run(
                Command::new("valgrind")
                    .args(["-q", "--error-exitcode=9", "--show-leak-kinds=definite"])
                    .args(["--errors-for-leak-kinds=definite", leaks])
                    .arg(&program)
                    .arg(codec),
            );
        }
    }
}

/// A program that does not link the library, and closes it while the pool's threads and one of its own are in it.
#[test]
fn closed_and_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let program = compile(&dir, "tests/c/reload.c");
    let said = common::run(Command::new(program).arg(common::libsleek()));
    assert_eq!(said, "closed and opened again\n");
}

/// Hosts that know the library only at run time: HDF5, Python, Julia.
#[test]
fn the_library_loads_at_run_time_and_stays() {
    let path = CString::new(common::libsleek().into_os_string().into_encoded_bytes()).unwrap();
    // SAFETY: loading runs src/host/fork.rs only, and the names are functions of these signatures.
    let version = unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        assert!(!library.is_null());
        let symbol = libc::dlsym(library, c"sleek_version".as_ptr());
        assert!(!symbol.is_null());
        let version = std::mem::transmute::<*mut c_void, extern "C" fn() -> *const c_char>(symbol);
        assert_eq!(libc::dlclose(library), 0);
        version
    };
    // The library does not go away with its last handle (HDF5 closes plugins while threads of ours may run).
    // SAFETY: a NUL-terminated text that stays valid.
    assert_eq!(unsafe { CStr::from_ptr(version()) }.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}
