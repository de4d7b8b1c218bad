//! `sleek repack --size`: the size of the whole file, shared out among the datasets that take a bound.

use std::fs;
use std::path::Path;

use super::Args;
use super::plan::{By, Requests};
use crate::hdf5::Id;
use crate::hdf5::dataset::Field;
use crate::hdf5::object::{Contents, Kind};
use crate::target::Target;

/// The share of the room for data that is aimed at: some of it goes to the new file's own records of chunks.
const AIM: f64 = 0.995;

/// Puts the ratio that all these datasets need in the place of the size of the file.
pub fn share_out(args: &Args, requests: &mut Requests, file: &Id, contents: &Contents) -> Result<(), String> {
    let Some(Target::Size(size)) = requests.general.as_ref().and_then(|wish| wish.target) else { return Ok(()) };
    let (mut raw, mut stored) = (0, 0);
    for (place, object) in contents.objects.iter().enumerate().filter(|(_, o)| o.kind == Kind::Dataset) {
        let Some(params) = requests.general_params(place) else { continue };
        let Ok(field) = Field::open(file, object)? else { continue };
        if requests.reason_to_keep(place, &field, params, By::All)?.is_none() {
            // Of a dataset that is stored in part only that part takes anything.
            let written = field.blocks_in_chunks()?;
            raw += written.iter().map(|chunk| field.block_bytes(chunk) as u64).sum::<u64>();
            stored += field.stored_bytes();
        }
    }
    let whole = fs::metadata(&args.input).map_err(|e| e.to_string())?.len();
    let rest = whole.saturating_sub(stored);
    let room = size.saturating_sub(rest);
    if room == 0 {
        return Err(format!("--size {size}: all that takes no bound has {rest} bytes; more are needed"));
    }
    // No more digits than anyone reads, and rather too much than too little.
    let ratio = (1000.0 * raw as f64 / (AIM * room as f64)).ceil() / 1000.0;
    if let Some(wish) = &mut requests.general {
        wish.target = Some(Target::Ratio(ratio));
    }
    Ok(())
}

/// Refuses a new file that came out too large.
pub fn check(args: &Args, output: &Path, after: u64) -> Result<(), String> {
    match args.quality.target()? {
        Some(target @ Target::Size(size)) if after > size => Err(format!(
            "{}: {}: the file would have {after} bytes; a smaller size may do, or --profile ratio",
            output.display(),
            target.name()
        )),
        _ => Ok(()),
    }
}
