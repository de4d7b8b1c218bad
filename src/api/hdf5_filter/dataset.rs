//! What HDF5 tells of a dataset that is being made.

use std::ffi::{c_int, c_uint};
use std::ptr::null_mut;

use super::abi::{self, Functions, Hid, check};
use super::cd_values::{FILTER_ID, MAX_RANK, MAX_WORDS};
use super::datatype::{self, Stored};
use super::neighbours::SHUFFLE;
use super::report;
use crate::dtype::element_bits;
use crate::error::{Result, fail};
use crate::host::memory::filled;

/// Creation properties of a dataset, and the type of its elements in the file.
pub struct Creation<'a> {
    hdf5: &'a Functions,
    dcpl: Hid,
    type_id: Hid,
}

/// A filter's entry in a pipeline.
#[derive(Clone)]
pub struct Entry {
    pub id: c_int,
    /// Mandatory or optional.
    pub flags: c_uint,
    /// Its `cd_values`.
    pub words: Vec<u32>,
}

/// The filters of a dataset, of which SLEEK is one.
pub struct Pipeline {
    pub ours: Entry,
    /// Another filter than one shuffle comes before.
    pub preceded: bool,
    /// One that gives chunks of another length than it gets.
    pub resized: bool,
    /// A shuffle that comes before.
    pub shuffle: Option<Entry>,
    pub behind: Vec<Entry>,
}

impl<'a> Creation<'a> {
    /// # Safety
    /// The ids belong to the library of `hdf5`, and are open for as long as the value lives.
    pub unsafe fn new(hdf5: &'a Functions, dcpl: Hid, type_id: Hid) -> Creation<'a> {
        Creation { hdf5, dcpl, type_id }
    }

    /// The type as `H5Tencode` writes it.
    pub fn encoded(&self) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: ids of this library, here and below; null asks for the size.
        check(unsafe { (self.hdf5.H5Tencode)(self.type_id, null_mut(), &mut size) }, "H5Tencode")?;
        let mut encoded = vec![0u8; size];
        // SAFETY: the buffer has `size` bytes.
        check(unsafe { (self.hdf5.H5Tencode)(self.type_id, encoded.as_mut_ptr().cast(), &mut size) }, "H5Tencode")?;
        Ok(encoded)
    }

    /// What the elements are.
    pub fn stored(&self) -> Result<Stored> {
        datatype::parse(&self.encoded()?)
    }

    /// The chunk's dimensions, slowest first.
    pub fn chunk(&self) -> Result<Vec<u64>> {
        let mut dims = [0; MAX_RANK];
        // SAFETY: room for as many dimensions as there can be.
        let rank = unsafe { (self.hdf5.H5Pget_chunk)(self.dcpl, MAX_RANK as c_int, dims.as_mut_ptr()) };
        match usize::try_from(rank) {
            Ok(rank) if rank <= dims.len() => Ok(dims[..rank].to_vec()),
            _ => fail!(Hdf5, "H5Pget_chunk failed; filters need a chunked dataset"),
        }
    }

    /// The bits of the fill value that the dataset was given, for floats; of arrays and complex numbers those of every
    /// part, each once. None where nobody has set one: HDF5 then fills with zeros, which mark nothing.
    pub fn fills(&self, stored: &Stored) -> Result<Vec<u64>> {
        let mut status = abi::H5D_FILL_VALUE_UNDEFINED;
        // SAFETY: an id of this library.
        check(unsafe { (self.hdf5.H5Pfill_value_defined)(self.dcpl, &mut status) }, "H5Pfill_value_defined")?;
        let mut fills = Vec::new();
        if status != abi::H5D_FILL_VALUE_USER_DEFINED || !stored.dtype.is_float() {
            return Ok(fills);
        }
        let mut bytes = filled(stored.bytes as usize, 0u8)?;
        let place = bytes.as_mut_ptr().cast();
        // SAFETY: there is room for an element, and its own type needs no conversion.
        check(unsafe { (self.hdf5.H5Pget_fill_value)(self.dcpl, self.type_id, place) }, "H5Pget_fill_value")?;
        for part in bytes.chunks_exact(stored.dtype.size()) {
            let bits = element_bits(part, stored.big_endian);
            if !fills.contains(&bits) {
                fills.push(bits);
            }
        }
        Ok(fills)
    }

    /// How many filters there are.
    pub fn filters(&self) -> c_uint {
        // SAFETY: an id of this library.
        c_uint::try_from(unsafe { (self.hdf5.H5Pget_nfilters)(self.dcpl) }).unwrap_or(0)
    }

    /// Filter `i`.
    fn entry(&self, i: c_uint) -> Result<Entry> {
        let (mut flags, mut len, mut config, mut words) = (0, MAX_WORDS, 0, vec![0; MAX_WORDS]);
        let (place, get) = (words.as_mut_ptr(), self.hdf5.H5Pget_filter2);
        // SAFETY: `words` has room for `len` words, and no name is asked for.
        let id = unsafe { get(self.dcpl, i, &mut flags, &mut len, place, 0, null_mut(), &mut config) };
        if id == FILTER_ID && len > MAX_WORDS {
            return fail!(InvalidArgument, "{len} cd_values; at most {MAX_WORDS} are defined");
        }
        words.truncate(len);
        Ok(Entry { id, flags, words })
    }

    /// The filters, if SLEEK is one of them.
    pub fn pipeline(&self) -> Result<Option<Pipeline>> {
        let entries = (0..self.filters()).map(|i| self.entry(i)).collect::<Result<Vec<_>>>()?;
        let mut places = (0..entries.len()).filter(|i| entries[*i].id == FILTER_ID);
        let Some(at) = places.next() else { return Ok(None) };
        if places.next().is_some() {
            return fail!(InvalidArgument, "SLEEK is in the pipeline twice; once is right");
        }
        let before = &entries[..at];
        let shuffle = before.iter().find(|entry| entry.id == SHUFFLE).cloned();
        Ok(Some(Pipeline {
            ours: entries[at].clone(),
            preceded: at > usize::from(shuffle.is_some()),
            resized: before.iter().any(|entry| entry.id != SHUFFLE),
            shuffle,
            behind: entries[at + 1..].to_vec(),
        }))
    }

    /// Gives SLEEK other words.
    pub fn set_words(&self, flags: c_uint, words: &[u32]) -> Result<()> {
        // SAFETY: an id of this library; HDF5 copies the words.
        let status = unsafe { (self.hdf5.H5Pmodify_filter)(self.dcpl, FILTER_ID, flags, words.len(), words.as_ptr()) };
        check(status, "H5Pmodify_filter")
    }

    /// Takes a shuffle that comes before us out of the pipeline. HDF5 goes through that meanwhile, by the number of
    /// filters that it had: so where others follow, the shuffle gets the place right behind us, and each of them keeps
    /// its own.
    pub fn move_shuffle(&self, shuffle: &Entry, behind: &[Entry]) -> Result<()> {
        let (Some(remove), Some(set)) = (self.hdf5.H5Premove_filter, self.hdf5.H5Pset_filter) else {
            return fail!(InvalidArgument, "a shuffle before SLEEK, and an HDF5 that lets none be taken out");
        };
        for other in [shuffle].into_iter().chain(behind) {
            // SAFETY: an id of this library.
            check(unsafe { remove(self.dcpl, other.id) }, "H5Premove_filter of a filter beside SLEEK")?;
        }
        for other in [shuffle].into_iter().filter(|_| !behind.is_empty()).chain(behind) {
            let Entry { id, flags, words } = other;
            // SAFETY: an id of this library; HDF5 copies the words.
            let status = unsafe { set(self.dcpl, *id, *flags, words.len(), words.as_ptr()) };
            check(status, "H5Pset_filter of a filter beside SLEEK")?;
        }
        let how = if behind.is_empty() { "is taken out" } else { "is put behind it" };
        report::log(format_args!("shuffle comes before SLEEK, which needs the numbers: it {how}"));
        Ok(())
    }
}
