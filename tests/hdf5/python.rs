//! Scripts of scenarios, with the versions of HDF5 that wheels of h5py and netCDF4 bring.

use crate::{Place, source, venv_python};

fn passes(venv: &str, script: &str) {
    let python = venv_python(venv);
    let Some(place) = Place::with(&[&python]) else { return };
    let said = place.run(&python, &[&source(script)]);
    assert!(said.contains("all passed"), "{script} with {venv}: {said}");
}

macro_rules! scripts {
    ($($name:ident: $venv:literal, $script:literal;)*) => { $(
        #[test]
        fn $name() { passes($venv, $script); }
    )* };
}

scripts! {
    scenarios_with_hdf5_1_14: "venv-h5py-1.14", "scenarios.py";
    scenarios_with_hdf5_2: "venv-h5py-2", "scenarios.py";
    bounds_with_hdf5_1_14: "venv-h5py-1.14", "bounds.py";
    bounds_with_hdf5_2: "venv-h5py-2", "bounds.py";
    missing_values_of_programs: "venv-netcdf", "sentinel.py";
    tools: "venv-netcdf", "tools.py";
    netcdf4_and_h5py: "venv-netcdf", "netcdf.py";
}
