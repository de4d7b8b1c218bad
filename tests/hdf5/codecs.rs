//! Every codec of the registry through h5py, h5repack and `sleek`, none of them by name.

use crate::{Place, source, venv_python};
use sleek::codec::REGISTRY;
use sleek::{DType, Mode, Params};

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

/// What a codec cannot do is refused when the dataset is made, with the codec's name and what would be right.
#[test]
fn a_codec_that_nobody_knows_makes_no_dataset() {
    let python = venv_python("venv-h5py-1.14");
    let Some(place) = Place::with(&[&python]) else { return };
    let unknown = (1..=255u8).find(|id| REGISTRY.iter().all(|codec| codec.id() != *id)).unwrap();
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
    let params = Params { codec: 3, ..Params::new(DType::F32).with_bound(Mode::Rate, 8.0) };
    let words: Vec<String> =
        sleek::api::hdf5_filter::cd_values_of(&params).iter().map(|word| word.to_string()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    place.run(&python, &[&[&source("zfp.py"), "rates", "rates.h5"], &words[..]].concat());
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
}
