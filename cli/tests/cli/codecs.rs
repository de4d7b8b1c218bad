//! What holds of the command for every codec of the registry.

use crate::vectors;
use sleek::codec::REGISTRY;
use sleek::{Bound, Params};
use vectors::levels::program;
use vectors::requests::{array, dims, plain_requests};

/// The command with every codec: there and back, a box, what it says of the stream, and what it refuses.
#[test]
fn the_command_takes_every_codec() {
    let dir = tempfile::tempdir().unwrap();
    let command = |args: &[&str]| {
        let out = program(env!("CARGO_BIN_EXE_sleek")).args(args).current_dir(dir.path()).output();
        let out = out.unwrap();
        let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (out.status.success(), said.concat())
    };
    for params in plain_requests() {
        let codec = sleek::codec::by_id(params.codec).unwrap();
        let params = Params { dims: dims(&[50, 40]), ..params };
        let data = array("walk", &params, 1);
        std::fs::write(dir.path().join("in"), &data).unwrap();
        let (mode, bound) = (format!("--{}", params.bound.mode().name()), params.bound.number().to_string());
        let what = ["--dtype", params.dtype.name(), "--codec", codec.name(), "--force"];
        let words = [mode.as_str(), &bound];
        let bounded = if params.bound == Bound::Lossless { &words[..1] } else { &words };
        let args = [&["compress"][..], &what, bounded, &["--dims", "50,40", "in", "packed"]].concat();
        let (done, said) = command(&args);
        assert!(done, "{args:?}: {said}");
        let stream = std::fs::read(dir.path().join("packed")).unwrap();
        assert!(stream == sleek::compress(&params, &data).unwrap(), "{}: the command makes others", codec.name());
        let (done, said) = command(&["inspect", "packed"]);
        assert!(done && said.contains(codec.name()), "{said}");
        assert!(command(&["verify", "in", "packed"]).0);
        assert!(command(&["decompress", "--force", "packed", "out"]).0);
        assert!(std::fs::read(dir.path().join("out")).unwrap() == sleek::decompress(&stream).unwrap());
        let (done, said) = command(&[&["compress"][..], &what, bounded, &["--dims", "50,41", "in", "no"]].concat());
        assert!(!done && said.contains("50x41") && said.contains("2000"), "{said}");
    }
    let (done, said) = command(&["compress", "--dtype", "f32", "--lossless", "--codec", "nobody", "in", "no"]);
    assert!(!done && REGISTRY.iter().all(|codec| said.contains(codec.name())), "{said}");
}
