//! h5repack, h5dump, h5diff, nccopy and ncdump, on generated files and on those of `SLEEK_DATA`.

use std::path::{Path, PathBuf};

use sleek::{Bound, DType, Params};

use crate::{Place, common, h5repack_argument, source, venv_python};

const PYTHON: &str = "venv-h5py-1.14";
const BOUND: f64 = 1e-3;

fn abs(bound: f64) -> Params {
    Params::new(DType::F32).with_bound(Bound::Abs(bound))
}

/// A file with floats of two sizes and orders, integers and compounds.
fn sample(place: &Place) -> &'static str {
    place.run(&venv_python(PYTHON), &[&source("compare.py"), "make_sample", "sample.h5"]);
    "sample.h5"
}

/// Files of `SLEEK_DATA` with this extension; none if it is not set.
fn data_files(extensions: &[&str]) -> Vec<PathBuf> {
    let Some(folder) = common::data_dir() else { return Vec::new() };
    let entries = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let wanted = |p: &PathBuf| p.extension().is_some_and(|e| extensions.iter().any(|x| e == *x));
    let files: Vec<_> = entries.filter(wanted).collect();
    assert!(!files.is_empty(), "SLEEK_DATA has no file of {extensions:?}");
    files
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Filters that h5dump names in the file.
fn sleek_datasets(place: &Place, file: &str) -> usize {
    place.run("h5dump", &["-pH", file]).matches(&format!("FILTER_ID {}", sleek::hdf5::FILTER_ID)).count()
}

#[test]
fn h5repack_keeps_an_absolute_bound() {
    let Some(place) = Place::with(&["h5repack", "h5dump", "h5diff", &venv_python(PYTHON)]) else { return };
    let sample = sample(&place);
    place.run("h5repack", &["-f", &h5repack_argument(&abs(BOUND)), sample, "packed.h5"]);
    // The fields of floats lose something; what can have no bound is stored losslessly.
    assert_eq!(sleek_datasets(&place, "packed.h5"), 6);
    for field in ["/f4", "/f8", "/big", "/contiguous"] {
        place.run("h5diff", &["-d", "0.001", sample, "packed.h5", field]);
        let exact = place.attempt("h5diff", &[sample, "packed.h5", field]);
        assert_eq!(exact.status.code(), Some(1), "{field} was stored without a loss: nothing is shown");
    }
    for other in ["/i4", "/compound", "/text"] {
        place.run("h5diff", &[sample, "packed.h5", other]);
    }
    let sizes = [sample, "packed.h5"].map(|f| std::fs::metadata(place.path(f)).unwrap().len());
    assert!(sizes[1] * 3 < sizes[0] * 2, "{sizes:?}");
}

#[test]
fn h5repack_to_other_chunks_and_back() {
    let Some(place) = Place::with(&["h5repack", "h5diff", &venv_python(PYTHON)]) else { return };
    let sample = sample(&place);
    place.run("h5repack", &["-f", &format!("/f4,/f8,/big:{}", h5repack_argument(&abs(BOUND))), sample, "first.h5"]);
    for chunk in ["7x11", "64x64", "120x150"] {
        let layout = format!("/f4,/f8,/big:CHUNK={chunk}");
        place.run("h5repack", &["-l", &layout, "first.h5", "other.h5"]);
        assert_eq!(sleek_datasets(&place, "other.h5"), 3);
        // Restored values lie on the quantizer's grid: coding them again changes nothing.
        place.run("h5diff", &["first.h5", "other.h5"]);
    }
    place.run("h5repack", &["-f", "NONE", "other.h5", "plain.h5"]);
    assert_eq!(sleek_datasets(&place, "plain.h5"), 0);
    place.run("h5diff", &["first.h5", "plain.h5"]);
    // Lossless on everything, by no words at all, or by one, with the zeros behind it left out.
    for words in ["0", "1,0", "1,1"] {
        place.run("h5repack", &["-f", &format!("UD=47474,0,{words}"), sample, "lossless.h5"]);
        assert_eq!(sleek_datasets(&place, "lossless.h5"), 6);
        place.run("h5diff", &[sample, "lossless.h5"]);
    }
}

#[test]
fn h5dump_reads_values() {
    let Some(place) = Place::with(&["h5repack", "h5dump", &venv_python(PYTHON)]) else { return };
    let sample = sample(&place);
    place.run("h5repack", &["-f", &h5repack_argument(&abs(BOUND)), sample, "packed.h5"]);
    for (file, out) in [(sample, "a.bin"), ("packed.h5", "b.bin")] {
        place.run("h5dump", &["-d", "/big", "-b", "LE", "-o", out, file]);
    }
    let [a, b] = ["a.bin", "b.bin"].map(|f| std::fs::read(place.path(f)).unwrap());
    let floats =
        |bytes: &[u8]| bytes.chunks_exact(4).map(|c| f32::from_le_bytes(c.try_into().unwrap())).collect::<Vec<_>>();
    let worst =
        floats(&a).iter().zip(floats(&b)).map(|(x, y)| (f64::from(*x) - f64::from(y)).abs()).fold(0.0, f64::max);
    assert!(a.len() == 4 * 120 * 150 && 0.0 < worst && worst <= BOUND, "{worst}");
}

#[test]
fn every_request_through_h5repack() {
    let Some(place) = Place::with(&["h5repack", "h5dump", "h5diff", &venv_python(PYTHON)]) else { return };
    let generated = place.path(sample(&place));
    for file in data_files(&["h5", "hdf5", "nc", "nc4"]).iter().chain([&generated]) {
        let file = text(file);
        for (i, request) in ["noa=1e-3", "noa=1e-5", "lossless", "rel=1e-3"].into_iter().enumerate() {
            let mut repack = place.command("h5repack");
            common::run(repack.env("SLEEK_PARAMS", request).args(["-f", "UD=47474,0,0", file, "packed.h5"]));
            assert!(sleek_datasets(&place, "packed.h5") > 0, "{file} {request}");
            let readers = ["venv-h5py-1.14", "venv-h5py-2"];
            for venv in if common::short() { &readers[i % 2..][..1] } else { &readers[..] } {
                place.run(&venv_python(venv), &[&source("compare.py"), "compare", file, "packed.h5", request]);
            }
            if request == "lossless" {
                place.run("h5diff", &[file, "packed.h5"]);
            }
        }
    }
}

#[test]
fn nccopy_and_netcdf4() {
    let netcdf = venv_python("venv-netcdf");
    let Some(place) = Place::with(&["nccopy", "ncdump", "h5diff", &netcdf]) else { return };
    place.run(&netcdf, &[&source("netcdf.py"), "make_sample"]);
    // Without a d it hands half of one over.
    for number in ["0.001", "1e-3", "0"] {
        let filter = format!("t,{},1,1,{number}", sleek::hdf5::FILTER_ID);
        let out = place.attempt("nccopy", &["-4", "-F", &filter, "sample.nc", "refused.nc"]);
        let log = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!out.status.success() && log.contains("for nccopy write 0.001d, not 0.001"), "{number}: {log}");
    }
    let mut files = vec![(place.path("sample.nc"), "t")];
    files.extend(data_files(&["nc"]).into_iter().map(|f| (f, "air_temperature")));
    for (file, variable) in files {
        let file = text(&file);
        // nccopy makes two words, low first, of a number that ends in d.
        let filter = format!("{variable},{},1,1,0.001d", sleek::hdf5::FILTER_ID);
        place.run("nccopy", &["-4", "-F", &filter, file, "packed.nc"]);
        let header = place.run("ncdump", &["-hs", "packed.nc"]);
        let [low, high] = [BOUND.to_bits() as u32, (BOUND.to_bits() >> 32) as u32];
        // The long form: its layout 3 with mode 1, f32, the bound. nccopy does not hand the fill value on to HDF5.
        let stored = format!("_Filter = \"{},{},", sleek::hdf5::FILTER_ID, 3 | 1 << 8);
        assert!(header.contains(&stored) && header.contains(&format!(",{low},{high},")), "{header}");
        // h5diff cannot compare some of netCDF's attributes and then ends with 1: what it says counts.
        let differ = |delta: &str| {
            let out = place.attempt("h5diff", &["-c", "-d", delta, file, "packed.nc", &format!("/{variable}")]);
            assert!(out.status.code().is_some_and(|c| c < 2), "{}", String::from_utf8_lossy(&out.stderr));
            String::from_utf8_lossy(&out.stdout).contains("differences found")
        };
        assert!(!differ("0.001") && differ("0.000001"), "{file}");
        place.run(&netcdf, &[&source("netcdf.py"), "read_file", file, "packed.nc", "0.001"]);
    }
}

/// nccopy writes without HDF5's fill value: the variable's is named in the words, and every missing value stays one.
#[test]
fn nccopy_with_a_fill_value() {
    let netcdf = venv_python("venv-netcdf");
    let Some(place) = Place::with(&["nccopy", &netcdf]) else { return };
    place.run(&netcdf, &[&source("netcdf.py"), "make_marked"]);
    for (words, bound) in [("1,1,0.25d,512,-9999d", "0.25"), ("1,2,0.01d,512,-9999d", "0.25")] {
        let filter = format!("t,{},{words}", sleek::hdf5::FILTER_ID);
        place.run("nccopy", &["-4", "-F", &filter, "marked.nc", "packed.nc"]);
        place.run(&netcdf, &[&source("netcdf.py"), "read_file", "marked.nc", "packed.nc", bound]);
        place.run(&netcdf, &[&source("netcdf.py"), "same_masks", "marked.nc", "packed.nc"]);
    }
}

#[test]
fn the_error_stack_says_why() {
    let Some(place) = Place::with(&["h5repack", &venv_python(PYTHON)]) else { return };
    let sample = sample(&place);
    let mut repack = place.command("h5repack");
    repack.env_remove("SLEEK_LOG").args(["--enable-error-stack", "-f", "UD=47474,0,2,1,9", sample, "a.h5"]);
    let out = common::output(&mut repack);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.contains("in filter(): invalid argument: mode 9"), "{said}");
}

/// A refusal comes before the first chunk, so h5repack stores without the filter what it would otherwise lose.
#[test]
fn a_malformed_variable_is_told_and_loses_nothing() {
    let Some(place) = Place::with(&["h5repack", "h5diff", "h5dump", &venv_python(PYTHON)]) else { return };
    let sample = sample(&place);
    let filter = h5repack_argument(&abs(BOUND));
    for (variable, value) in [("SLEEK_NUM_THREADS", "all"), ("SLEEK_SIMD", "sse9")] {
        let mut command = place.command("h5repack");
        let out = common::output(command.env(variable, value).args(["-f", &filter, sample, "plain.h5"]));
        let message = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success() && message.contains(&format!("{variable} is '{value}'")), "{message}");
        assert_eq!(sleek_datasets(&place, "plain.h5"), 0);
        place.run("h5diff", &[sample, "plain.h5"]);
    }
}
