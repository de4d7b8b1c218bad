//! Arrays of the matrix (tests/matrix) through the kernels.

use std::ptr::null_mut;

use sleek::route;

use crate::bytes::compare;
use crate::cases::{Case, Coded};
use crate::shim::Shim;

#[test]
fn arrays_of_the_matrix_have_the_bytes_of_the_cpu() {
    let (shim, _turn) = Shim::get();
    // Array 7106 once had other bytes: a NaN is within no bound of a number. Words of tiles of the other one end with a
    // change.
    for seed in [7106, 1_795_960_435].into_iter().chain(0..if crate::common::short() { 300 } else { 3000 }) {
        let case = Case::new(seed);
        let result = case.run(&mut |params, data| {
            compare(shim, params, data, 0, &format!("array {seed}"));
            let stream = sleek::compress(params, data).unwrap();
            let src = shim.upload(0, &stream, 0);
            for level in [1, 3] {
                let mut expected = vec![0; data.len()];
                let n = sleek::decompress_coarse_into(&stream, level, None, &mut expected).unwrap();
                let back = shim.allocate(0, n + 64);
                let (from, to) = ((src.at(0).cast_const(), stream.len()), (back.at(0), n));
                let done = unsafe { route::decompress_coarse(from, level, None, to, null_mut()) };
                assert_eq!(done.unwrap_or_else(|e| panic!("array {seed}, level {level}: {e}")), n);
                assert!(back.read(0, n) == expected[..n], "array {seed}, level {level}");
                assert!(back.read(n, 64).iter().all(|b| *b == 0xA5), "array {seed}, level {level}: beyond the end");
            }
            let abs_bound = sleek::inspect(&stream).unwrap().abs_bound;
            Ok(Coded { back: sleek::decompress(&stream).unwrap(), abs_bound })
        });
        result.unwrap_or_else(|what| panic!("array {seed}, {}: {what}", case.name()));
    }
}
