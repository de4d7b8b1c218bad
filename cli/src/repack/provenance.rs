//! What the new file says was done to it: attributes of each dataset that lost something, and a line in netCDF's
//! history.

use std::ffi::{CStr, CString};
use std::time::{SystemTime, UNIX_EPOCH};

use sleek::printable::printable;
use sleek::{Bound, Params};

use super::decide::Decision;
use super::new_file::Copy;
use super::plan::Item;
use crate::args::quoted;
use crate::hdf5::abi::{self, DEFAULT};
use crate::hdf5::coordinates::bytes_of;
use crate::hdf5::dataset::Field;
use crate::hdf5::filters::{Filter, in_words, pipeline};
use crate::hdf5::losses::{ABS_BOUND, BOUND, LOSSES, Losses, MODE, RANGE, SEPARATOR, added, asked_of, loss, range_of};
use crate::hdf5::object::{Object, open_object};
use crate::hdf5::{Id, c_string, h5, h5_id};
use crate::progress::Progress;
use crate::verify::pair::Pair;
use crate::verify::promise::{Promise, abs_bound};

/// The filters of a dataset before it got ours, which undoing puts back.
pub const FILTERS: &CStr = c"sleek_filters";
const VERSION: &CStr = c"sleek_version";
/// netCDF's attribute of a file.
const HISTORY: &CStr = c"history";
/// A text of more bytes may not fit into an object's header.
const LONG: usize = 60_000;
/// Arguments of the processes that work for the one that was started; so many words follow.
const OWN: [(&str, usize); 2] = [("--child", 1), ("--only", 2)];

/// Says it in the new file; `is_silent` only takes back what was said of a filter that is there no more.
pub fn tell(copy: &Copy, items: &[Option<Item>], is_silent: bool) -> Result<(), String> {
    let mut any = false;
    for (object, item) in copy.contents.objects.iter().zip(items) {
        let Some(Item { field: Some(field), decision: Decision::Compress(params), is_restored, .. }) = item else {
            continue;
        };
        let new = open_object(&copy.to, &object.path)?;
        if is_silent {
            // Without LOSSES these tell what was lost before.
            if exists(&new, LOSSES)? {
                put_bound(&new, Bound::Lossless)?;
            }
            continue;
        }
        any = true;
        filters(field, *is_restored, &new)?;
        let done = if *is_restored || params.bound == Bound::Lossless {
            before(field, &new)
        } else {
            dataset(field, params, &new, &copy.to, object)
        };
        done.map_err(|e| format!("{}: {e}", object.name()))?;
    }
    let root = open_object(&copy.to, c"/")?;
    if any && is_netcdf(&root)? { history(&root) } else { Ok(()) }
}

/// Tells the filters that ours took the place of, but for those that are told; of a dataset that is restored nothing.
fn filters(old: &Field, is_restored: bool, new: &Id) -> Result<(), String> {
    let (ours, others): (Vec<_>, Vec<_>) = pipeline(&old.properties)?.into_iter().partition(Filter::is_sleek);
    let is_told = !ours.is_empty() && exists(new, FILTERS)?;
    match others.is_empty() {
        _ if is_restored => remove(new, FILTERS),
        _ if is_told => Ok(()),
        true => remove(new, FILTERS),
        false => put_text(new, FILTERS, in_words(&others)),
    }
}

/// Tells what was lost before, where nothing more is lost. No attribute tells of a filter then, so that none that
/// another program uses later is taken for it.
fn before(old: &Field, new: &Id) -> Result<(), String> {
    let losses = Losses::of(old)?;
    put_bound(new, Bound::Lossless)?;
    match losses.all() {
        all if all.is_empty() => Ok(()),
        all => put_losses(new, &all, abs_bound(old, &losses)?),
    }
}

fn dataset(old: &Field, params: &Params, new: &Id, file: &Id, object: &Object) -> Result<(), String> {
    let losses = Losses::of(old)?;
    let (mut all, mut most) = (losses.all(), abs_bound(old, &losses)?);
    let properties = h5_id!(new.hdf5, H5Dget_create_plist(new.id))?;
    // In the filter's words: a share of a range that has no room there is absolute.
    let bound = asked_of(&pipeline(&properties)?).unwrap_or(params.bound);
    // What was copied of an earlier time is told of values that stay as they are.
    if all.is_empty() || is_changed(old, params, file, object)? {
        all.push(loss(bound));
        most = most.zip(bound.absolute()).map(|(before, more)| added(before, more));
    }
    put_bound(new, bound)?;
    put_text(new, VERSION, sleek::VERSION)?;
    put_losses(new, &all, most)
}

/// Tells what was asked of the filter in place.
fn put_bound(new: &Id, bound: Bound) -> Result<(), String> {
    if bound == Bound::Lossless {
        return [MODE, BOUND, RANGE].into_iter().try_for_each(|name| remove(new, name));
    }
    put_text(new, MODE, bound.mode().name())?;
    put_number(new, BOUND, bound.number())?;
    match range_of(bound) {
        Some(range) => put_number(new, RANGE, range),
        None => remove(new, RANGE),
    }
}

fn put_losses(new: &Id, all: &[String], most: Option<f64>) -> Result<(), String> {
    match most {
        Some(most) => put_number(new, ABS_BOUND, most)?,
        None => remove(new, ABS_BOUND)?,
    }
    put_text(new, LOSSES, all.join(SEPARATOR))
}

/// Whether values are others than before: what was on the same lattice stays where it is.
fn is_changed(old: &Field, params: &Params, file: &Id, object: &Object) -> Result<bool, String> {
    let Ok(new) = Field::open(file, object)? else { return Ok(true) };
    let pair = Pair::of_promise(old, &new, Promise::of_params(old, params)?)?;
    Ok(pair.difference(&mut Progress::new("", None, true))?.changed > 0)
}

/// Whether the file is one of netCDF, or follows its conventions.
fn is_netcdf(root: &Id) -> Result<bool, String> {
    for name in [c"_NCProperties", c"Conventions", HISTORY] {
        if exists(root, name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A line before those that are there, as NCO and CDO write theirs. What is no single text is left alone.
fn history(root: &Id) -> Result<(), String> {
    let command = in_shell(std::env::args_os().map(|word| word.to_string_lossy().into_owned()));
    let line = format!("{}: {} # sleek {}", date(now()), printable(&command), sleek::VERSION);
    let text = match (exists(root, HISTORY)?, bytes_of(root, HISTORY)?) {
        (true, None) => return Ok(()),
        (_, Some(before)) if !before.is_empty() => [line.as_bytes(), b"\n", before.as_bytes()].concat(),
        _ => line.into_bytes(),
    };
    if text.len() > LONG { Ok(()) } else { put_text(root, HISTORY, &text) }
}

/// Words of a command as a shell takes them, without those that a process adds for another.
fn in_shell(words: impl Iterator<Item = String>) -> String {
    let mut words = words.skip(1);
    let mut kept = vec!["sleek".to_owned()];
    while let Some(word) = words.next() {
        match OWN.iter().find(|(own, _)| *own == word) {
            Some((_, follow)) => drop(words.nth(follow - 1)),
            None => kept.push(quoted(&word)),
        }
    }
    kept.join(" ")
}

/// Seconds since 1970; SOURCE_DATE_EPOCH, for files that are to be the same again, goes before the clock.
fn now() -> u64 {
    let said = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
    said.unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

/// A time in UTC, as ISO 8601 has it.
fn date(seconds: u64) -> String {
    // SAFETY: zeros are a `tm`, and both lead to what the call takes.
    let t = unsafe {
        let (seconds, mut t) = (seconds as libc::time_t, std::mem::zeroed::<libc::tm>());
        libc::gmtime_r(&raw const seconds, &raw mut t);
        t
    };
    let (year, month) = (t.tm_year + 1900, t.tm_mon + 1);
    format!("{year:04}-{month:02}-{:02}T{:02}:{:02}:{:02}Z", t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec)
}

fn exists(object: &Id, name: &CStr) -> Result<bool, String> {
    Ok(h5!(object.hdf5, H5Aexists(object.id, name.as_ptr()))? != 0)
}

fn remove(object: &Id, name: &CStr) -> Result<(), String> {
    match exists(object, name)? {
        true => h5!(object.hdf5, H5Adelete(object.id, name.as_ptr())).map(drop),
        false => Ok(()),
    }
}

/// One number of 64 bits, as netCDF's programs write theirs.
fn put_number(object: &Id, name: &CStr, value: f64) -> Result<(), String> {
    let hdf5 = object.hdf5;
    remove(object, name)?;
    let one = 1;
    let space = h5_id!(hdf5, H5Screate_simple(1, &raw const one, std::ptr::null()))?;
    let (file, memory) = (hdf5.constant(c"H5T_IEEE_F64LE_g")?, hdf5.constant(c"H5T_NATIVE_DOUBLE_g")?);
    let attribute = h5_id!(hdf5, H5Acreate2(object.id, name.as_ptr(), file, space.id, DEFAULT, DEFAULT))?;
    h5!(hdf5, H5Awrite(attribute.id, memory, (&raw const value).cast())).map(drop)
}

/// One text of a fixed length, as netCDF's programs write theirs: bytes that are no UTF-8 as they are, in whatever
/// encoding.
fn put_text(object: &Id, name: &CStr, text: impl AsRef<[u8]>) -> Result<(), String> {
    let text = text.as_ref();
    let hdf5 = object.hdf5;
    remove(object, name)?;
    let bytes: CString = c_string(text)?;
    let kind = h5_id!(hdf5, H5Tcopy(hdf5.constant(c"H5T_C_S1_g")?))?;
    h5!(hdf5, H5Tset_size(kind.id, text.len().max(1)))?;
    h5!(
        hdf5,
        H5Tset_cset(
            kind.id,
            if text.is_ascii() || std::str::from_utf8(text).is_err() { abi::ASCII } else { abi::UTF8 }
        )
    )?;
    let space = h5_id!(hdf5, H5Screate(abi::SCALAR_SPACE))?;
    let attribute = h5_id!(hdf5, H5Acreate2(object.id, name.as_ptr(), kind.id, space.id, DEFAULT, DEFAULT))?;
    h5!(hdf5, H5Awrite(attribute.id, kind.id, bytes.as_ptr().cast())).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_868_799, "2000-02-29T23:59:59Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(date(seconds), text);
        }
    }
}
