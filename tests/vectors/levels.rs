//! Other SIMD levels: a process settles on one when it first codes a chunk, so each takes a process of its own.

use sleek::codec::sleek::Level;
use std::process::Command;

/// Runs the tests of this binary whose names contain one of `names` at every level of this processor below the best.
pub fn at_lower_levels(names: &[&str]) {
    for level in Level::ALL.into_iter().filter(|level| *level < Level::best() && level.is_available()) {
        let binary = std::env::current_exe().unwrap();
        let output = Command::new(binary).args(names).env("SLEEK_SIMD", level.name()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "at level {}:\n{text}", level.name());
        assert!(!text.contains("running 0 tests"), "no test is called {names:?}");
    }
}
