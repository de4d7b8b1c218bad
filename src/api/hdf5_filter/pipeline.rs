//! The filters of a dataset that is being made.

use std::ffi::{c_int, c_uint};

use super::abi::{Functions, Hid};
use super::cd_values::{FILTER_ID, MAX_WORDS};
use super::neighbours;
use crate::error::{Result, fail};

/// The filter's entry in a pipeline.
pub struct Ours {
    /// Mandatory or optional.
    pub flags: c_uint,
    /// Its `cd_values`.
    pub words: Vec<u32>,
    /// Another filter than one shuffle comes before.
    pub preceded: bool,
    /// One that gives chunks of another length than it gets.
    pub resized: bool,
    /// A shuffle that comes before.
    pub shuffle: Option<Other>,
    /// The filters that come after.
    pub behind: Vec<Other>,
}

/// Another filter's entry.
#[derive(Clone)]
pub struct Other {
    /// Its number.
    pub id: c_int,
    /// Mandatory or optional.
    pub flags: c_uint,
    /// Its `cd_values`.
    pub words: Vec<c_uint>,
}

/// The filters of a dataset.
pub struct Pipeline {
    /// SLEEK, if it is one of them.
    pub ours: Option<Ours>,
    /// How many there are.
    pub filters: usize,
}

/// # Safety
/// `dcpl` is a dataset creation property list of the library of `hdf5`.
pub unsafe fn pipeline(hdf5: &Functions, dcpl: Hid) -> Result<Pipeline> {
    // SAFETY: the contract.
    let count = c_uint::try_from(unsafe { (hdf5.H5Pget_nfilters)(dcpl) }).unwrap_or(0);
    let mut ours: Option<Ours> = None;
    let (mut resized, mut shuffle) = (false, None);
    for i in 0..count {
        let (mut flags, mut len, mut config) = (0, MAX_WORDS, 0);
        let mut words = vec![0; MAX_WORDS];
        // SAFETY: the contract; `words` has room for `len` words, and no name is asked for.
        let id = unsafe {
            (hdf5.H5Pget_filter2)(
                dcpl,
                i,
                &mut flags,
                &mut len,
                words.as_mut_ptr(),
                0,
                std::ptr::null_mut(),
                &mut config,
            )
        };
        if id != FILTER_ID {
            words.truncate(len);
            resized |= id != neighbours::SHUFFLE;
            let entry = Other { id, flags, words };
            match &mut ours {
                Some(ours) => ours.behind.push(entry),
                None if id == neighbours::SHUFFLE => shuffle = shuffle.or(Some(entry)),
                None => {}
            }
            continue;
        }
        if ours.is_some() {
            return fail!(InvalidArgument, "SLEEK is in the pipeline twice; once is right");
        }
        if len > MAX_WORDS {
            return fail!(InvalidArgument, "{len} cd_values; at most {MAX_WORDS} are defined");
        }
        words.truncate(len);
        let preceded = i > c_uint::from(shuffle.is_some());
        ours = Some(Ours { flags, words, preceded, resized, shuffle: shuffle.take(), behind: Vec::new() });
    }
    Ok(Pipeline { ours, filters: count as usize })
}
