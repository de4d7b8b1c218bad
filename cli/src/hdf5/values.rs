//! Elements of any type as HDF5 puts them into memory: what is of any length lies elsewhere.

use std::ffi::{CStr, c_char, c_void};
use std::slice::from_raw_parts;

use super::abi::DEFAULT;
use super::dataset::{Field, size_of_type};
use super::{Id, h5, h5_id};
use crate::io::reserve;

pub struct Values<'a> {
    pub memory_type: Id<'a>,
    pub space: Id<'a>,
    pub count: usize,
    pub size: usize,
    /// In words of 8 bytes, since there may be pointers among them.
    words: Vec<u64>,
    pub are_read: bool,
}

impl<'a> Values<'a> {
    /// Room for what a space selects.
    pub fn new(kind: &Id<'a>, space: Id<'a>) -> Result<Values<'a>, String> {
        let hdf5 = kind.hdf5;
        // A copy of a type of a file is a type in memory, of the same fields.
        let memory_type = h5_id!(hdf5, H5Tcopy(kind.id))?;
        let size = size_of_type(&memory_type)?;
        let count = h5!(hdf5, H5Sget_simple_extent_npoints(space.id))? as usize;
        let bytes = count.checked_mul(size).ok_or_else(|| format!("{count} elements of {size} bytes"))?;
        let mut words = Vec::new();
        reserve(&mut words, bytes.div_ceil(8))?;
        words.resize(bytes.div_ceil(8), 0);
        Ok(Values { memory_type, space, count, size, words, are_read: false })
    }

    /// What a dataset has where a space selects it, into one in memory.
    pub fn read(field: &Field<'a>, (memory, file): (Id<'a>, &Id)) -> Result<Values<'a>, String> {
        let mut values = Values::new(&field.file_type, memory)?;
        let (kind, space, start) = (values.memory_type.id, values.space.id, values.start());
        h5!(field.dataset.hdf5, H5Dread(field.dataset.id, kind, space, file.id, DEFAULT, start))?;
        values.are_read = true;
        Ok(values)
    }

    pub fn start(&mut self) -> *mut c_void {
        self.words.as_mut_ptr().cast()
    }

    /// Whether others are the same byte by byte; strings of any length as texts.
    pub fn are_same(&self, other: &Values, are_texts: bool) -> bool {
        if !are_texts {
            return self.words == other.words;
        }
        // SAFETY: HDF5 has written null or the address of a string that it allocated for each element.
        let starts = |of: &Values| unsafe { from_raw_parts(of.words.as_ptr().cast::<*const c_char>(), of.count) };
        // SAFETY: as above.
        let text = |start: &*const c_char| (!start.is_null()).then(|| unsafe { CStr::from_ptr(*start) });
        starts(self).iter().map(text).eq(starts(other).iter().map(text))
    }
}

impl Drop for Values<'_> {
    /// Frees what HDF5 allocated for sequences and strings.
    fn drop(&mut self) {
        if self.are_read {
            let (hdf5, kind, start) = (self.memory_type.hdf5, self.memory_type.id, self.start());
            // In a line: HDF5 takes 31 dimensions here at most.
            let Ok(line) = h5_id!(hdf5, H5Screate_simple(1, &(self.count as u64), std::ptr::null())) else { return };
            // SAFETY: the buffer is as H5Aread or H5Dread filled it, with references changed at most.
            unsafe { (hdf5.call.H5Dvlen_reclaim)(kind, line.id, DEFAULT, start) };
        }
    }
}
