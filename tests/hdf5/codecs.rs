//! Every codec of the registry through h5py, h5repack and `sleek`, none of them by name.

use crate::{Place, source, venv_python};
use sleek::codec::REGISTRY;
use sleek::{DType, Dims, Mode, Params, Profile};

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
        let params = Params { codec: codec.id(), ..Params::new(DType::F32).with_bound(Mode::Abs, 1e-3) };
        let words: Vec<String> =
            sleek::api::hdf5_filter::cd_values_of(&params).iter().map(|word| word.to_string()).collect();
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
            let (mode, bound) = if dtype.is_float() { (Mode::Abs, 0.01) } else { (Mode::Lossless, 0.0) };
            let read = |end: &str| std::fs::read(place.path(&format!("{}.{end}", words[0]))).unwrap();
            // Where the filter's words have no room for all dimensions the slowest are one.
            let rank = sleek::inspect(&read("slk")).unwrap().dims.rank();
            assert!(rank == lens.len() || lens.len() > 8 && rank > 8, "{venv}: {chunk}: {rank} dimensions");
            let (slowest, others) = lens.split_at(lens.len() - rank + 1);
            let dims = Dims::new(&[&[slowest.iter().product()], others].concat()).unwrap();
            let (request, big_endian) = (Params::new(dtype).with_bound(mode, bound), words[1].starts_with('>'));
            let params = Params { profile: Profile::Small, dims, big_endian, ..request };
            assert!(read("slk") == sleek::compress(&params, &read("raw")).unwrap(), "{venv}: {chunk}");
        }
    }
}

/// What a codec cannot do is refused when the dataset is made, with the codec's name and what would be right.
#[test]
fn a_codec_that_nobody_knows_makes_no_dataset() {
    let python = venv_python("venv-h5py-1.14");
    let Some(place) = Place::with(&[&python]) else { return };
    let unknown = (4..=255u8).find(|id| REGISTRY.iter().all(|codec| codec.id() != *id)).unwrap();
    let script = source("codecs.py");
    let out = place.command(&python).args([&script, "make", "none.h5", &unknown.to_string(), "1"]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success() && said.contains(&format!("codec {unknown} ")), "{said}");
    assert!(REGISTRY.iter().all(|codec| said.contains(codec.name())), "{said}");
}

/// A rate through the filter, as words and as a text, for floats and integers.
#[test]
fn rates_are_what_chunks_take() {
    let python = venv_python("venv-h5py-1.14");
    let Some(place) = Place::with(&[&python]) else { return };
    for integers in [false, true] {
        let params = Params { codec: 3, integers, ..Params::new(DType::F32).with_bound(Mode::Rate, 8.0) };
        let words: Vec<String> =
            sleek::api::hdf5_filter::cd_values_of(&params).iter().map(|word| word.to_string()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        place.run(&python, &[&[&source("zfp.py"), "rates", "rates.h5"], &words[..]].concat());
    }
}

/// Files of H5Z-ZFP become files of ours, without its plugin.
#[test]
fn files_of_another_zfp_are_taken_over() {
    let python = venv_python("venv-h5py-1.14");
    let Some(place) = Place::with(&[&python]) else { return };
    let script = source("zfp.py");
    place.run(&python, &[&script, "h5z", "old.h5"]);
    for (request, bound) in [(&["--abs", "0.01"][..], "0.01"), (&["--reversible"], "0")] {
        let how = ["repack", "--codec", "zfp", "--verify", "--force", "--even-if-larger", "old.h5", "new.h5"];
        let said = place.run(env!("CARGO_BIN_EXE_sleek"), &[&how[..], request].concat());
        assert!(said.contains("verified"), "{said}");
        place.run(&python, &[&script, "same", "old.h5", "new.h5", bound]);
    }
    // Every bit, without being decoded: what is asked for by the codec's name.
    let how = ["repack", "--codec", "zfp", "--lossless", "--verify", "--force", "old.h5", "new.h5"];
    let said = place.run(env!("CARGO_BIN_EXE_sleek"), &how);
    assert!(said.contains("the blocks of H5Z-ZFP taken over") && said.contains("verified"), "{said}");
    place.run(&python, &[&script, "taken", "old.h5", "new.h5"]);
}

/// Files for H5Z-ZFP are written without it; its plugin reads them, and they come back to us.
#[test]
fn files_for_another_zfp_are_written() {
    let python = venv_python("venv-h5py-1.14");
    let Some(place) = Place::with(&[&python]) else { return };
    let script = source("zfp.py");
    place.run(&python, &[&script, "plain", "old.h5"]);
    let sleek = |arguments: &[&str]| place.run(env!("CARGO_BIN_EXE_sleek"), &[&["repack"], arguments].concat());
    for (mode, value) in [("abs", "0.5"), ("rate", "16"), ("precision", "20"), ("lossless", "0")] {
        let option = format!("--{mode}");
        let request = if mode == "lossless" { vec![option.as_str()] } else { vec![&option, value] };
        let how = ["--filter", "h5z-zfp", "--verify", "--force", "--even-if-larger", "old.h5", "new.h5"];
        let said = sleek(&[&how[..], &request].concat());
        assert!(said.contains("verified") && said.contains("as H5Z-ZFP"), "{said}");
        assert!(mode == "lossless" || said.contains("1 of 2 chunks stored as they are"), "{said}");
        place.run(&python, &[&script, "written", "old.h5", "new.h5", mode, value]);
        let said = sleek(&["--codec", "zfp", "--lossless", "--verify", "--force", "new.h5", "again.h5"]);
        assert!(said.contains("taken over") && said.contains("verified"), "{said}");
    }
    for (wrong, part) in [
        (&["--rel", "0.1"][..], "no bound relative to each value"),
        (&["--ratio", "9"], "nothing is searched for"),
        (&["--abs", "1", "--profile", "small"], "codec zfp alone"),
    ] {
        let arguments = [&["repack", "--filter", "h5z-zfp", "--force", "old.h5", "none.h5"], wrong].concat();
        let out = place.command(env!("CARGO_BIN_EXE_sleek")).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && said.contains(part), "{said}");
    }
}
