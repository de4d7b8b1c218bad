//! What is seen of a dataset without reading the whole, held against h5py and numpy.

use std::fs;

use serde_json::Value;

use crate::repack::{PYTHON, sleek_fails, sleek_ok};
use crate::{Place, source, venv_python};

fn python(place: &Place, script: &str, arguments: &[&str]) -> String {
    place.run(&venv_python(PYTHON), &[&[source(script).as_str()], arguments].concat())
}

#[test]
fn looks_at_datasets_are_those_of_the_whole() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    python(&place, "quality.py", &["make", "old.h5"]);
    for (profile, datasets) in
        [("small", &["whole", "cut", "gaps", "plane", "line"][..]), ("adaptive", &["cut", "gaps"])]
    {
        sleek_ok(&place, &["repack", "-q", "--force", "--abs", "0.01", "--profile", profile, "old.h5", "new.h5"]);
        for name in datasets {
            let variable = format!("new.h5:{name}");
            for stride in ["1", "2", "8"] {
                sleek_ok(&place, &["decompress", "-q", "-f", "--stride", stride, &variable, "mine"]);
                python(&place, "looks.py", &["strided", "new.h5", name, stride, "theirs"]);
                let (mine, theirs) = (fs::read(place.path("mine")).unwrap(), fs::read(place.path("theirs")).unwrap());
                assert!(mine == theirs, "{variable}, stride {stride}: {} and {} bytes", mine.len(), theirs.len());
            }
            let told: Value = serde_json::from_str(&sleek_ok(&place, &["stats", "--json", &variable])).unwrap();
            let wanted: Value =
                serde_json::from_str(&python(&place, "looks.py", &["figures", "new.h5", name])).unwrap();
            for key in ["count", "missing", "min", "max"] {
                assert_eq!(told[key].as_f64(), wanted[key].as_f64(), "{variable}, {key}: {told}");
            }
            let off = told["mean"].as_f64().unwrap() - wanted["mean"].as_f64().unwrap();
            assert!(off.abs() <= 1e-9 && told["mean_within"].as_f64().unwrap() >= 0.01, "{told} {wanted}");
        }
    }
    for picture in ["plane.svg", "plane.png"] {
        sleek_ok(&place, &["show", "-q", "-o", picture, "new.h5:plane"]);
        assert!(fs::read(place.path(picture)).unwrap().len() > 1000, "{picture}");
    }
    sleek_fails(&place, &["decompress", "-q", "--stride", "3", "new.h5:cut", "other"], "a power of two");
}

/// A 0 among large numbers is one of them, also where HDF5 fills the last chunk up with zeros.
#[test]
fn figures_take_nothing_for_missing_that_nobody_named() {
    let Some(place) = Place::with(&[&venv_python(PYTHON)]) else { return };
    let make = "import h5py, numpy as np; x = 280 + np.sin(np.arange(1000)).astype('f4'); x[950] = 0\n\
                words = (1, 1, 3539053052, 1062232653, 0)\n\
                with h5py.File('zero.h5', 'w') as f:\n\
                \x20   f.create_dataset('d', data=x, chunks=(300,), compression=47474, compression_opts=words)\n";
    place.run(&venv_python(PYTHON), &["-c", make]);
    let told: Value = serde_json::from_str(&sleek_ok(&place, &["stats", "--json", "zero.h5:d"])).unwrap();
    assert!(told["count"] == 1000 && told["missing"] == 0 && told["min"] == 0.0, "{told}");
}
