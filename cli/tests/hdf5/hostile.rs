//! Streams in a file that are not what its dataset says: the command takes what HDF5 takes.

use sleek::DType;

use crate::place::{compile, library_folder};
use crate::{Place, common, source};

/// A stream of the right length with elements that are not the dataset's would be read as others.
#[test]
fn a_stream_of_other_elements_than_the_datasets_is_refused() {
    let Some(place) = Place::with(&["h5cc", "cc"]) else { return };
    let (rpath, library) = (library_folder(&place), common::libsleek());
    compile(&place, "h5cc", &[], &[&source("hostile.c"), library.to_str().unwrap(), &rpath], "hostile");
    let mut seen = [0; 2];
    for (kind, big_endian) in [("f32", false), ("f64", false), ("i32", true), ("u8", false), ("array", false)] {
        for dtype in [DType::F32, DType::F64, DType::I32, DType::U8] {
            let (code, order) = ((dtype as i32).to_string(), u8::from(big_endian).to_string());
            let said = place.run("./hostile", &["a.h5", "elements", kind, &code, &order]);
            let takes = said.starts_with("H5Dread takes");
            let repack = ["repack", "--lossless", "--force", "a.h5", "b.h5"];
            let out = place.attempt(env!("CARGO_BIN_EXE_sleek"), &repack);
            let message = String::from_utf8_lossy(&out.stderr);
            assert_eq!(out.status.success(), takes, "{kind} as {}: {message}", dtype.name());
            seen[usize::from(takes)] += 1;
        }
    }
    assert!(seen[0] >= 5 && seen[1] >= 5, "refused and taken: {seen:?}");
}
