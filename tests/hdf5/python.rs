//! The scenarios of `scenarios.py`, `bounds.py`, `sentinel.py` and `netcdf.py`.

use crate::{Place, source, venv_python};

fn python(venv: &str, script: &str, scenario: &str) {
    let python = venv_python(venv);
    let Some(place) = Place::with(&[&python]) else { return };
    let said = place.run(&python, &[&source(script), scenario]);
    assert!(said.contains(&format!("{scenario} passed")), "{said}");
}

macro_rules! scenarios {
    ($module:ident, $venv:literal, $script:literal: $($name:ident)*) => {
        mod $module {
            $(#[test] fn $name() { super::python($venv, $script, stringify!($name)); })*

            #[test]
            fn none_is_forgotten() {
                let script = std::fs::read_to_string(crate::source($script)).unwrap();
                let defined: Vec<_> = script
                    .lines()
                    .filter_map(|l| l.strip_prefix("def ")?.strip_suffix("():"))
                    .filter(|name| !crate::python::HELPERS.contains(name))
                    .collect();
                assert_eq!(defined, [$(stringify!($name)),*]);
            }
        }
    };
}

/// Functions without arguments that are no scenarios.
const HELPERS: [&str; 9] = [
    "libhdf5",
    "libnetcdf",
    "make_marked",
    "make_months",
    "make_sample",
    "months_by_steps",
    "read_file",
    "same_masks",
    "same_results",
];

macro_rules! h5py {
    ($module:ident, $venv:literal) => {
        scenarios! { $module, $venv, "scenarios.py":
            every_mode_and_float_type
            bfloat16_elements
            lossy_modes_are_for_floats
            lossless_takes_every_type
            chunks_that_do_not_shrink
            bytes_are_coded_as_bytes
            complex_numbers_of_hdf5
            property_list_is_used_again
            edges_and_fill_values
            special_values
            other_filters_beside
            shuffle_in_front_is_taken_out
            damaged_chunks_are_noticed
            exceptions_say_why
            bad_requests_are_refused
            request_in_the_environment
            malformed_variables_make_no_dataset
            fork_after_use
            many_threads
            existing_dataset_in_a_fresh_process
            rewriting_parts_does_not_drift
            copies_hold_the_same_streams
            files_of_other_drivers_and_in_pages
            chunks_allocated_early_and_late
            many_datasets_in_one_call
            beside_hdf5plugin
        }
    };
}

macro_rules! bounds {
    ($module:ident, $venv:literal) => {
        scenarios! { $module, $venv, "bounds.py":
            rims_do_not_count
            fills_that_are_never_written
            fill_values_are_exact
            fills_of_arrays
            growing_datasets
            chunks_written_again
            small_grows_by_steps
            random_datasets
            trees_take_one_request
            single_words_are_lossless
            words_of_any_rank
            complex_numbers_of_compounds
            compounds_that_are_no_complex_numbers
        }
    };
}

bounds!(bounds_with_hdf5_1_14, "venv-h5py-1.14");
bounds!(bounds_with_hdf5_2, "venv-h5py-2");
h5py!(h5py_with_hdf5_1_14, "venv-h5py-1.14");
h5py!(h5py_with_hdf5_2, "venv-h5py-2");
scenarios! { sentinel, "venv-netcdf", "sentinel.py":
    masks_in_thirty_ways
    fill_values_among_the_data_cost_little
    cells_that_nobody_wrote_stay_what_they_are
    zfp_adds_an_error_with_each_write
}
scenarios! { netcdf4_and_h5py, "venv-netcdf", "netcdf.py":
    both_ways_in_one_process
    lossless_big_endian
    fill_values_and_growth
    small_grows_by_records
}
