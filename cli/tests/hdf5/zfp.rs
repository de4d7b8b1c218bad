//! Files of H5Z-ZFP, read and written without its plugin.

use crate::{Place, source, venv_python};

/// Files of H5Z-ZFP become files of ours, without its plugin.
#[test]
fn files_of_another_zfp_are_taken_over() {
    let python = venv_python("venv-h5py-1.14");
    let Some(place) = Place::with(&[&python]) else { return };
    let script = source("zfp.py");
    place.run(&python, &[&script, "h5z", "old.h5"]);
    let how = ["repack", "--codec", "zfp", "--verify", "--force", "--even-if-larger", "old.h5", "new.h5"];
    let said = place.run(env!("CARGO_BIN_EXE_sleek"), &[&how[..], &["--abs", "0.01"]].concat());
    assert!(said.contains("verified"), "{said}");
    place.run(&python, &[&script, "same", "old.h5", "new.h5", "0.01"]);
    // Every bit, without being decoded: what is asked for by the codec's name.
    let how = ["repack", "--codec", "zfp", "--lossless", "--verify", "--force", "old.h5", "new.h5"];
    let said = place.run(env!("CARGO_BIN_EXE_sleek"), &how);
    assert!(said.contains("the blocks of H5Z-ZFP taken over") && said.contains("verified"), "{said}");
    place.run(&python, &[&script, "same", "old.h5", "new.h5", "0"]);
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
