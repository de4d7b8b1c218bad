//! Reads the new file and compares it with the old one.

use std::path::Path;

use sleek::Params;
use sleek::printable::printable;

use super::decide::Decision;
use super::plan::Item;
use crate::hdf5::Id;
use crate::hdf5::dataset::Field;
use crate::hdf5::object::{Contents, Object, Target};
use crate::progress::{Progress, some_of};
use crate::verify::files::compare_bytes;
use crate::verify::pair::Pair;
use crate::verify::promise::Promise;
use crate::verify::report::FieldVerdict;

/// What came of the comparison.
#[derive(Default)]
pub struct Checked {
    /// A line for each dataset that is not what it should be.
    pub violations: Vec<String>,
    /// What was not compared, each with why.
    pub others: Vec<String>,
}

impl Checked {
    /// In a line, where nothing is violated.
    pub fn words(&self) -> String {
        if self.others.is_empty() {
            return "verified: every value of the new file was compared with the old one".into();
        }
        format!("verified, but for what was not compared: {}", some_of(self.others.iter().cloned()))
    }
}

/// Compares all that the file itself holds.
pub fn compare(
    old: &Id,
    path: &Path,
    contents: &Contents,
    items: &[Option<Item>],
    quiet: bool,
) -> Result<Checked, String> {
    let new = old.hdf5.open(path)?;
    let total = items.iter().flatten().map(|i| i.raw_bytes).sum();
    let mut progress = Progress::new("verifying", Some(total), quiet);
    let mut checked = Checked::default();
    for (object, item) in contents.objects.iter().zip(items) {
        let Some(Item { field: Some(field), decision, .. }) = item else {
            let kept = item.as_ref().map(|item| &item.decision);
            match kept {
                Some(Decision::Keep(why)) => compare_kept(old, &new, object, why, &mut checked)?,
                Some(Decision::Compress(_)) => compare_kept(old, &new, object, "restored", &mut checked)?,
                None => {}
            }
            continue;
        };
        let lossless = Params::new(field.stored.dtype);
        let params = match decision {
            Decision::Compress(params) => params,
            Decision::Keep(_) => &lossless,
        };
        if let Some(violation) = violation(&new, object, field, params, &mut progress)? {
            checked.violations.push(format!("{}: {violation}", object.name()));
        }
    }
    for (group, links) in contents.objects.iter().zip(&contents.links) {
        let outside = links.iter().filter(|link| matches!(link.to, Target::Other(..)));
        checked.others.extend(outside.map(|link| {
            let (group, name) = (group.name(), link.name.to_string_lossy());
            format!("{}/{} (a link to another file)", group.trim_end_matches('/'), printable(&name))
        }));
    }
    Ok(checked)
}

/// Compares a dataset that was copied as it is, and is no array of numbers.
fn compare_kept(old: &Id, new: &Id, object: &Object, why: &str, checked: &mut Checked) -> Result<(), String> {
    match compare_bytes([(old, object), (new, object)])? {
        FieldVerdict::Broken(how) => checked.violations.push(format!("{}: {how}", object.name())),
        FieldVerdict::NotCompared(_) | FieldVerdict::NotKnown(_) => {
            checked.others.push(format!("{} ({why})", printable(&object.name())))
        }
        _ => {}
    }
    Ok(())
}

/// The worst element of those that broke its bound.
fn violation(
    file: &Id,
    object: &Object,
    old: &Field,
    params: &Params,
    progress: &mut Progress,
) -> Result<Option<String>, String> {
    let new = match Field::open(file, object)? {
        Ok(new) if new.dims == old.dims && new.stored == old.stored => new,
        Ok(_) => return Ok(Some("has another shape or type".into())),
        Err(why) => return Ok(Some(why)),
    };
    let difference = Pair::of_promise(old, &new, Promise::of_params(old, params)?)?.difference(progress)?;
    let worst = difference.worst.filter(|_| difference.violations > 0);
    Ok(worst.map(|e| format!("{:e} became {:e} at {:?}", e.original, e.restored, e.index)))
}
