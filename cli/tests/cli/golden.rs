//! Golden files of several streams: the command writes exactly these bytes, and restores them as the reference decoder
//! does. `SLEEK_UPDATE=1` rewrites them; never for a format that was released.

use crate::{manifest, reference, vectors};
use manifest::{files, seams, updating};
use sleek::Dims;
use vectors::levels::program;

/// Runs the command in a folder with the files `in` and `packed`; returns what it left as `out`, if it was content.
fn command(args: &[&str], input: &[u8], packed: &[u8]) -> Option<Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let path = |name| dir.path().join(name);
    std::fs::write(path("in"), input).unwrap();
    std::fs::write(path("packed"), packed).unwrap();
    let run = program(env!("CARGO_BIN_EXE_sleek")).args(args).current_dir(dir.path()).output().unwrap();
    run.status.success().then(|| std::fs::read(path("out")).unwrap_or_default())
}

#[test]
fn the_command_writes_the_golden_files() {
    for (case, bytes) in files().into_iter().filter(|(case, _)| !case.only_read) {
        let (mode, bound) = (format!("--{}", case.params.bound.mode().name()), case.params.bound.number().to_string());
        let (dtype, bytes) = (case.params.dtype.name(), bytes.to_string());
        let mut args = vec!["compress", "--dtype", dtype, &mode, &bound, "--frame-bytes", &bytes, "in", "out"];
        let lens: Vec<String> = case.params.dims.lens().iter().map(u64::to_string).collect();
        let (lens, fill) = (lens.join("x"), case.params.fill_number().map(|x| x.to_string()));
        if case.params.dims != Dims::NONE {
            args.extend(["--dims", &lens]);
        }
        if let Some(fill) = &fill {
            args.extend(["--fill", fill]);
        }
        if case.params.big_endian {
            args.push("--big-endian");
        }
        let file = command(&args, &case.data, b"").unwrap();
        if updating() {
            std::fs::write(case.path(), &file).unwrap();
        }
        assert!(file == case.golden(), "{}: {} bytes, not {}", case.name, file.len(), case.golden().len());
    }
}

#[test]
fn the_command_restores_the_golden_files() {
    for (case, _) in files() {
        let golden = case.golden();
        let judged = reference::decode_file(&golden).unwrap();
        let restored = command(&["decompress", "packed", "out"], b"", &golden).unwrap();
        assert!(restored == judged, "{}: the command restores something else", case.name);
    }
}

/// What is left of such a file is whole streams; the flag in the last one tells that others are missing, or too many.
#[test]
fn golden_files_that_are_cut_or_go_on_are_refused() {
    let tries = [&["decompress", "packed", "out"][..], &["verify", "in", "packed"], &["inspect", "packed"]];
    for (case, _) in files() {
        let golden = case.golden();
        for len in 0..golden.len() {
            assert!(reference::decode_file(&golden[..len]).is_err(), "{}, cut to {len} bytes", case.name);
        }
        let seams = seams(&golden);
        let ends = &seams[..seams.len() - 1];
        let cut = ends.iter().map(|&end| golden[..end].to_vec());
        let long = ends.iter().map(|&from| [&golden, &golden[from..]].concat());
        for wrong in cut.chain(long) {
            assert!(reference::decode_file(&wrong).is_err(), "{} with {} bytes", case.name, wrong.len());
            for args in tries {
                assert!(
                    command(args, &case.data, &wrong).is_none(),
                    "{}: {args:?} takes {} bytes",
                    case.name,
                    wrong.len()
                );
            }
        }
        for args in tries {
            assert!(command(args, &case.data, &golden).is_some(), "{}: {args:?} refuses the file itself", case.name);
        }
    }
}
