//! Every codec of the registry through h5py, h5repack and `sleek`, none of them by name.

use crate::{Place, source, venv_python};
use sleek::codec::REGISTRY;
use sleek::{Bound, DType, Dims, Params, Profile};

#[test]
fn datasets_of_every_codec() {
    let python = venv_python("venv-h5py-1.14");
    let Some(place) = Place::with(&["h5repack", &python]) else { return };
    let script = source("codecs.py");
    let run = |arguments: &[&str]| place.run(&python, &[&[script.as_str()], arguments].concat());
    for codec in REGISTRY {
        let id = codec.id().to_string();
        let rank = codec.capabilities().rank;
        // One that makes no use of dimensions takes any number of them.
        let ranks = if rank == 1 { 4 } else { rank.min(4) }.to_string();
        run(&["make", "made.h5", &id, &ranks]);
        run(&["check", "made.h5", &id]);
        place.run("h5repack", &["-f", "NONE", "made.h5", "plain.h5"]);
        run(&["compare", "made.h5", "plain.h5"]);
        let params = Params { codec: codec.id(), ..Params::new(DType::F32).with_bound(Bound::Abs(1e-3)) };
        let words: Vec<String> = sleek::hdf5::cd_values_of(&params).iter().map(|word| word.to_string()).collect();
        let filter = format!("UD=47474,0,{},{}", words.len(), words.join(","));
        place.run("h5repack", &["-f", &filter, "plain.h5", "again.h5"]);
        run(&["compare", "made.h5", "again.h5"]);
    }
}

/// A chunk is an array with the chunk's dimensions, whatever these are: its stream is that of the library.
#[test]
fn chunks_of_every_shape_are_arrays_of_that_shape() {
    for venv in ["venv-h5py-1.14", "venv-h5py-2"] {
        let python = venv_python(venv);
        let Some(place) = Place::with(&[&python]) else { return };
        let said = place.run(&python, &[&source("codecs.py"), "shapes", "2"]);
        let chunks: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("chunk ")).collect();
        assert!(chunks.len() > 40, "{said}");
        for chunk in chunks {
            let words: Vec<&str> = chunk.split(' ').collect();
            let lens: Vec<u64> = words[2..].iter().map(|len| len.parse().unwrap()).collect();
            let dtype = match &words[1][1..] {
                "f4" => DType::F32,
                "f8" => DType::F64,
                "f2" => DType::F16,
                _ => DType::I32,
            };
            let bound = if dtype.is_float() { Bound::Abs(0.01) } else { Bound::Lossless };
            let read = |end: &str| std::fs::read(place.path(&format!("{}.{end}", words[0]))).unwrap();
            // Where the filter's words have no room for all dimensions the slowest are one.
            let rank = sleek::inspect(&read("slk")).unwrap().dims.rank();
            assert!(rank == lens.len() || lens.len() > 8 && rank > 8, "{venv}: {chunk}: {rank} dimensions");
            let (slowest, others) = lens.split_at(lens.len() - rank + 1);
            let dims = Dims::new(&[&[slowest.iter().product()], others].concat()).unwrap();
            let (request, big_endian) = (Params::new(dtype).with_bound(bound), words[1].starts_with('>'));
            let params = Params { profile: Profile::Small, dims, big_endian, ..request };
            assert!(read("slk") == sleek::compress(&params, &read("raw")).unwrap(), "{venv}: {chunk}");
        }
    }
}

/// A rate through the filter, as words and as a text, for floats and integers.
#[test]
fn rates_are_what_chunks_take() {
    let python = venv_python("venv-h5py-1.14");
    let Some(place) = Place::with(&[&python]) else { return };
    for integers in [false, true] {
        let params = Params { codec: 3, integers, ..Params::new(DType::F32).with_bound(Bound::Rate(8.0)) };
        let words: Vec<String> = sleek::hdf5::cd_values_of(&params).iter().map(|word| word.to_string()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        place.run(&python, &[&[&source("codecs.py"), "rates", "rates.h5"], &words[..]].concat());
    }
}
