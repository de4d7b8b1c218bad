//! `gpu check-matrix`: arrays of the matrix (tests/matrix) through the kernels.

use std::time::{Duration, Instant};

use crate::cases::{Case, Coded};
use crate::check::compare_if_taken;

/// Writes arrays on the GPU for so many seconds, from number `first` on, each history as on the CPU: streams and
/// restored arrays are equal to the CPU's, where there are kernels. How many arrays that were.
pub fn check(seconds: usize, first: u64) -> u64 {
    let begun = Instant::now();
    let mut seed = first;
    while begun.elapsed() < Duration::from_secs(seconds as u64) {
        let case = Case::new(seed);
        let result = case.run(&mut |params, data| {
            compare_if_taken(params, data, 0, &format!("array {seed}"));
            let stream = sleek::compress(params, data).map_err(|e| e.to_string())?;
            let abs_bound = sleek::inspect(&stream).map_err(|e| e.to_string())?.abs_bound;
            Ok(Coded { back: sleek::decompress(&stream).map_err(|e| e.to_string())?, abs_bound })
        });
        result.unwrap_or_else(|what| panic!("array {seed}, {}: {what}", case.name()));
        seed += 1;
    }
    seed - first
}
