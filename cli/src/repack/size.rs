//! `sleek repack --size`: the size of the whole file, shared out among the datasets that take a bound.

use std::fs;
use std::path::Path;

use sleek::Params;

use super::args::Args;
use super::measure::Chunks;
use super::request::{AIM, Share};
use super::requests::{By, Requests, Unfit};
use crate::hdf5::Id;
use crate::hdf5::dataset::Field;
use crate::hdf5::object::{Contents, ObjectKind};
use crate::targets::{self, Target};

/// How often a file is written until it has the size.
pub const TRIES: u32 = 12;

/// Puts the ratio that all these datasets need in the place of the size of the file.
pub fn share_out(args: &Args, requests: &mut Requests, file: &Id, contents: &Contents) -> Result<(), String> {
    let Some(Target::Size(size)) = requests.general.as_ref().and_then(|wish| wish.target) else { return Ok(()) };
    // `stored` is what goes away.
    let (mut raw, mut stored) = (0, 0);
    for (place, object) in contents.objects.iter().enumerate().filter(|(_, o)| o.kind == ObjectKind::Dataset) {
        let Some(params) = requests.general_params(place, &object.name()) else { continue };
        let Ok(field) = Field::open(file, object)? else { continue };
        match requests.unfit(place, &field, params, By::All)? {
            None => {
                // Of a dataset that is stored in part only that part takes anything.
                let written = field.blocks_in_chunks()?;
                raw += written.iter().map(|chunk| field.block_bytes(chunk) as u64).sum::<u64>();
                stored += field.stored_bytes();
            }
            Some(Unfit::Bound(_)) => stored += saved(requests, place, params, &field)?,
            Some(Unfit::Whatever(_)) => {}
        }
    }
    let whole = fs::metadata(&args.input).map_err(|e| e.to_string())?.len();
    let rest = whole.saturating_sub(stored);
    let room = size.saturating_sub(rest).saturating_sub(args.less);
    requests.share = Some(Share { size, rest, raw });
    if room == 0 {
        return Err(format!("--size {size}: what stays exact has {rest} bytes already; ask for more"));
    }
    // No more digits than anyone reads, and rather too much than too little.
    let ratio = (1000.0 * raw as f64 / (AIM * room as f64)).ceil() / 1000.0;
    if let Some(wish) = &mut requests.general {
        wish.target = Some(Target::Ratio(ratio));
    }
    Ok(())
}

/// The bytes by which a dataset gets smaller that a bound is not for.
fn saved(requests: &Requests, place: usize, params: &Params, field: &Field) -> Result<u64, String> {
    let Some(exact) = requests.exactly(Some(params), field) else { return Ok(0) };
    if requests.unfit(place, field, &exact, By::All)?.is_some() {
        return Ok(0);
    }
    let stored = field.stored_bytes();
    let exact = Params { big_endian: field.stored.big_endian, ..exact };
    let estimated = Chunks::of(field)?.rough(requests.is_rough).estimated_bytes(&exact, stored)?;
    Ok(stored.saturating_sub(estimated))
}

/// Bytes by which a new file is too large, and some of what steps in the ratio may add to them.
pub fn excess(args: &Args, after: u64) -> Result<u64, String> {
    match args.quality.target()? {
        Some(Target::Size(size)) if after > size => Ok((after - size) + (after - size) / 4 + 64),
        _ => Ok(0),
    }
}

/// Refuses a new file that came out too large.
pub fn check(args: &Args, output: &Path, after: u64) -> Result<(), String> {
    match args.quality.target()? {
        Some(target @ Target::Size(size)) if after > size => Err(format!(
            "{}: {}: the file would have {after} bytes; the nearest that can be met is --size {after}",
            output.display(),
            targets::argument(&target)
        )),
        _ => Ok(()),
    }
}
