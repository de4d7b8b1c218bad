//! What other programs make of files that the command has written.

use crate::repack::PYTHON;
use crate::{Place, common, found, source, venv_python};

/// NCO and CDO compute with what is not missing, and hand the mask on: each result is that of the file without a
/// filter, within the bound. NCO gives what it writes the filter of what it reads.
#[test]
fn results_of_nco_and_cdo_have_the_same_mask() {
    let netcdf = venv_python("venv-netcdf");
    let Some(place) = Place::with(&[&netcdf]) else { return };
    place.run(&netcdf, &[&source("netcdf.py"), "make_months"]);
    let commands: [&[&str]; 7] = [
        &["ncks", "-O", "-v", "t,u"],
        &["ncra", "-O"],
        &["ncwa", "-O", "-a", "time"],
        &["ncwa", "-O", "-a", "lat,lon"],
        &["ncap2", "-O", "-s", "t=t+1;u=u*2"],
        &["cdo", "-s", "timmean"],
        &["cdo", "-s", "-f", "nc4", "addc,1"],
    ];
    let bounds = [("--abs", "0.01"), ("--noa", "1e-4"), ("--rel", "1e-5")];
    for (mode, bound) in bounds {
        let repack = ["repack", "-q", mode, bound, "--force", "months.nc", "packed.nc"];
        place.run(env!("CARGO_BIN_EXE_sleek"), &repack);
        place.run(&netcdf, &[&source("netcdf.py"), "same_results", "months.nc", "packed.nc", "0.01"]);
        for command in commands {
            if !found(command[0]) {
                println!("{}: passed over, since it is not there", command[0]);
                continue;
            }
            for (from, to) in [("months.nc", "a.nc"), ("packed.nc", "b.nc")] {
                place.run(command[0], &[&command[1..], &[from, to]].concat());
            }
            let said = place.run(&netcdf, &[&source("netcdf.py"), "same_results", "a.nc", "b.nc", "0.021"]);
            assert!(said.starts_with("t u\n"), "{command:?}: {said}");
        }
    }
}

/// What writes and reads whole trees takes one request for all, where it can be had: `SLEEK_H5AD=1 bash
/// tests/hdf5/setup.sh`.
#[test]
fn trees_of_anndata_and_silx_and_cubes_of_iris() {
    let (python, netcdf) = (venv_python("venv-h5ad"), venv_python("venv-netcdf"));
    let Some(place) = Place::with(&[&netcdf]) else { return };
    place.run(&netcdf, &[&source("netcdf.py"), "make_months"]);
    let repack = ["repack", "-q", "--noa", "1e-4", "months.nc", "packed.nc"];
    place.run(env!("CARGO_BIN_EXE_sleek"), &repack);
    for package in ["anndata", "silx", "iris"] {
        let there = found(&python) && place.attempt(&python, &["-c", &format!("import {package}")]).status.success();
        if there {
            place.run(&python, &[&source("trees.py"), package]);
        } else {
            println!("{package}: passed over, since it is not there");
        }
    }
}

/// `SLEEK_PARAMS` overrides what programs ask for, not what a person types.
#[test]
fn the_commands_bound_counts_for_itself() {
    let Some(place) = Place::with(&["h5dump", &venv_python(PYTHON)]) else { return };
    place.run(&venv_python(PYTHON), &[&source("compare.py"), "make_sample", "sample.h5"]);
    let mut repack = place.command(env!("CARGO_BIN_EXE_sleek"));
    common::run(repack.env("SLEEK_PARAMS", "lossless").args(["repack", "--abs", "0.5", "sample.h5", "packed.h5"]));
    let dump = place.run("h5dump", &["-pH", "packed.h5"]);
    assert!(dump.contains("0 1071644672 "), "{dump}");
}

/// The line of `h5args` for nccopy: with an -F for each variable, every nccopy gives all of them the filter.
#[test]
fn nccopy_takes_a_filter_for_each_variable() {
    let netcdf = venv_python("venv-netcdf");
    let Some(place) = Place::with(&[&netcdf, "nccopy", "ncdump"]) else { return };
    place.run(&netcdf, &[&source("netcdf.py"), "make_months"]);
    let said = place.run(env!("CARGO_BIN_EXE_sleek"), &["h5args", "--abs", "0.01"]);
    let line = said.lines().find(|line| line.starts_with("nccopy ")).unwrap();
    let filter = line.split('\'').nth(1).unwrap();
    assert!(line == format!("nccopy -4 -F '{filter}' in.nc out.nc") && said.contains("one -F for each"), "{said}");
    let [t, u] = ["t", "u"].map(|name| filter.replace("VAR", name));
    place.run("nccopy", &["-4", "-F", &t, "-F", &u, "months.nc", "copied.nc"]);
    assert_eq!(place.run("ncdump", &["-hs", "copied.nc"]).matches("_Filter = \"47474,").count(), 2);
}
